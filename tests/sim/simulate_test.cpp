// The simulator finds what it is there to find, says so, and does the same again.
#include "handoff/testing/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <stdexcept>
#include <string>

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

// The promise is kept at the end of the test: then the thread goes on, finds that the run is over, and waits for ever.
TEST(Simulate, ReportsAThreadThatWaitsForSomethingElse) {
  std::promise<void> outside;
  const auto until = outside.get_future().share();
  const auto found = find({.runs = 10, .patience = 300ms, .shorten = false}, [&] {
    Thread stuck([&] {
      name_this_thread("the stuck one");
      until.wait();
    });
  });
  outside.set_value();
  ASSERT_TRUE(found);
  EXPECT_THAT(found->what, HasSubstr("the stuck one"));
  EXPECT_THAT(found->what, HasSubstr("has not come back to Handoff for 0.3 s"));
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
