// One stop_token for all the waits of a task, one after the other.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <expected>
#include <future>
#include <stop_token>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/queue.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using Taken = std::expected<int, Refusal>;

int add(const Taken& one, const Taken& other) { return one.value_or(-1) + other.value_or(-100); }

// What the first of them waited with lives on until the whole expression is done.
Lazy<int> take_two(BlockingQueue<int>& queue) {
  co_return add(co_await queue.async_take(), co_await queue.async_take());
}

TEST(TaskStop, TwoWaitsOfOneExpression) {
  BlockingQueue<int> queue{{.capacity = 2}};
  std::stop_source stop;
  std::jthread producer([&] {
    for (int item : {20, 20}) {
      eventually([&] { return queue.stats().waiting_consumers == 1; });
      ASSERT_TRUE(queue.put(std::move(item)));
    }
  });
  EXPECT_EQ(sync_wait(take_two(queue), stop.get_token()), 40);
}

TEST(TaskStop, EndsTheLaterWaitOfOneExpression) {
  BlockingQueue<int> queue{{.capacity = 2}};
  std::stop_source stop;
  std::jthread producer([&] {
    eventually([&] { return queue.stats().waiting_consumers == 1; });
    ASSERT_TRUE(queue.put(20));
    eventually([&] { return queue.stats().consumer_waits == 2; });
    stop.request_stop();
  });
  const int sum = sync_wait(take_two(queue), stop.get_token());
  EXPECT_TRUE(sum == 20 - 100 || sum == 20 - 1) << sum;  // Either may be evaluated first.
  EXPECT_EQ(queue.stats().waiting_consumers, 0u);
}

Lazy<Refusal> take_until_refused(BlockingQueue<int>& queue, std::size_t& taken) {
  while (true) {
    // In turn with a timer of its own, and without.
    auto item = taken % 2 == 0 ? co_await queue.async_take() : co_await queue.async_poll(1h);
    if (!item) {
      // From now on each says so at once.
      auto again = co_await queue.async_take();
      EXPECT_EQ(again, std::unexpected(item.error()));
      co_return item.error();
    }
    ++taken;
  }
}

TEST(TaskStop, AtAnyMomentLosesNothing) {
  for (std::size_t round = 0; round < 400; ++round) {
    BlockingQueue<int> queue{{.capacity = 100}};
    std::stop_source stop;
    std::size_t taken = 0;
    std::size_t put = 0;
    auto taking = std::async(std::launch::async, [&] {
      return sync_wait(take_until_refused(queue, taken), stop.get_token());
    });
    std::jthread stopper([&] {
      while (queue.stats().puts < round % 40) std::this_thread::yield();
      stop.request_stop();
    });
    for (; put < 40; ++put) ASSERT_TRUE(queue.put(static_cast<int>(put)));
    EXPECT_EQ(taking.get(), Refusal::stopped);
    EXPECT_EQ(taken + queue.size(), put);
  }
}

// The stop comes while the task runs, between two waits.
Lazy<Refusal> stop_itself(Event& never, std::stop_source& stop) {
  Event open;
  open.set();
  EXPECT_TRUE(co_await open.async_wait());
  stop.request_stop();
  co_return (co_await never.async_wait()).error();
}

TEST(TaskStop, ByTheTaskItself) {
  Event never;
  std::stop_source stop;
  EXPECT_EQ(sync_wait(stop_itself(never, stop), stop.get_token()), Refusal::stopped);
}

}  // namespace
}  // namespace handoff
