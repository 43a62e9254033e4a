// The simulator finds what it is there to find, says so, and does the same again.
#include "handoff/testing/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/log.hpp"
#include "handoff/mutex.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"
#include "handoff/waits.hpp"
#include "sim/found.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::check;
using testing::exhaustive;
using testing::pct;
using testing::simulate;
using testing::SimulateOptions;
using testing::Var;

// -- Finding --------------------------------------------------------------------------------------

TEST(Simulate, FindsALostIncrement) {
  std::string report;
  const auto found = find({.runs = 1'000}, count_without_a_lock, &report);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "an increment was lost");
  EXPECT_THAT(report, HasSubstr("HANDOFF_SEED="));
  EXPECT_THAT(report, HasSubstr("thread 2"));
}

TEST(Simulate, FindsADeadlockAndSaysWhoWaitsForWhat) {
  const auto found = find({.runs = 1'000}, lock_in_both_orders);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("deadlock"));
  EXPECT_THAT(found->what, HasSubstr("Mutex \"a\""));
  EXPECT_THAT(found->what, HasSubstr("Mutex \"b\""));
}

TEST(Simulate, FindsTheSameWithEveryStrategy) {
  for (const auto strategy : {testing::random, pct(3), exhaustive(2)}) {
    EXPECT_TRUE(find({.runs = 5'000, .strategy = strategy}, count_without_a_lock));
    EXPECT_TRUE(find({.runs = 5'000, .strategy = strategy}, lock_in_both_orders));
  }
}

TEST(Simulate, FindsADataRaceOfAVar) {
  const auto race = [] {
    Var<int> hits{0, "hits"};
    Thread one([&] { ++hits; });
    Thread two([&] { ++hits; });
  };
  const auto found = find({.runs = 1'000}, race);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("data race: two threads use hits"));
}

TEST(Simulate, LeavesALockedVarAlone) {
  const auto no_race = [] {
    Mutex mutex;
    Var<int> hits{0, "hits"};
    const auto hit = [&] {
      const auto held = mutex.hold();
      ++hits;
    };
    {
      Thread one(hit);
      Thread two(hit);
    }
    check(hits == 2, "a hit was lost");
  };
  EXPECT_FALSE(find({.runs = 2'000}, no_race));
}

TEST(Simulate, ReportsAnException) {
  const auto found = find({.runs = 10}, [] { throw std::runtime_error("no such luck"); });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "body threw: no such luck");
}

TEST(Simulate, ReportsAThreadThatIsLeftAlive) {
  const auto found = find({.runs = 10}, [] {
    static detail::atomic<int>* never = new detail::atomic<int>(0);
    Thread([] {
      while (never->load() == 0) {
      }
    }).detach();
  });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("left alive: thread 2"));
}

TEST(Simulate, ReportsOneThatGoesRoundInCircles) {
  const auto found = find({.runs = 10, .max_steps = 10'000}, [] {
    detail::atomic<int> never{0};
    while (never.load() == 0) {
    }
  });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("more than 10000 steps"));
}

// What it waits for comes at the end of the test: then the thread goes on, finds that the run is over, and waits for ever. It never ends, so what
// it looks at must not either.
TEST(Simulate, ReportsAThreadThatWaitsForSomethingElse) {
  static auto* const outside = new std::promise<void>;
  static auto* const until = new std::shared_future<void>(outside->get_future());
  const auto found = find({.runs = 10, .patience = 300ms, .shorten = false}, [] {
    Thread stuck([] {
      name_this_thread("the stuck one");
      until->wait();
      Thread too_late([] {});
    });
  });
  outside->set_value();
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("the stuck one"));
  EXPECT_THAT(found->what, HasSubstr("has not come back to Handoff for 0.3 s"));
}

TEST(Simulate, ReportsAThreadOfAnotherRunAsLeftAlive) {
  Thread outer;
  const auto found =
      find({.runs = 2, .shorten = false}, [&] { outer = Thread([] { testing::pause(1h); }); });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("left alive: thread 2"));
}

// Correct, if whoever is looked for gets its turn at all.
TEST(Simulate, OneThatLooksOverAndOverLetsTheOthersCome) {
  for (const auto strategy : {testing::random, pct(3), exhaustive(1)}) {
    EXPECT_FALSE(find({.runs = 20, .strategy = strategy}, [] {
      Event event;
      Thread other([&] { event.set(); });
      while (!event.is_set()) {
      }
    }));
  }
}

TEST(Simulate, OneThatPausesForEverGoesRoundInCircles) {
  const auto found = find({.runs = 1, .max_steps = 1'000, .shorten = false}, [] {
    while (true) testing::pause(1ms);
  });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("more than 1000 steps"));
}

TEST(Simulate, ABodyThatChangesIsNoticed) {
  const auto body = [] {
    static int calls = 0;
    std::vector<Thread> threads;
    for (int i = ++calls % 2 == 0 ? 3 : 1; i > 0; --i) threads.emplace_back([] {});
  };
  const auto found = find({.runs = 100, .strategy = exhaustive(2), .shorten = false}, body);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("depends on something besides its schedule"));
}

TEST(Simulate, ExhaustiveKnowsThatItWasAll) {
  const auto body = [] { Thread other([] {}); };
  const auto all = simulate({.runs = 1'000, .strategy = exhaustive(1)}, body);
  ASSERT_TRUE(all.is_complete);
  EXPECT_TRUE(simulate({.runs = all.runs, .strategy = exhaustive(1)}, body).is_complete);
  EXPECT_FALSE(simulate({.runs = all.runs - 1, .strategy = exhaustive(1)}, body).is_complete);
  EXPECT_FALSE(simulate({.runs = 10}, body).is_complete);
}

TEST(Simulate, RefusesOptionsThatMakeNoSense) {
  const auto expect_refused = [](const SimulateOptions& options, const char* says) {
    try {
      simulate(options, [] {});
      ADD_FAILURE() << says << " was taken";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), HasSubstr(says));
    }
  };
  expect_refused({.runs = 0}, "runs is 0; it must be 1 or more");
  expect_refused({.max_steps = 0}, "max_steps is 0");
  expect_refused({.patience = 0s}, "patience is 0 ns");
  expect_refused({.patience = -1s}, "patience is -1000000000 ns");
  expect_refused({.strategy = pct(0)}, "the depth of pct is 0; it must be from 1 to 1000");
  expect_refused({.strategy = pct(1'001)}, "the depth of pct is 1001");
  expect_refused({.faults = {.spurious_wake = -0.1}}, "faults.spurious_wake is -0.1");
  expect_refused({.faults = {.weak_failure = 1.5}}, "faults.weak_failure is 1.5");
  expect_refused({.faults = {.slow_thread = 2}}, "faults.slow_thread is 2");
  expect_refused({.faults = {.clock_jump = std::numeric_limits<double>::infinity()}},
                 "faults.clock_jump is inf");
  expect_refused({.faults = {.refusal = std::numeric_limits<double>::quiet_NaN()}},
                 "faults.refusal is nan");
}

TEST(Simulate, RefusesToBeCalledInASimulation) {
  const auto found = find({.runs = 1}, [] { simulate({.runs = 1}, [] {}); });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("simulate() was called inside a simulation"));
}

TEST(Simulate, CallsForSimulatedThreadsSaySoElsewhere) {
  EXPECT_THROW(testing::pause(1ms), std::logic_error);
  EXPECT_THROW(static_cast<void>(testing::sudden_stop()), std::logic_error);
  EXPECT_THROW(testing::fail_soon("no"), std::logic_error);
  EXPECT_THROW(check(false, "no"), std::logic_error);
}

// A run that has failed holds whatever its threads held. The log's lock is one for all runs.
TEST(Simulate, ARunThatFailsLeavesNothingLockedForTheNext) {
  for (int round = 0; round < 200; ++round) {
    const auto found =
        find({.runs = 1, .first_seed = static_cast<std::uint64_t>(round), .shorten = false}, [] {
          Thread other([] {
            for (int i = 0; i < 5; ++i) static_cast<void>(set_log(nullptr));
          });
          Thread namer([] {
            for (int i = 0; i < 5; ++i) name_this_thread("namer");
          });
          for (int i = 0; i < 5; ++i) static_cast<void>(set_log(nullptr));
          check(false, "in the middle of the others");
        });
    ASSERT_TRUE(found);
  }
}

TEST(Simulate, APauseWithoutEndIsADeadlock) {
  const auto found = find({.runs = 1, .shorten = false}, [] { testing::pause(Duration::max()); });
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("deadlock"));
}

// -- Time -----------------------------------------------------------------------------------------

TEST(Simulate, AnHourOfTimeoutsTakesNoTime) {
  simulate({.runs = 100}, [] {  // By real time it would be 100 hours, and the test would not end.
    const auto start = now();
    Event never;
    for (int i = 0; i < 60; ++i) {
      check(!never.wait({.deadline = within(1min)}), "it was set");
    }
    check(now() - start == 1h, "it was not an hour");
  });
}

}  // namespace
}  // namespace handoff::tests
