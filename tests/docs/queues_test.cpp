// The code of docs/guide/queues.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/delay_queue.hpp"
#include "handoff/log.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace {

using namespace std::chrono_literals;

struct Order {
  int id = 0;
};
struct Reading {
  double celsius = 0;
};

TEST(QueuesGuide, TheProducerChoosesTheVerb) {
  const std::stop_token stop;
  Order order{1}, second{2}, third{3}, fourth{4};

  handoff::BlockingQueue<Order> orders{{.capacity = 1'000, .name = "orders"}};

  auto waited = orders.put(std::move(order));            // Waits while it is full.
  auto now = orders.offer(std::move(second));            // Never waits.
  auto in_time = orders.offer(std::move(third), 100ms);  // Waits for 100 ms at most.
  auto either = orders.put(std::move(fourth),            // Waits until a moment or a stop.
                           {.deadline = handoff::within(1s), .stop = stop});

  EXPECT_TRUE(waited && now && in_time && either);
}

TEST(QueuesGuide, ARefusedItemStaysWithItsOwner) {
  handoff::BlockingQueue<std::string> lines{{.capacity = 1}};
  ASSERT_TRUE(lines.offer("first"));
  std::string answer;

  std::string line = "second";
  if (auto added = lines.offer(std::move(line)); !added) {
    answer = std::string(to_string(added.error())) + ": " + line;  // "full: second"
  }

  EXPECT_EQ(answer, "full: second");
}

TEST(QueuesGuide, TheConsumerChoosesTheVerb) {
  handoff::BlockingQueue<Order> orders{{.capacity = 10}};
  ASSERT_TRUE(orders.put({1}) && orders.put({2}) && orders.put({3}) && orders.put({4}));

  auto next = orders.take();                                    // Waits for an item.
  auto now = orders.poll();                                     // Never waits.
  auto in_time = orders.poll(100ms);                            // Waits for 100 ms at most.
  auto until = orders.take({.deadline = handoff::within(1s)});  // Waits until that moment.

  EXPECT_TRUE(next && now && in_time && until);
  EXPECT_EQ(until->id, 4);
}

TEST(QueuesGuide, AConsumerLoopEndsByItself) {
  std::vector<int> shipped;
  const auto ship = [&](const Order& order) { shipped.push_back(order.id); };
  handoff::BlockingQueue<Order> orders{{.capacity = 10}};
  ASSERT_TRUE(orders.put({1}) && orders.put({2}));
  orders.close();

  for (Order& order : orders) ship(order);  // Ends when the queue is closed and drained.

  EXPECT_EQ(shipped, (std::vector{1, 2}));
}

TEST(QueuesGuide, RefusalsAreToldApart) {
  const std::stop_token stop;
  std::string told;
  handoff::BlockingQueue<Order> orders{{.capacity = 1}};
  ASSERT_TRUE(orders.offer({1}));
  Order order{2};

  const auto added = orders.offer(std::move(order));
  if (!added) {
    switch (added.error()) {
      case handoff::Refusal::full: told = "try again later"; break;
      case handoff::Refusal::closed: told = "we are shutting down"; break;
      default: told = to_string(added.error());
    }
  }

  EXPECT_EQ(told, "try again later");
}

TEST(QueuesGuide, PushDoesWhatThePolicySays) {
  auto before = handoff::set_log([](std::string_view) {});
  const auto store = [](const Reading&) {};

  handoff::BlockingQueue<Reading> readings{
      {.capacity = 2, .name = "readings", .when_full = handoff::WhenFull::drop_oldest},
      [&](Reading& dropped) { store(dropped); }};  // The hook is optional.

  readings.push({20.1});
  readings.push({20.3});
  readings.push({20.2});  // Makes room: 20.1 goes to the hook.

  EXPECT_EQ(readings.take()->celsius, 20.3);
  EXPECT_EQ(readings.stats().dropped, 1U);
  handoff::set_log(std::move(before));
}

TEST(QueuesGuide, ManyAtOnce) {
  int written = 0;
  const auto write = [&](const std::vector<std::string>& batch) {
    written += static_cast<int>(batch.size());
  };
  handoff::BlockingQueue<std::string> lines{{.capacity = 2}};
  std::vector<std::string> left;
  std::jthread writer([&] {
    while (auto batch = lines.take_some(100)) write(*batch);  // At least one, at most 100.
  });

  std::vector<std::string> batch = {"one", "two", "three"};
  const auto put = lines.put_all(batch, {.deadline = handoff::within(10s)});
  if (!put) left.assign(batch.begin() + static_cast<std::ptrdiff_t>(put.accepted), batch.end());

  EXPECT_TRUE(put);
  EXPECT_TRUE(left.empty());
  lines.close();
  writer.join();
  EXPECT_EQ(written, 3);
}

TEST(QueuesGuide, ClosingAndDraining) {
  handoff::BlockingQueue<Order> orders{{.capacity = 10}};
  ASSERT_TRUE(orders.put({1}));
  std::vector<Order> kept;
  const auto keep_for_later = [&](Order order) { kept.push_back(order); };

  orders.close();                                             // No more may come in.
  for (Order& order : orders.drain()) keep_for_later(order);  // What is left is ours again.

  EXPECT_EQ(kept.size(), 1U);
}

struct Job {
  int priority = 0;
  std::string what;
};

TEST(QueuesGuide, UrgentJobsComeFirst) {
  handoff::PriorityBlockingQueue<Job> jobs{{.capacity = 1'000, .name = "jobs"}, &Job::priority};

  ASSERT_TRUE(jobs.put({.priority = 1, .what = "newsletter"}));
  ASSERT_TRUE(jobs.put({.priority = 9, .what = "password reset"}));

  EXPECT_EQ(jobs.take()->what, "password reset");
}

TEST(QueuesGuide, AgeingKeepsTheOthersFromStarving) {
  handoff::testing::ManualClock clock;

  handoff::PriorityBlockingQueue<Job> jobs{{.capacity = 1'000, .ageing = 1s}, &Job::priority};

  ASSERT_TRUE(jobs.put({.priority = 1, .what = "newsletter"}));
  clock.advance(10s);
  ASSERT_TRUE(jobs.put({.priority = 9, .what = "password reset"}));
  EXPECT_EQ(jobs.take()->what, "newsletter");
}

TEST(QueuesGuide, DelayedItemsComeWhenTheyAreDue) {
  handoff::testing::ManualClock clock;

  handoff::DelayQueue<Order> retries{{.capacity = 10'000, .name = "retries"}};

  ASSERT_TRUE(retries.put({1}, handoff::due_in(30s)));
  ASSERT_TRUE(retries.put({2}, handoff::due_at(handoff::now() + 10s)));

  EXPECT_EQ(retries.poll().error(), handoff::Refusal::empty);
  clock.advance(10s);
  EXPECT_EQ(retries.take()->id, 2);
}

}  // namespace
