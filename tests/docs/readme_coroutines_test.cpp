// The coroutines of README.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <string>

#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/when.hpp"

namespace {

using namespace std::chrono_literals;

struct Order {
  int id = 0;
};

std::atomic<int> printed = 0;

handoff::Lazy<std::string> print_label(Order order) {
  ++printed;
  co_return std::to_string(order.id);
}

handoff::Lazy<> ship_all(handoff::BlockingQueue<Order>& orders) {
  while (auto order = co_await orders.async_take()) {  // No thread waits here.
    auto label = co_await handoff::with_timeout(2s, print_label(*order));
    if (!label) co_return;  // Out of time, or asked to stop: nothing is lost.
  }
}

void ship(handoff::WorkerPool& pool, handoff::BlockingQueue<Order>& orders) {
  handoff::Scope scope{{.name = "shipping"}};  // Nothing spawned outlives it.
  for (int i = 0; i < 1'000; ++i) {
    if (!scope.spawn(pool, ship_all(orders))) break;
  }
  scope.join();  // Waits for all. The first error has stopped the others, and is thrown here.
}

TEST(Readme, WaitWithoutAThread) {
  handoff::BlockingQueue<Order> orders{{.capacity = 100}};
  handoff::WorkerPool pool{{.workers = 2, .capacity = 100}};
  std::jthread producer([&] {
    for (int id = 0; id < 500; ++id) EXPECT_TRUE(orders.put({id}));
    orders.close();
  });
  ship(pool, orders);
  EXPECT_EQ(printed, 500);
}

}  // namespace
