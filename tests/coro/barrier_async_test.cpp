#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <future>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/barrier.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "support/await_sleep.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::ManualClock;
using Met = std::expected<void, Refusal>;

Lazy<Met> arrive(Barrier& barrier, Deadline deadline = {}) {
  co_return co_await barrier.async_arrive_and_wait(deadline);
}

auto arriving(Barrier& barrier, std::stop_token stop = {}, Deadline deadline = {}) {
  return std::async(std::launch::async, [&barrier, stop, deadline] {
    return sync_wait(arrive(barrier, deadline), stop);
  });
}

// Nobody is ever more than one round ahead of another.
Lazy<> go_round(Barrier& barrier, std::atomic<int>& steps, int rounds, int parties) {
  for (int round = 0; round < rounds; ++round) {
    EXPECT_GE(steps.load(), round * parties);
    ++steps;
    EXPECT_TRUE(co_await barrier.async_arrive_and_wait());
    EXPECT_LE(steps.load(), (round + 2) * parties);
  }
}

TEST(BarrierAsync, CoroutinesAndThreadsMeetAgainAndAgain) {
  constexpr int rounds = 500;
  constexpr int coroutines = 5;
  constexpr int parties = coroutines + 1;
  int meetings = 0;
  Barrier barrier{{.parties = parties}, [&] { ++meetings; }};
  std::atomic<int> steps = 0;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  Scope scope;
  for (int i = 0; i < coroutines; ++i) {
    ASSERT_TRUE(scope.spawn(pool, go_round(barrier, steps, rounds, parties)));
  }
  for (int round = 0; round < rounds; ++round) {
    EXPECT_GE(steps.load(), round * parties);
    ++steps;
    ASSERT_TRUE(barrier.arrive_and_wait());
  }
  EXPECT_TRUE(scope.join());
  EXPECT_EQ(meetings, rounds);
}

TEST(BarrierAsync, ARefusedArrivalHasNotHappened) {
  ManualClock clock;
  Barrier barrier{{.parties = 2}};
  std::stop_source stop;
  auto stopped = arriving(barrier, stop.get_token());
  eventually([&] { return barrier.stats().size == 1; });
  stop.request_stop();
  EXPECT_EQ(stopped.get(), std::unexpected(Refusal::stopped));
  EXPECT_EQ(barrier.stats().size, 0u);
  EXPECT_EQ(sync_wait(arrive(barrier), stop.get_token()), std::unexpected(Refusal::stopped));

  auto late = arriving(barrier, {}, within(1s));
  eventually([&] { return clock.waiting() >= 1; });
  clock.advance(1s);
  EXPECT_EQ(late.get(), std::unexpected(Refusal::timed_out));
  EXPECT_EQ(barrier.stats().refused, 2u);

  auto first = arriving(barrier);
  EXPECT_TRUE(barrier.arrive_and_wait());
  EXPECT_TRUE(first.get());
}

// Otherwise it would say that it has not met the others, who go on as if it had.
TEST(BarrierAsync, CannotBeRefusedOnceAllHaveCome) {
  Event running;
  Event go_on;
  Barrier barrier{{.parties = 3}, [&] {
                    running.set();
                    (void)go_on.wait();
                  }};
  std::stop_source stop;
  auto coroutine = arriving(barrier, stop.get_token());
  auto thread = std::async(std::launch::async,
                           [&] { return barrier.arrive_and_wait({.stop = stop.get_token()}); });
  eventually([&] { return barrier.stats().size == 2; });
  auto last = arriving(barrier);
  (void)running.wait();
  stop.request_stop();
  tests::await_sleep();  // Both have got up, and wait on.
  EXPECT_EQ(barrier.stats().waiting_consumers, 2u);
  go_on.set();
  EXPECT_TRUE(coroutine.get());
  EXPECT_TRUE(thread.get());
  EXPECT_TRUE(last.get());
}

TEST(BarrierAsync, WhatTheCompletionThrowsIsForTheLastToCome) {
  Barrier barrier{{.parties = 2}, [] { throw std::runtime_error("no paper"); }};
  auto first = arriving(barrier);
  eventually([&] { return barrier.stats().size == 1; });
  EXPECT_THROW((void)sync_wait(arrive(barrier)), std::runtime_error);
  EXPECT_TRUE(first.get());
}

TEST(BarrierAsync, ACrowdIsRefused) {
  Event go_on;
  Barrier barrier{{.parties = 1}, [&] { (void)go_on.wait(); }};
  auto first = arriving(barrier);
  eventually([&] { return barrier.stats().size == 1; });
  EXPECT_THROW((void)sync_wait(arrive(barrier)), std::logic_error);
  go_on.set();
  EXPECT_TRUE(first.get());
}

// Each meeting has exactly two, whoever is stopped on the way.
TEST(BarrierAsync, StopsAtAnyMomentDoNotLoseAMeeting) {
  Barrier barrier{{.parties = 2}};
  for (int round = 0; round < 500; ++round) {
    std::stop_source stop;
    auto one = arriving(barrier, stop.get_token());
    std::jthread stopping([&] { stop.request_stop(); });
    const Met other = barrier.arrive_and_wait({.stop = stop.get_token()});
    EXPECT_EQ(one.get().has_value(), other.has_value());
    EXPECT_EQ(barrier.stats().size, 0u);
  }
}

}  // namespace
}  // namespace handoff
