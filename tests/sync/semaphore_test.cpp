#include "handoff/semaphore.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <future>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

using Result = std::expected<void, Refusal>;

std::size_t waiting(const Semaphore& semaphore) { return semaphore.stats().waiting_consumers; }

std::future<Result> acquire_elsewhere(Semaphore& semaphore, std::size_t n = 1, Wait wait = {}) {
  return std::async(std::launch::async,
                    [&semaphore, n, wait] { return semaphore.acquire(n, wait); });
}

TEST(Semaphore, GivesOutAsManyPermitsAsThereAre) {
  Semaphore semaphore{{.permits = 3}};
  EXPECT_TRUE(semaphore.try_acquire());
  EXPECT_TRUE(semaphore.try_acquire(2));
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release(3);
  EXPECT_EQ(semaphore.available(), 3u);
}

TEST(Semaphore, HoldGivesItsPermitsBackAtTheEndOfTheScope) {
  Semaphore semaphore{{.permits = 2}};
  {
    auto permits = semaphore.hold(2);
    auto moved = std::move(permits);
    EXPECT_EQ(semaphore.available(), 0u);
  }
  EXPECT_EQ(semaphore.available(), 2u);
}

TEST(Semaphore, AWaiterGetsPermitsWhenTheyAreReleased) {
  Semaphore semaphore{{.permits = 1}};
  ASSERT_TRUE(semaphore.acquire());
  auto other = acquire_elsewhere(semaphore);
  eventually([&] { return waiting(semaphore) == 1; });
  semaphore.release();
  EXPECT_TRUE(other.get());
  EXPECT_EQ(semaphore.available(), 0u);
}

TEST(Semaphore, MayBeginWithFewerPermitsThanItCanHave) {
  Semaphore semaphore{{.permits = 0, .max = 2}};
  EXPECT_FALSE(semaphore.try_acquire());
  semaphore.release(2);
  EXPECT_TRUE(semaphore.try_acquire(2));
}

TEST(Semaphore, WhatCanNeverBeIsABrokenContract) {
  EXPECT_THROW(Semaphore({.permits = 0}), std::invalid_argument);
  EXPECT_THROW(Semaphore({.permits = 3, .max = 2}), std::invalid_argument);
  Semaphore semaphore{{.permits = 2}};
  EXPECT_THROW((void)semaphore.acquire(3), std::invalid_argument);
  EXPECT_THROW((void)semaphore.try_acquire(3), std::invalid_argument);
  EXPECT_THROW(semaphore.release(), std::invalid_argument);
  EXPECT_EQ(semaphore.available(), 2u);
}

// -- Fairness --------------------------------------------------------------------------------------

TEST(Semaphore, ALargeRequestIsNotStarvedBySmallOnes) {
  Semaphore semaphore{{.permits = 4}};
  ASSERT_TRUE(semaphore.acquire(3));
  auto large = acquire_elsewhere(semaphore, 4);
  eventually([&] { return waiting(semaphore) == 1; });
  // One permit is there, but it is kept for the one who waits.
  EXPECT_FALSE(semaphore.try_acquire());
  auto small = acquire_elsewhere(semaphore, 1);
  eventually([&] { return waiting(semaphore) == 2; });
  semaphore.release(3);
  EXPECT_TRUE(large.get());
  EXPECT_EQ(waiting(semaphore), 1u);
  semaphore.release(4);
  EXPECT_TRUE(small.get());
}

TEST(Semaphore, ServesWaitersInTheOrderTheyCame) {
  Semaphore semaphore{{.permits = 1}};
  ASSERT_TRUE(semaphore.acquire());
  std::vector<int> order;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&, i] {
      auto permit = semaphore.hold();
      order.push_back(i);
    });
    eventually([&] { return waiting(semaphore) == static_cast<std::size_t>(i) + 1; });
  }
  semaphore.release();
  waiters.clear();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3));
}

TEST(Semaphore, OneReleaseServesAllWhomItSuffices) {
  Semaphore semaphore{{.permits = 3}};
  ASSERT_TRUE(semaphore.acquire(3));
  auto first = acquire_elsewhere(semaphore, 1);
  auto second = acquire_elsewhere(semaphore, 2);
  eventually([&] { return waiting(semaphore) == 2; });
  semaphore.release(3);
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

// -- Ends of a wait --------------------------------------------------------------------------------

TEST(Semaphore, AWaitTimesOutAndTakesNothing) {
  ManualClock clock;
  Semaphore semaphore{{.permits = 1}};
  ASSERT_TRUE(semaphore.acquire());
  auto late = acquire_elsewhere(semaphore, 1, {.deadline = within(1s)});
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(late.get(), Result(std::unexpected(Refusal::timed_out)));
  semaphore.release();
  EXPECT_EQ(semaphore.available(), 1u);
  EXPECT_EQ(semaphore.stats().refused, 1u);
}

TEST(Semaphore, TheTimedTriesGiveUp) {
  Semaphore semaphore{{.permits = 1}};
  ASSERT_TRUE(semaphore.try_acquire_for(1s));
  EXPECT_FALSE(semaphore.try_acquire_for(1ms));
  EXPECT_FALSE(semaphore.try_acquire_until(now() + 1ms));
}

TEST(Semaphore, AStopEndsAWaitAndRefusesLaterOnes) {
  Semaphore semaphore{{.permits = 1}};
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire());
  auto stopped = acquire_elsewhere(semaphore, 1, {.stop = stop.get_token()});
  eventually([&] { return waiting(semaphore) == 1; });
  stop.request_stop();
  EXPECT_EQ(stopped.get(), Result(std::unexpected(Refusal::stopped)));
  semaphore.release();
  EXPECT_EQ(semaphore.acquire({.stop = stop.get_token()}),
            Result(std::unexpected(Refusal::stopped)));
  EXPECT_EQ(semaphore.available(), 1u);
}

TEST(Semaphore, ALargeRequestThatGivesUpLetsTheSmallOnesBehindItGo) {
  Semaphore semaphore{{.permits = 4}};
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire(3));
  auto large = acquire_elsewhere(semaphore, 4, {.stop = stop.get_token()});
  eventually([&] { return waiting(semaphore) == 1; });
  auto small = acquire_elsewhere(semaphore, 1);
  eventually([&] { return waiting(semaphore) == 2; });
  stop.request_stop();
  EXPECT_FALSE(large.get());
  EXPECT_TRUE(small.get());
}

TEST(Semaphore, NoPermitIsEverLostOrInvented) {
  constexpr std::size_t permits = 5;
  Semaphore semaphore{{.permits = permits}};
  std::atomic<std::size_t> in_use{0};
  {
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < 6; ++t) {
      workers.emplace_back([&, t] {
        for (std::size_t i = 0; i < 3000; ++i) {
          const std::size_t n = 1 + (i + t) % permits;
          const bool limited = i % 3 == 0;
          const Wait wait{.deadline =
                              limited ? within(std::chrono::microseconds(i % 50)) : Deadline{}};
          if (!semaphore.acquire(n, wait)) continue;
          if (in_use.fetch_add(n) + n > permits)
            ADD_FAILURE() << "more permits in use than there are";
          if (i % 16 == 0) std::this_thread::yield();
          in_use.fetch_sub(n);
          semaphore.release(n);
        }
      });
    }
  }
  EXPECT_EQ(semaphore.available(), permits);
  const Stats stats = semaphore.stats();
  EXPECT_EQ(stats.puts, stats.takes);
  EXPECT_EQ(stats.waiting_consumers, 0u);
}

TEST(Semaphore, CountsAndIsSeenInWaits) {
  Semaphore semaphore{{.permits = 2, .name = "downloads"}};
  ASSERT_TRUE(semaphore.acquire(2));
  auto other = acquire_elsewhere(semaphore);
  eventually([&] { return waiting(semaphore) == 1; });
  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].operation, "acquire");
  EXPECT_EQ(all[0].name, "downloads");
  semaphore.release(2);
  EXPECT_TRUE(other.get());

  const Stats stats = semaphore.stats();
  EXPECT_EQ(stats.size, 1u);
  EXPECT_EQ(stats.capacity, 2u);
  EXPECT_EQ(stats.takes, 3u);
  EXPECT_EQ(stats.puts, 2u);
}

}  // namespace
}  // namespace handoff
