// The simulator finds what it is there to find, says so, and does the same again.
#include "handoff/testing/simulate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::check;
using testing::exhaustive;
using testing::FoundFailure;
using testing::pct;
using testing::simulate;
using testing::SimulateOptions;
using testing::SimulationFailed;
using testing::Var;

// What it finds; nothing if it finds nothing.
template <typename Body>
std::optional<FoundFailure> find(const SimulateOptions& options, Body body,
                                 std::string* report = nullptr) {
  try {
    simulate(options, body);
  } catch (const SimulationFailed& failed) {
    if (report != nullptr) *report = failed.what();
    return failed.found();
  }
  return std::nullopt;
}

// -- Bodies with a bug ----------------------------------------------------------------------------

void count_without_a_lock() {
  detail::atomic<int> counter{0};
  const auto add = [&] { counter.store(counter.load() + 1); };
  {
    Thread one(add);
    Thread two(add);
  }
  check(counter.load() == 2, "an increment was lost");
}

void lock_in_both_orders() {
  Mutex a{{.name = "a"}};
  Mutex b{{.name = "b"}};
  Thread one([&] {
    const auto first = a.hold();
    const auto second = b.hold();
  });
  Thread two([&] {
    const auto first = b.hold();
    const auto second = a.hold();
  });
}

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

// -- The same again -------------------------------------------------------------------------------

TEST(Simulate, TheSameSeedIsTheSameRun) {
  const auto body = [] {
    BlockingQueue<int> queue{{.capacity = 2, .name = "queue"}};
    Thread producer([&] {
      for (int i = 0; i < 5; ++i) check(queue.put(int{i}).has_value(), "refused");
      queue.close();
    });
    int expected = 0;
    for (const int item : queue) check(item == expected++, "out of order");
    check(expected == 5, "lost");
  };
  std::vector<std::uint64_t> steps;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t seed = 1; seed <= 50; ++seed) {
      const auto done = simulate({.runs = 1, .first_seed = seed}, body);
      if (round == 0) {
        steps.push_back(done.steps * 1'000'000 + done.switches);
      } else {
        EXPECT_EQ(steps[seed - 1], done.steps * 1'000'000 + done.switches) << "seed " << seed;
      }
    }
  }
}

}  // namespace
}  // namespace handoff
