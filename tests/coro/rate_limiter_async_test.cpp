// What coroutines see of a RateLimiter; tests/sync has what threads see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "coro/sync_calls.hpp"
#include "handoff/rate_limiter.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

// Moves time on, and waits until as many coroutines can go on.
void advance_until_ready(ManualClock& clock, Duration step, ManualExecutor& executor,
                         std::size_t count) {
  clock.advance(step);
  eventually([&] { return executor.ready() == count; });
}

TEST(AsyncRateLimiter, AWaiterIsServedAtTheMomentItsPermitIsDue) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  Call call(executor, acquire(limiter));
  clock.advance(100ms - 1ns);
  EXPECT_EQ(executor.run(), 0u);
  EXPECT_EQ(waiting(limiter), 1u);
  advance_until_ready(clock, 1ns, executor, 1);
  executor.run();
  EXPECT_EQ(call.result(), done);
  Call past(executor, acquire(limiter, 1, now() - 1s));
  EXPECT_EQ(past.result(), timed_out);
}

TEST(AsyncRateLimiter, ServesThreadsAndCoroutinesInTheOrderTheyCameAndOnlyTheFirstHasATimer) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  Call first(executor, acquire(limiter));
  std::atomic<bool> thread_has_it{false};
  std::jthread second([&] {
    EXPECT_TRUE(limiter.acquire());
    thread_has_it = true;
  });
  eventually([&] { return waiting(limiter) == 2; });
  Call third(executor, acquire(limiter));

  eventually([&] { return clock.waiting() == 1; });
  advance_until_ready(clock, 100ms, executor, 1);
  executor.run();
  EXPECT_TRUE(first.is_done());
  EXPECT_FALSE(thread_has_it);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(100ms);
  eventually([&] { return thread_has_it.load(); });
  eventually([&] { return executor.run() == 1; });  // It finds out that it is the first.
  EXPECT_FALSE(third.is_done());
  eventually([&] { return clock.waiting() == 1; });
  advance_until_ready(clock, 100ms, executor, 1);
  executor.run();
  EXPECT_EQ(third.result(), done);
  EXPECT_EQ(limiter.stats().takes, 4u);
}

TEST(AsyncRateLimiter, AWaitThatCannotEndInTimeIsRefusedAtOnce) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  Call late(executor, acquire(limiter, 1, within(99ms)));
  ASSERT_TRUE(late.is_done());
  EXPECT_EQ(late.result(), timed_out);
  Call in_time(executor, acquire(limiter, 1, within(100ms)));
  advance_until_ready(clock, 100ms, executor, 1);
  executor.run();
  EXPECT_EQ(in_time.result(), done);
}

TEST(AsyncRateLimiter, SetRateReachesThoseWhoWait) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_hour(1)}};
  ASSERT_TRUE(limiter.try_acquire());
  Call call(executor, acquire(limiter));
  limiter.set_rate(per_second(1));
  EXPECT_EQ(executor.run(), 1u);
  EXPECT_FALSE(call.is_done());
  advance_until_ready(clock, 1s, executor, 1);
  executor.run();
  EXPECT_EQ(call.result(), done);
}

TEST(AsyncRateLimiter, ADeadlineThatIsMissedAfterASlowdownTakesNothing) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(10)}};
  ASSERT_TRUE(limiter.try_acquire());
  Call late(executor, acquire(limiter, 1, within(150ms)));
  limiter.set_rate(per_second(1));
  executor.run();
  Call next(executor, acquire(limiter));
  advance_until_ready(clock, 150ms, executor, 1);
  executor.run();
  EXPECT_EQ(late.result(), timed_out);
  EXPECT_FALSE(next.is_done());
  advance_until_ready(clock, 850ms, executor, 1);
  executor.run();
  EXPECT_EQ(next.result(), done);
}

TEST(AsyncRateLimiter, AStoppedWaiterTakesNothingAndTheNextMovesUp) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(10)}};
  std::stop_source stop;
  ASSERT_TRUE(limiter.try_acquire());
  Call leaving(executor, acquire(limiter), stop.get_token());
  Call next(executor, acquire(limiter));
  stop.request_stop();
  executor.run();
  EXPECT_EQ(leaving.result(), stopped);
  EXPECT_FALSE(next.is_done());
  advance_until_ready(clock, 100ms, executor, 1);
  executor.run();
  EXPECT_EQ(next.result(), done);
  Call after(executor, acquire(limiter), stop.get_token());
  EXPECT_EQ(after.result(), stopped);
}

TEST(AsyncRateLimiter, WhoWasServedAndIsStoppedBeforeItHeardOfItHasItsPermits) {
  ManualClock clock;
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(1'000)}};
  std::stop_source stop;
  ASSERT_TRUE(limiter.try_acquire());
  Call first(executor, acquire(limiter));
  Call second(executor, acquire(limiter), stop.get_token());
  advance_until_ready(clock, 2ms, executor, 1);
  stop.request_stop();
  limiter.set_rate(per_second(500));  // Gives out what is due, also to the one on its way out.
  executor.run();
  EXPECT_EQ(first.result(), done);
  EXPECT_EQ(second.result(), done);
  EXPECT_EQ(limiter.stats().takes, 3u);
}

TEST(AsyncRateLimiter, MoreThanTheBurstThrowsInTheCoroutine) {
  ManualExecutor executor;
  RateLimiter limiter{{.rate = per_second(1), .burst = 3}};
  Call call(executor, acquire(limiter, 4));
  ASSERT_TRUE(call.is_done());
  EXPECT_THROW((void)call.result(), std::invalid_argument);
}

}  // namespace
}  // namespace handoff
