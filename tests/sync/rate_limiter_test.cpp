#include "handoff/rate_limiter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <expected>
#include <future>
#include <limits>
#include <stdexcept>
#include <stop_token>
#include <string>
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

std::size_t waiting(const RateLimiter& limiter) { return limiter.stats().waiting_consumers; }

std::future<Result> acquire_elsewhere(RateLimiter& limiter, std::size_t n = 1, Wait wait = {}) {
  return std::async(std::launch::async, [&limiter, n, wait] { return limiter.acquire(n, wait); });
}

std::uint64_t take_all(RateLimiter& limiter) {
  std::uint64_t taken = 0;
  while (limiter.try_acquire()) ++taken;
  return taken;
}

std::string message_of(const RateLimiterOptions& options) {
  try {
    RateLimiter limiter(options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// -- How many --------------------------------------------------------------------------------------

TEST(RateLimiter, BeginsWithAFullBurst) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10), .burst = 5}};
  EXPECT_EQ(limiter.available(), 5u);
  EXPECT_EQ(take_all(limiter), 5u);
}

TEST(RateLimiter, APermitComesBackWithEachPeriod) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  clock.advance(100ms - 1ns);
  EXPECT_FALSE(limiter.try_acquire());
  clock.advance(1ns);
  EXPECT_TRUE(limiter.try_acquire());
}

TEST(RateLimiter, NeverHoldsMoreThanItsBurstHoweverLongItWasIdle) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(100'000), .burst = 50}};
  clock.advance(24h * 365 * 20);
  EXPECT_EQ(limiter.available(), 50u);
  EXPECT_EQ(take_all(limiter), 50u);
}

class RateLimiterAtRate : public ::testing::TestWithParam<double> {};

TEST_P(RateLimiterAtRate, GivesOutTheRateToOnePermitHoweverTimeIsCut) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(GetParam()), .burst = 1'000'000}};
  ASSERT_TRUE(limiter.try_acquire(1'000'000));
  const auto begin = now();
  std::uint64_t taken = 0;
  // Steps that are no multiple of any period, in which at most a few hundred permits come due.
  for (int i = 0; i < 20'000; ++i) {
    clock.advance(Duration(1 + (i * 7'919LL) % 3'000'017));
    taken += take_all(limiter);
    const double due = GetParam() * std::chrono::duration<double>(now() - begin).count();
    ASSERT_NEAR(static_cast<double>(taken), due, 1.0) << "after " << i << " steps";
  }
}

TEST_P(RateLimiterAtRate, DoesNotDriftOverAMonth) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(GetParam()), .burst = 1'000'000}};
  ASSERT_TRUE(limiter.try_acquire(1'000'000));
  const auto begin = now();
  double taken = 0;
  const Duration step = detail::saturated(std::chrono::duration<double>(900'000.3 / GetParam()));
  while (now() - begin < 24h * 30) {
    clock.advance(step);
    const std::size_t there = limiter.available();
    ASSERT_LT(there, 1'000'000u);
    ASSERT_TRUE(limiter.try_acquire(there));
    taken += static_cast<double>(there);
  }
  const double due = GetParam() * std::chrono::duration<double>(now() - begin).count();
  EXPECT_NEAR(taken, due, 1.0 + due * 1e-9);
}

TEST_P(RateLimiterAtRate, AWaiterIsServedAtTheMomentItsPermitIsDue) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(GetParam())}};
  ASSERT_TRUE(limiter.try_acquire());
  const auto begin = now();
  for (int i = 1; i <= 20; ++i) {
    auto next = acquire_elsewhere(limiter);
    eventually([&] { return clock.waiting() == 1; });
    const auto due = begin + Duration(std::llround(std::ceil(i * 1e9 / GetParam() - 1e-3)));
    clock.advance(due - now() - 1ns);
    EXPECT_EQ(waiting(limiter), 1u) << i;
    clock.advance(1ns);
    EXPECT_TRUE(next.get());
  }
}

INSTANTIATE_TEST_SUITE_P(Rates, RateLimiterAtRate,
                         ::testing::Values(1.0, 7.0, 333.0, 1'000.0, 100'000.0));

TEST(RateLimiter, ASleeperThatGetsUpLateLosesNoPermits) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(100'000)}};
  ASSERT_TRUE(limiter.try_acquire());
  std::uint64_t taken = 0;
  for (int i = 0; i < 100; ++i) {
    auto next = acquire_elsewhere(limiter);
    eventually([&] { return clock.waiting() == 1; });
    clock.advance(70us);  // Its permit was due after 10 us.
    ASSERT_TRUE(next.get());
    taken += 1 + take_all(limiter);
  }
  EXPECT_EQ(taken, 700u);
}

TEST(RateLimiter, NorDoesOneThatSleptLongBeforeItWasLate) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(1'000)}};
  ASSERT_TRUE(limiter.try_acquire());
  auto next = acquire_elsewhere(limiter);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(10'500us);  // 9.5 ms late.
  ASSERT_TRUE(next.get());
  EXPECT_EQ(take_all(limiter), 9u);
}

TEST(RateLimiter, AHugeBurstAtASlowRateIsDueInItsTime) {
  ManualClock clock;
  RateLimiter limiter{{.rate = one_per(1h), .burst = 3'000'000}};
  ASSERT_TRUE(limiter.try_acquire());
  auto all = acquire_elsewhere(limiter, 3'000'000, {.deadline = within(2h)});
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1h + 1us);  // One an hour is no exact number per second.
  EXPECT_TRUE(all.get());
}

TEST(RateLimiter, WhatALateSleeperIsOwedIsForgottenInAnIdleTime) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(100'000)}};
  ASSERT_TRUE(limiter.try_acquire());
  auto next = acquire_elsewhere(limiter);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(70us);
  ASSERT_TRUE(next.get());
  clock.advance(RateLimiter::max_lateness + 1us);
  EXPECT_EQ(take_all(limiter), 1u);
}

TEST(RateLimiter, AVeryLateSleeperIsNotMadeUpForByAFlood) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(1'000), .burst = 2}};
  ASSERT_TRUE(limiter.try_acquire(2));
  auto next = acquire_elsewhere(limiter);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(10s);
  ASSERT_TRUE(next.get());
  EXPECT_LE(take_all(limiter), 12u);  // The burst and 10 ms' worth.
}

TEST(RateLimiter, SetRateKeepsWhatHasComeBackAndAppliesFromNowOn) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10), .burst = 10}};
  ASSERT_TRUE(limiter.try_acquire(10));
  clock.advance(450ms);
  limiter.set_rate(per_second(1'000));
  EXPECT_EQ(limiter.rate(), per_second(1'000));
  EXPECT_EQ(take_all(limiter), 4u);
  clock.advance(500us);  // Half of the fifth was there.
  EXPECT_EQ(take_all(limiter), 1u);
}

TEST(RateLimiter, SetRateReachesThoseWhoWait) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_hour(1)}};
  ASSERT_TRUE(limiter.try_acquire());
  auto next = acquire_elsewhere(limiter);
  eventually([&] { return clock.waiting() == 1; });
  limiter.set_rate(per_second(1));
  clock.advance(1s);
  EXPECT_TRUE(next.get());
}

// -- Contracts -------------------------------------------------------------------------------------

TEST(RateLimiter, BadOptionsAreNamedWithWhatIsAllowedAndWhatWasGiven) {
  EXPECT_EQ(message_of({.rate = per_second(0)}),
            "rate must be from one a year to 1000000000 per second, got 0 per second");
  EXPECT_EQ(message_of({.rate = per_second(1), .burst = 0}),
            "burst must be from 1 to 1000000000, got 0");
  EXPECT_NE(message_of({.rate = per_second(-5)}), "");
  EXPECT_NE(message_of({.rate = per_second(std::nan(""))}), "");
  EXPECT_NE(message_of({.rate = per_second(std::numeric_limits<double>::infinity())}), "");
  EXPECT_NE(message_of({.rate = one_per(0s)}), "");
  EXPECT_EQ(message_of({.rate = per_hour(1.0 / 8'765), .burst = 1'000'000'000}), "");
  EXPECT_EQ(message_of({.rate = per_second(1e9)}), "");
  RateLimiter limiter{{.rate = per_second(1)}};
  EXPECT_THROW(limiter.set_rate(per_second(-1)), std::invalid_argument);
}

TEST(RateLimiter, TheRatesSayWhatTheyMean) {
  EXPECT_EQ(per_minute(120), per_second(2));
  EXPECT_EQ(per_hour(7'200), per_second(2));
  EXPECT_EQ(one_per(100ms), per_second(10));
}

TEST(RateLimiter, MoreThanTheBurstCanNeverBeHadAtOnce) {
  RateLimiter limiter{{.rate = per_second(1), .burst = 3}};
  EXPECT_THROW((void)limiter.acquire(4), std::invalid_argument);
  EXPECT_THROW((void)limiter.try_acquire(4), std::invalid_argument);
  EXPECT_EQ(limiter.available(), 3u);
}

TEST(RateLimiter, TheSlowestLargestLimiterDoesNotOverflow) {
  ManualClock clock;
  constexpr std::size_t burst = 1'000'000'000;
  RateLimiter limiter{{.rate = per_hour(1.0 / 8'765), .burst = burst}};
  ASSERT_TRUE(limiter.try_acquire(burst));
  EXPECT_FALSE(limiter.try_acquire_for(24h * 365 * 100, burst));
  std::stop_source stop;
  auto never = acquire_elsewhere(limiter, burst, {.stop = stop.get_token()});
  eventually([&] { return waiting(limiter) == 1; });
  stop.request_stop();
  EXPECT_EQ(never.get(), Result(std::unexpected(Refusal::stopped)));
}

// -- Waiting ---------------------------------------------------------------------------------------

TEST(RateLimiter, ServesWaitersInTheOrderTheyCameAndOnlyTheFirstHasATimer) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  std::vector<int> order;
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 5; ++i) {
    waiters.emplace_back([&, i] {
      ASSERT_TRUE(limiter.acquire());
      order.push_back(i);  // One at a time: the clock moves on only then.
    });
    eventually([&] { return waiting(limiter) == static_cast<std::size_t>(i) + 1; });
  }
  EXPECT_FALSE(limiter.try_acquire());
  for (std::size_t left = 5; left > 0; --left) {
    eventually([&] { return clock.waiting() == 1; });
    EXPECT_EQ(waiting(limiter), left);
    clock.advance(100ms);
    waiters[5 - left].join();
  }
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST(RateLimiter, ALargeRequestIsNotOvertakenBySmallOnes) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10), .burst = 5}};
  ASSERT_TRUE(limiter.try_acquire(5));
  auto large = acquire_elsewhere(limiter, 5);
  eventually([&] { return waiting(limiter) == 1; });
  auto small = acquire_elsewhere(limiter, 1);
  eventually([&] { return waiting(limiter) == 2; });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(400ms);
  EXPECT_FALSE(limiter.try_acquire());
  EXPECT_EQ(waiting(limiter), 2u);
  clock.advance(100ms);
  EXPECT_TRUE(large.get());
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(100ms);
  EXPECT_TRUE(small.get());
}

TEST(RateLimiter, OneLateWakeServesAllWhoAreDue) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(1'000)}};
  ASSERT_TRUE(limiter.try_acquire());
  std::vector<std::future<Result>> all;
  for (std::size_t i = 1; i <= 3; ++i) {
    all.push_back(acquire_elsewhere(limiter));
    eventually([&] { return waiting(limiter) == i; });
  }
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(3ms);
  for (auto& each : all) EXPECT_TRUE(each.get());
  EXPECT_FALSE(limiter.try_acquire());
}

TEST(RateLimiter, AWaitThatCannotEndInTimeIsRefusedAtOnce) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  EXPECT_EQ(limiter.acquire({.deadline = within(100ms - 1ns)}),
            Result(std::unexpected(Refusal::timed_out)));
  EXPECT_FALSE(limiter.try_acquire_for(99ms));
  EXPECT_FALSE(limiter.try_acquire_until(now() + 99ms));
  auto in_time = acquire_elsewhere(limiter, 1, {.deadline = within(100ms)});
  eventually([&] { return clock.waiting() == 1; });
  // Those in line are counted: the next permit but one is due after 200 ms.
  EXPECT_FALSE(limiter.try_acquire_for(199ms));
  clock.advance(100ms);
  EXPECT_TRUE(in_time.get());
  EXPECT_EQ(limiter.stats().refused, 4u);
}

TEST(RateLimiter, PastItsDeadlineWhatIsThereIsStillTaken) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10)}};
  EXPECT_TRUE(limiter.acquire({.deadline = now() - 1s}));
}

TEST(RateLimiter, ADeadlineThatIsMissedAfterASlowdownTakesNothing) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  auto late = acquire_elsewhere(limiter, 1, {.deadline = within(150ms)});
  eventually([&] { return clock.waiting() == 1; });
  limiter.set_rate(per_second(1));
  auto next = acquire_elsewhere(limiter);
  eventually([&] { return waiting(limiter) == 2; });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(150ms);
  EXPECT_EQ(late.get(), Result(std::unexpected(Refusal::timed_out)));
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(850ms);
  EXPECT_TRUE(next.get());
}

TEST(RateLimiter, AStoppedWaiterGivesItsPlaceBackAndTheNextMovesUp) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10)}};
  std::stop_source stop;
  ASSERT_TRUE(limiter.try_acquire());
  auto first = acquire_elsewhere(limiter, 1, {.stop = stop.get_token()});
  eventually([&] { return waiting(limiter) == 1; });
  auto second = acquire_elsewhere(limiter);
  eventually([&] { return waiting(limiter) == 2; });
  stop.request_stop();
  EXPECT_EQ(first.get(), Result(std::unexpected(Refusal::stopped)));
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(100ms);  // The permit the first would have got.
  EXPECT_TRUE(second.get());
  EXPECT_EQ(limiter.acquire({.stop = stop.get_token()}), Result(std::unexpected(Refusal::stopped)));
}

TEST(RateLimiter, CountsAndIsSeenInWaits) {
  ManualClock clock;
  RateLimiter limiter{{.rate = per_second(10), .burst = 2, .name = "mails"}};
  ASSERT_TRUE(limiter.try_acquire(2));
  auto other = acquire_elsewhere(limiter);
  eventually([&] { return clock.waiting() == 1; });
  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].operation, "acquire");
  EXPECT_EQ(all[0].kind, "RateLimiter");
  EXPECT_EQ(all[0].name, "mails");
  clock.advance(100ms);
  EXPECT_TRUE(other.get());

  const Stats stats = limiter.stats();
  EXPECT_EQ(stats.size, 2u);
  EXPECT_EQ(stats.capacity, 2u);
  EXPECT_EQ(stats.takes, 3u);
  EXPECT_EQ(stats.consumer_waits, 1u);
  EXPECT_EQ(stats.consumers_blocked, 100ms);
}

// -- On the real clock -----------------------------------------------------------------------------

TEST(RateLimiter, NoPermitIsLostOrInventedWhenManyThreadsTakeThemInEveryWay) {
  constexpr double rate = 50'000;
  constexpr std::size_t burst = 20;
  const auto begin = now();
  RateLimiter limiter{{.rate = per_second(rate), .burst = burst}};
  std::atomic<std::uint64_t> taken{0};
  {
    std::vector<std::jthread> workers;
    for (std::size_t t = 0; t < 6; ++t) {
      workers.emplace_back([&, t] {
        for (std::size_t i = 0; i < 400; ++i) {
          const std::size_t n = 1 + (i + t) % 5;
          std::stop_source stop;
          Wait wait;
          if (i % 3 == 1) wait.deadline = within(std::chrono::microseconds(i % 400));
          if (i % 3 == 2) wait.stop = stop.get_token();
          std::jthread stopper;
          if (i % 30 == 2) stopper = std::jthread([&stop] { stop.request_stop(); });
          if (limiter.acquire(n, wait)) taken += n;
          if (i % 7 == 0 && limiter.try_acquire()) ++taken;
        }
      });
    }
  }
  const double elapsed = std::chrono::duration<double>(now() - begin).count();
  EXPECT_EQ(limiter.stats().takes, taken.load());
  EXPECT_LE(static_cast<double>(taken), burst + rate * elapsed + 1);
  EXPECT_EQ(waiting(limiter), 0u);
}

TEST(RateLimiter, KeepsAHighRateThoughSleepersGetUpLate) {
  RateLimiter limiter{{.rate = per_second(20'000)}};
  const auto begin = now();
  for (int i = 0; i < 4'000; ++i) ASSERT_TRUE(limiter.acquire());
  const double elapsed = std::chrono::duration<double>(now() - begin).count();
  EXPECT_GE(elapsed, 3'999 / 20'000.0 - 1e-6);
  RecordProperty("permits_per_second", std::to_string(4'000 / elapsed));
}

}  // namespace
}  // namespace handoff
