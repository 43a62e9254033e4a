#include "handoff/latch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using Result = std::expected<void, Refusal>;

std::future<Result> wait_elsewhere(Latch& latch, Wait wait = {}) {
  return std::async(std::launch::async, [&latch, wait] { return latch.wait(wait); });
}

TEST(Latch, OpensWhenItsCountReachesZero) {
  Latch latch{{.count = 2}};
  auto waiter = wait_elsewhere(latch);
  eventually([&] { return latch.stats().waiting_consumers == 1; });
  latch.count_down();
  EXPECT_FALSE(latch.is_open());
  EXPECT_EQ(latch.stats().waiting_consumers, 1u);
  latch.count_down();
  EXPECT_TRUE(latch.is_open());
  EXPECT_TRUE(waiter.get());
}

TEST(Latch, StaysOpen) {
  Latch latch{{.count = 0}};
  EXPECT_TRUE(latch.wait());
  EXPECT_TRUE(latch.wait({.deadline = TimePoint::min()}));
}

TEST(Latch, CountingBelowZeroIsABrokenContract) {
  Latch latch{{.count = 2}};
  EXPECT_THROW(latch.count_down(3), std::invalid_argument);
  EXPECT_EQ(latch.count(), 2u);
}

TEST(Latch, ArriveAndWaitCountsAndMeetsTheOthers) {
  Latch latch{{.count = 2}};
  auto other = std::async(std::launch::async, [&] { return latch.arrive_and_wait(); });
  EXPECT_TRUE(latch.arrive_and_wait());
  EXPECT_TRUE(other.get());
}

TEST(Latch, AWaitTimesOutOrIsStopped) {
  ManualClock clock;
  Latch latch{{.count = 1, .name = "loaded"}};
  std::stop_source stop;
  auto late = wait_elsewhere(latch, {.deadline = within(1s)});
  auto stopped = wait_elsewhere(latch, {.stop = stop.get_token()});
  eventually([&] { return latch.stats().waiting_consumers == 2 && clock.waiting() == 1; });
  EXPECT_EQ(waits()[0].name, "loaded");
  clock.advance(1s);
  stop.request_stop();
  EXPECT_EQ(late.get(), Result(std::unexpected(Refusal::timed_out)));
  EXPECT_EQ(stopped.get(), Result(std::unexpected(Refusal::stopped)));
  latch.count_down();
  EXPECT_EQ(latch.wait({.stop = stop.get_token()}), Result(std::unexpected(Refusal::stopped)));
}

TEST(Latch, MayBeDestroyedByAWaiterThatWasLetThrough) {
  for (int i = 0; i < 300; ++i) {
    auto latch = std::make_unique<Latch>(LatchOptions{.count = 1});
    std::jthread other([&counted = *latch] { counted.count_down(); });
    EXPECT_TRUE(latch->wait());
    latch.reset();
  }
}

}  // namespace
}  // namespace handoff
