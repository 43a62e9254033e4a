// The code of docs/guide/testing.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <optional>

#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::Refusal;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

struct Order {
  int id = 0;
};

TEST(TestingGuide, AFullQueueMakesTheProducerWait) {
  handoff::BlockingQueue<Order> orders{{.capacity = 1}};
  ASSERT_TRUE(orders.put({1}));

  auto second = std::async(std::launch::async, [&] { return orders.put({2}); });
  eventually([&] { return orders.stats().waiting_producers == 1; });

  EXPECT_EQ(orders.take()->id, 1);
  EXPECT_TRUE(second.get());
}

TEST(TestingGuide, APollGivesUpAfterAMinute) {
  ManualClock clock;
  handoff::BlockingQueue<Order> orders{{.capacity = 1}};

  auto answer = std::async(std::launch::async, [&] { return orders.poll(1min); });
  eventually([&] { return clock.waiting() == 1; });  // It waits, and its deadline is known.

  clock.advance(59s);
  EXPECT_EQ(orders.stats().waiting_consumers, 1U);

  clock.advance(1s);
  EXPECT_EQ(answer.get().error(), Refusal::timed_out);
}

}  // namespace
