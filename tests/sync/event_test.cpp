#include "handoff/event.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <future>
#include <memory>
#include <stop_token>
#include <thread>
#include <vector>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using Result = std::expected<void, Refusal>;

std::future<Result> wait_elsewhere(Event& event, Wait wait = {}) {
  return std::async(std::launch::async, [&event, wait] { return event.wait(wait); });
}

TEST(Event, LetsThroughAllWhoWaitAndAllWhoComeLater) {
  Event event;
  std::vector<std::future<Result>> waiters;
  for (int i = 0; i < 6; ++i) waiters.push_back(wait_elsewhere(event));
  eventually([&] { return event.stats().waiting_consumers == 6; });
  event.set();
  for (auto& each : waiters) EXPECT_TRUE(each.get());
  EXPECT_TRUE(event.is_set());
  EXPECT_TRUE(event.wait());
}

TEST(Event, HoldsBackThoseWhoComeAfterAReset) {
  ManualClock clock;
  Event event{{.is_set = true}};
  event.reset();
  EXPECT_FALSE(event.is_set());
  auto late = wait_elsewhere(event, {.deadline = within(1s)});
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(late.get(), Result(std::unexpected(Refusal::timed_out)));
}

TEST(Event, ASetReachesThoseWhoWaitEvenIfAResetFollowsAtOnce) {
  for (int i = 0; i < 100; ++i) {
    Event event;
    auto waiter = wait_elsewhere(event);
    eventually([&] { return event.stats().waiting_consumers == 1; });
    event.set();
    event.reset();
    EXPECT_TRUE(waiter.get());
  }
}

TEST(Event, AStopEndsAWait) {
  Event event;
  std::stop_source stop;
  auto waiter = wait_elsewhere(event, {.stop = stop.get_token()});
  eventually([&] { return event.stats().waiting_consumers == 1; });
  stop.request_stop();
  EXPECT_EQ(waiter.get(), Result(std::unexpected(Refusal::stopped)));
}

TEST(Event, MayBeDestroyedByAWaiterThatWasLetThrough) {
  for (int i = 0; i < 300; ++i) {
    auto event = std::make_unique<Event>();
    std::jthread other([&shared = *event] { shared.set(); });
    EXPECT_TRUE(event->wait());
    event.reset();
  }
}

}  // namespace
}  // namespace handoff
