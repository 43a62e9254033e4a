// What coroutines see of a Semaphore; tests/sync has what threads see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "coro/sync_calls.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

TEST(AsyncSemaphore, WhatIsThereIsTakenWithoutBeingSuspended) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 3}};
  Call call(executor, acquire(semaphore, 2));
  ASSERT_TRUE(call.is_done());
  EXPECT_EQ(call.result(), done);
  EXPECT_EQ(semaphore.available(), 1u);
}

TEST(AsyncSemaphore, AWaitingCoroutineGetsPermitsWhenTheyAreReleased) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  ASSERT_TRUE(semaphore.acquire());
  Call call(executor, acquire(semaphore));
  EXPECT_EQ(waiting(semaphore), 1u);
  EXPECT_EQ(executor.run(), 0u);
  semaphore.release();
  EXPECT_EQ(semaphore.available(), 0u) << "it is the coroutine's before that has heard of it";
  EXPECT_EQ(executor.run(), 1u);
  EXPECT_EQ(call.result(), done);
}

TEST(AsyncSemaphore, HoldGivesItsPermitsBackAtTheEndOfTheCoroutinesScope) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 2}};
  Event until;
  Call call(executor, hold(semaphore, 2, until));
  EXPECT_EQ(semaphore.available(), 0u);
  until.set();
  executor.run();
  EXPECT_EQ(call.result(), done);
  EXPECT_EQ(semaphore.available(), 2u);
}

TEST(AsyncSemaphore, HoldIsRefusedWhenStopped) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  Event until;
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire());
  Call call(executor, hold(semaphore, 1, until), stop.get_token());
  stop.request_stop();
  executor.run();
  EXPECT_EQ(call.result(), stopped);
  semaphore.release();
  EXPECT_EQ(semaphore.available(), 1u);
}

TEST(AsyncSemaphore, ServesThreadsAndCoroutinesInTheOrderTheyCame) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 2}};
  ASSERT_TRUE(semaphore.acquire(2));
  Call first(executor, acquire(semaphore, 2));
  std::atomic<bool> thread_has_it{false};
  std::jthread second([&] {
    EXPECT_TRUE(semaphore.acquire());
    thread_has_it = true;
  });
  eventually([&] { return waiting(semaphore) == 2; });
  Call third(executor, acquire(semaphore));

  semaphore.release();
  EXPECT_EQ(executor.run(), 0u) << "the first wants two";
  semaphore.release();
  executor.run();
  EXPECT_TRUE(first.is_done());
  EXPECT_EQ(waiting(semaphore), 2u);
  semaphore.release();
  eventually([&] { return thread_has_it.load(); });
  EXPECT_EQ(executor.run(), 0u);
  semaphore.release();
  executor.run();
  EXPECT_EQ(third.result(), done);
}

TEST(AsyncSemaphore, AStopEndsAWaitAndRefusesLaterOnesThoughPermitsAreThere) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire());
  Call call(executor, acquire(semaphore), stop.get_token());
  stop.request_stop();
  executor.run();
  EXPECT_EQ(call.result(), stopped);
  semaphore.release();
  Call later(executor, acquire(semaphore), stop.get_token());
  EXPECT_EQ(later.result(), stopped);
  EXPECT_EQ(semaphore.available(), 1u);
  EXPECT_EQ(semaphore.stats().refused, 1u);
}

TEST(AsyncSemaphore, AWaitTimesOutAndTakesNothing) {
  ManualClock clock;
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  ASSERT_TRUE(semaphore.acquire());
  Call call(executor, acquire(semaphore, 1, within(1s)));
  clock.advance(1s - 1ns);
  EXPECT_EQ(executor.run(), 0u);
  clock.advance(1ns);
  eventually([&] { return executor.ready() == 1; });
  executor.run();
  EXPECT_EQ(call.result(), timed_out);
  semaphore.release();
  EXPECT_EQ(semaphore.available(), 1u);
}

TEST(AsyncSemaphore, PastItsDeadlineWhatIsThereIsStillTaken) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  Call call(executor, acquire(semaphore, 1, now() - 1s));
  EXPECT_EQ(call.result(), done);
  Call late(executor, acquire(semaphore, 1, now() - 1s));
  ASSERT_TRUE(late.is_done());
  EXPECT_EQ(late.result(), timed_out);
}

TEST(AsyncSemaphore, PermitsGrantedBeforeAStopAreAcquiredThoughTheCoroutineHearsOfTheStopFirst) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire());
  Call call(executor, acquire(semaphore), stop.get_token());
  semaphore.release();
  stop.request_stop();
  executor.run();
  EXPECT_EQ(call.result(), done);
  EXPECT_EQ(semaphore.available(), 0u);
}

TEST(AsyncSemaphore, PermitsReleasedAfterAStopGoToTheNextThoughTheStoppedOneIsStillInLine) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1}};
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire());
  Call leaving(executor, acquire(semaphore), stop.get_token());
  Call next(executor, acquire(semaphore));
  stop.request_stop();
  semaphore.release();
  EXPECT_EQ(waiting(semaphore), 1u);
  executor.run();
  EXPECT_EQ(leaving.result(), stopped);
  EXPECT_EQ(next.result(), done);
  EXPECT_EQ(semaphore.available(), 0u);
}

TEST(AsyncSemaphore, ALargeRequestThatGivesUpLetsTheSmallOnesBehindItGo) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 4}};
  std::stop_source stop;
  ASSERT_TRUE(semaphore.acquire(3));
  Call large(executor, acquire(semaphore, 4), stop.get_token());
  Call small(executor, acquire(semaphore, 1));
  EXPECT_EQ(waiting(semaphore), 2u);
  stop.request_stop();
  executor.run();
  EXPECT_EQ(large.result(), stopped);
  EXPECT_EQ(small.result(), done);
}

TEST(AsyncSemaphore, WhatCanNeverBeThrowsInTheCoroutine) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 2}};
  Call call(executor, acquire(semaphore, 3));
  ASSERT_TRUE(call.is_done());
  EXPECT_THROW((void)call.result(), std::invalid_argument);
  EXPECT_EQ(semaphore.available(), 2u);
}

TEST(AsyncSemaphore, IsSeenInWaits) {
  ManualExecutor executor;
  Semaphore semaphore{{.permits = 1, .name = "downloads"}};
  ASSERT_TRUE(semaphore.acquire());
  Call call(executor, acquire(semaphore));
  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].thread, "by hand");
  EXPECT_EQ(all[0].operation, "acquire");
  EXPECT_EQ(all[0].name, "downloads");
  semaphore.release();
  executor.run();
}

}  // namespace
}  // namespace handoff
