#include "handoff/future.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

// Closed until it is opened; the pool ends before what its jobs use.
struct FutureTest : ::testing::Test {
  Event open;
  WorkerPool pool{{.workers = 2, .capacity = 100}};

  Future<int> slow(int value) {
    return *pool.submit([this, value] {
      (void)open.wait();
      return value;
    });
  }
};

TEST_F(FutureTest, TimesOutAndIsStillThere) {
  auto future = slow(1);
  EXPECT_EQ(future.get(1ms).error(), Refusal::timed_out);
  EXPECT_FALSE(future.is_ready());
  open.set();
  EXPECT_EQ(*future.get(), 1);
}

TEST_F(FutureTest, AStopEndsTheWaitAndComesFirst) {
  auto future = slow(1);
  std::stop_source source;
  std::jthread stopper([&] { source.request_stop(); });
  EXPECT_EQ(future.get({.stop = source.get_token()}).error(), Refusal::stopped);
  open.set();
  eventually([&] { return future.is_ready(); });
  stopper.join();
  EXPECT_EQ(future.get({.stop = source.get_token()}).error(), Refusal::stopped);
  EXPECT_EQ(*future.get(), 1);
}

TEST_F(FutureTest, ADroppedOneLetsItsJobRun) {
  std::atomic<bool> ran = false;
  {
    auto dropped = pool.submit([&] { ran = true; });
  }
  eventually([&] { return ran.load(); });
}

TEST_F(FutureTest, ThenMapsTheResult) {
  auto text = slow(20).then([](int value) { return value + 1; }).then([](int value) {
    return std::to_string(value);
  });
  open.set();
  EXPECT_EQ(*text.get(), "21");
}

TEST_F(FutureTest, ThenWorksOnOneThatIsReady) {
  auto ready = pool.submit([] { return std::make_unique<int>(3); });
  eventually([&] { return ready->is_ready(); });
  EXPECT_EQ(*std::move(*ready).then([](std::unique_ptr<int> value) { return *value; }).get(), 3);
}

TEST_F(FutureTest, ThenIsPassedByWhatWasThrown) {
  auto failed = *pool.submit([]() -> int { throw std::runtime_error("no ink"); });
  bool called = false;
  auto after = std::move(failed).then([&](int) { called = true; });
  EXPECT_THROW((void)after.get(), std::runtime_error);
  EXPECT_FALSE(called);
}

TEST_F(FutureTest, ThenMayThrow) {
  auto after = slow(1).then([](int) -> int { throw std::logic_error("odd"); });
  open.set();
  EXPECT_THROW((void)after.get(), std::logic_error);
}

TEST_F(FutureTest, ThenOfVoid) {
  auto future = *pool.submit([] {});
  EXPECT_EQ(*std::move(future).then([] { return 5; }).get(), 5);
}

TEST_F(FutureTest, AChainOfAMillionNeedsNoStack) {
  auto future = slow(0);
  for (int i = 0; i < 1'000'000; ++i) future = std::move(future).then([](int n) { return n + 1; });
  open.set();
  EXPECT_EQ(*future.get(), 1'000'000);
}

TEST_F(FutureTest, AChainOfAMillionThatNeverRunsNeedsNoStackEither) {
  auto open_now = std::make_unique<WorkerPool>(PoolOptions{.workers = 1, .capacity = 10});
  Event entered;
  ASSERT_TRUE(open_now->post([&](std::stop_token stop) {
    entered.set();
    Event stopped;
    (void)stopped.wait({.stop = stop});
  }));
  ASSERT_TRUE(entered.wait());
  auto future = *open_now->submit([] { return 0; });
  for (int i = 0; i < 1'000'000; ++i) future = std::move(future).then([](int n) { return n + 1; });
  (void)open_now->shutdown(interrupt());  // The report, and the job with it, is destroyed.
  EXPECT_EQ(future.get().error(), Refusal::closed);
}

TEST_F(FutureTest, WhatFollowsMayWaitForAnotherChain) {
  WorkerPool single{{.workers = 1, .capacity = 10, .spares = 0}};
  auto outer = (*single.submit([] { return 1; })).then([&](int one) {
    auto inner = (*single.submit([] { return 10; })).then([](int ten) { return ten * 10; });
    auto ready = (*single.submit([] { return 1000; }));
    const int hundred = *inner.get();
    return one + hundred +
           *std::move(ready).then([](int n) { return n; }).then([](int n) { return n; }).get();
  });
  EXPECT_EQ(*outer.get(10s), 1101);
}

TEST_F(FutureTest, ThenUsesItUp) {
  auto future = slow(1);
  auto after = std::move(future).then([](int n) { return n; });
  EXPECT_FALSE(future.is_valid());
  EXPECT_THROW((void)future.get(), std::logic_error);
  open.set();
  EXPECT_EQ(*after.get(), 1);
}

TEST_F(FutureTest, AJobHelpsWithTheBeginningOfTheChainItWaitsFor) {
  WorkerPool single{{.workers = 1, .capacity = 10, .spares = 0}};
  auto answer = single.submit([&] {
    auto chain = (*single.submit([] { return 1; })).then([](int n) { return n + 1; });
    return *chain.get();
  });
  EXPECT_EQ(*answer->get(10s), 2);
}

TEST_F(FutureTest, OfAJobThatIsHandedBackWaitsForWhoeverHasIt) {
  Event entered;
  WorkerPool single{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(single.post([&](std::stop_token stop) {
    entered.set();
    Event stopped;
    (void)stopped.wait({.stop = stop});
  }));
  ASSERT_TRUE(entered.wait());
  auto run_late = single.submit([] { return 1; });
  auto never = (*single.submit([] { return 2; })).then([](int) { return 3; });
  auto report = single.shutdown(interrupt());
  ASSERT_EQ(report.handed_back.size(), 2u);
  EXPECT_FALSE(run_late->is_ready());
  report.handed_back[0]();
  EXPECT_EQ(*run_late->get(), 1);
  report.handed_back.clear();
  EXPECT_EQ(never.get().error(), Refusal::closed);
}

TEST_F(FutureTest, OneThatIsUsedUpSaysSo) {
  auto future = *pool.submit([] { return 1; });
  EXPECT_EQ(*future.get(), 1);
  EXPECT_THROW((void)future.get(), std::logic_error);
  EXPECT_THROW((void)future.is_ready(), std::logic_error);
}

TEST_F(FutureTest, AWaitForItIsVisible) {
  auto future = slow(1);
  std::jthread waiter([&] {
    name_this_thread("reader");
    EXPECT_EQ(*future.get(), 1);
  });
  eventually([] {
    return std::ranges::any_of(waits(), [](const WaitInfo& each) {
      return each.thread == "reader" && each.operation == "get" && each.kind == "Future" &&
             each.name.starts_with("future_test.cpp:") && each.held_by.starts_with("worker");
    });
  });
  open.set();
}

TEST_F(FutureTest, LetsGoOfWhatTheJobHeldBeforeTheResultIsThere) {
  auto held = std::make_shared<int>();
  auto future = *pool.submit([held] { return 1; });
  EXPECT_EQ(*future.get(), 1);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(FutureOnAManualClock, TimesOutWhenTheClockSaysSo) {
  testing::ManualClock clock;
  Event open;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  auto future = *pool.submit([&] { (void)open.wait(); });
  std::jthread waiter([&] { EXPECT_EQ(future.get(1h).error(), Refusal::timed_out); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1h);
  waiter.join();
  open.set();
}

}  // namespace
}  // namespace handoff
