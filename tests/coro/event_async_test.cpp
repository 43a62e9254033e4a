// What coroutines see of an Event and a Latch; tests/sync has what threads see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <source_location>
#include <stop_token>
#include <thread>
#include <utility>

#include "coro/sync_calls.hpp"
#include "handoff/event.hpp"
#include "handoff/latch.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

TEST(AsyncEvent, LetsThroughAllWhoWaitedEvenIfItIsResetAtOnce) {
  ManualExecutor executor;
  Event event;
  Call first(executor, wait_for(event));
  Call second(executor, wait_for(event));
  EXPECT_EQ(waiting(event), 2u);
  event.set();
  event.reset();
  Call third(executor, wait_for(event));
  executor.run();
  EXPECT_EQ(first.result(), done);
  EXPECT_EQ(second.result(), done);
  EXPECT_FALSE(third.is_done());
  event.set();
  executor.run();
  EXPECT_EQ(third.result(), done);
}

TEST(AsyncEvent, IsNotWaitedForOnceItIsSet) {
  ManualExecutor executor;
  Event event{{.is_set = true}};
  Call call(executor, wait_for(event, now() - 1s));
  ASSERT_TRUE(call.is_done());
  EXPECT_EQ(call.result(), done);
}

TEST(AsyncEvent, AWaitEndsByItsDeadlineOrAStop) {
  ManualClock clock;
  ManualExecutor executor;
  Event event;
  std::stop_source stop;
  Call late(executor, wait_for(event, within(1s)));
  Call leaving(executor, wait_for(event), stop.get_token());
  stop.request_stop();
  executor.run();
  EXPECT_EQ(leaving.result(), stopped);
  clock.advance(1s);
  eventually([&] { return executor.ready() == 1; });
  executor.run();
  EXPECT_EQ(late.result(), timed_out);
  event.set();
  Call after(executor, wait_for(event), stop.get_token());
  EXPECT_EQ(after.result(), stopped) << "a stop comes first";
}

Lazy<Result> wait_and_destroy(std::unique_ptr<Event> event) {
  const auto set = co_await event->async_wait();
  event.reset();
  co_return set;
}

TEST(AsyncEvent, WhoWasToldThatItIsSetMayDestroyIt) {
  ManualExecutor executor;
  for (int round = 0; round < 200; ++round) {
    auto owned = std::make_unique<Event>();
    Event& event = *owned;
    Call call(executor, wait_and_destroy(std::move(owned)));
    std::jthread setter([&] { event.set(); });
    eventually([&] { return executor.run() == 1; });
    EXPECT_EQ(call.result(), done);
  }
}

TEST(AsyncEvent, ASetBetweenTheFirstLookAndTheLineIsNotMissed) {
  Event event;
  Latch latch{{.count = 1}};
  detail::EventWait for_event(event);
  detail::LatchWait for_latch(latch);
  EXPECT_FALSE(for_event.ready({}));
  EXPECT_FALSE(for_latch.ready({}));
  event.set();
  latch.count_down();
  const Wait wait;
  detail::ThreadWaiter waiter(wait,
                              {.operation = "wait", .where = std::source_location::current()});
  EXPECT_TRUE(for_event.begin(waiter));
  EXPECT_TRUE(for_latch.begin(waiter));
}

Lazy<Result> arrive(Latch& latch) { co_return co_await latch.async_arrive_and_wait(); }

TEST(AsyncLatch, OpensForThreadsAndCoroutinesAtZero) {
  ManualExecutor executor;
  Latch latch{{.count = 3}};
  Call waits(executor, wait_for(latch));
  std::jthread thread([&] { EXPECT_TRUE(latch.wait()); });
  eventually([&] { return waiting(latch) == 2; });
  Call first(executor, arrive(latch));
  Call second(executor, arrive(latch));
  EXPECT_EQ(executor.run(), 0u);
  EXPECT_EQ(latch.count(), 1u);
  latch.count_down();
  EXPECT_EQ(executor.run(), 3u);
  EXPECT_EQ(waits.result(), done);
  EXPECT_EQ(first.result(), done);
  EXPECT_EQ(second.result(), done);
  Call later(executor, wait_for(latch));
  EXPECT_EQ(later.result(), done);
}

TEST(AsyncLatch, AStoppedArrivalHasArrived) {
  ManualExecutor executor;
  Latch latch{{.count = 2}};
  std::stop_source stop;
  Call call(executor, arrive(latch), stop.get_token());
  stop.request_stop();
  executor.run();
  EXPECT_EQ(call.result(), stopped);
  EXPECT_EQ(latch.count(), 1u);
}

}  // namespace
}  // namespace handoff
