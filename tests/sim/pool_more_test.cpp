// Pools, timers and coroutines in rarer situations under many schedules.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <tuple>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "handoff/when.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::pct;
using testing::simulate;

// A shutdown that lets jobs finish lets those finish, too, that they hand in meanwhile.
TEST(SimulatedPool, RunsWhatItsJobsHandIn) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = some_runs, .strategy = strategy}, [] {
      int ran = 0;
      const auto start = now();
      WorkerPool pool{{.workers = 2, .capacity = 4, .name = "pool"}};
      const auto count = [&] { ++ran; };
      const auto hand_in = [&] {
        ++ran;
        for (int i = 0; i < 2; ++i) check(pool.post(count).has_value(), "refused");
      };
      for (int i = 0; i < 2; ++i) check(pool.post(hand_in).has_value(), "refused");
      check(pool.shutdown(finish_within(1h)).is_complete(), "not all have ended");
      check(ran == 6, "a job was lost");
      check(now() < start + 1h, "it ended only because its time was over");
    });
  }
}

// Each half is run once, by the worker that forks or by one that steals it.
TEST(SimulatedPool, ForksAreRunOnce) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = some_runs, .strategy = strategy}, [] {
      int ran[2][2] = {};
      {
        WorkerPool pool{{.workers = 2, .capacity = 4, .name = "pool"}};
        auto done = pool.submit([&] {
          for (auto& round : ran) {
            pool.fork_join([&] { ++round[0]; }, [&] { ++round[1]; });
          }
        });
        check(done.has_value() && done->get().has_value(), "refused");
      }
      for (const auto& round : ran) check(round[0] == 1 && round[1] == 1, "not run once");
    });
  }
}

TEST(SimulatedPool, ASoonerTimerComesFirst) {
  simulate({.runs = some_runs}, [] {
    const auto start = now();
    TimePoint ran_at[2] = {};
    {
      WorkerPool pool{{.workers = 1, .capacity = 4, .name = "pool"}};
      Event done[2];
      const auto timer = [&](int which) {
        return [&, which] {
          ran_at[which] = now();
          done[which].set();
        };
      };
      const auto later = pool.after(2h, timer(0));
      testing::pause(1s);
      const auto sooner = pool.after(1h, timer(1));
      for (Event& each : done) check(each.wait().has_value(), "refused");
    }
    check(ran_at[1] < start + 90min && ran_at[0] >= start + 2h, "at the wrong time");
  });
}

TEST(SimulatedFuture, WhatFollowsIsNotForgotten) {
  simulate({.runs = some_runs}, [] {
    WorkerPool pool{{.workers = 1, .capacity = 4, .name = "pool"}};
    auto first = pool.submit([] { return 1; });
    check(first.has_value(), "refused");
    auto second = std::move(*first).then([](int value) { return value + 1; });
    check(second.get() == 2, "the wrong result");
  });
}

// -- Coroutines -----------------------------------------------------------------------------------

Lazy<int> yield_and_return(int value) {
  co_await yield();
  co_return value;
}

Lazy<> add_up(int& sum) {
  const auto [one, two] = co_await when_all(yield_and_return(1), yield_and_return(2));
  sum = one + two;
}

TEST(SimulatedCoroutines, WhenAllWaitsForAll) {
  simulate({.runs = some_runs}, [] {
    int sum = 0;
    WorkerPool pool{{.workers = 2, .capacity = 8, .name = "pool"}};
    auto done = spawn(pool, add_up(sum));
    check(done.has_value() && done->get().has_value(), "refused");
    check(sum == 3, "a result was lost");
  });
}

Lazy<> wait_for(Event& event) { check((co_await event.async_wait()).has_value(), "refused"); }

TEST(SimulatedCoroutines, AThreadThatRunsOneIsWokenForIt) {
  simulate({.runs = some_runs}, [] {
    Event event{{.name = "event"}};
    Thread setter([&] { event.set(); });
    sync_wait(wait_for(event));
  });
}

Lazy<> wait_twice(Event& event) {
  for (int i = 0; i < 2; ++i) {
    const auto set = co_await event.async_wait(within(1ms));
    check(set.has_value() || set.error() != Refusal::closed, "closed by nobody");
  }
}

// Woken, timed out and stopped at the same moment: one of them ends the wait, and the others find nothing that is gone.
TEST(SimulatedCoroutines, AWaitIsEndedOnce) {
  simulate({.runs = some_runs}, [] {
    Event event{{.name = "event"}};
    WorkerPool pool{{.workers = 1, .capacity = 8, .name = "pool"}};
    Scope scope;
    for (int i = 0; i < 2; ++i) check(scope.spawn(pool, wait_twice(event)).has_value(), "refused");
    Thread setter([&] {
      testing::pause(1ms);
      event.set();
    });
    testing::pause(1ms);
    scope.request_stop();
    static_cast<void>(scope.join());
  });
}

Lazy<> wait_for_both(Event& first, Event& never) {
  const auto set = co_await first.async_wait();
  if (!set) co_return;
  const auto stopped = co_await never.async_wait();
  check(stopped == std::unexpected(Refusal::stopped), "set by nobody");
}

TEST(SimulatedCoroutines, AStopReachesOneThatIsAboutToWaitAgain) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = some_runs, .strategy = strategy}, [] {
      Event first{{.name = "first"}};
      Event never{{.name = "never"}};
      WorkerPool pool{{.workers = 1, .capacity = 8, .name = "pool"}};
      Scope scope;
      check(scope.spawn(pool, wait_for_both(first, never)).has_value(), "refused");
      testing::pause(1ms);  // It waits now.
      Thread setter([&] { first.set(); });
      scope.request_stop();
      static_cast<void>(scope.join());
    });
  }
}

}  // namespace
}  // namespace handoff::tests
