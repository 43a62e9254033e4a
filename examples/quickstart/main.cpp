// One thread hands work to another through a bounded queue.
#include <fmt/core.h>

#include <handoff/queue.hpp>
#include <thread>

struct Order {
  int id;
};

int main() {
  int shipped = 0;

  handoff::BlockingQueue<Order> orders{{.capacity = 100, .name = "orders"}};
  std::jthread consumer([&] {
    while (auto order = orders.take()) ++shipped;  // Waits for the next one; ends after close().
  });
  for (int id = 1; id <= 1'000; ++id) {
    if (!orders.put({id})) break;  // Waits while 100 are queued; refused only after close().
  }
  orders.close();  // No more orders. What is queued is still shipped.
  consumer.join();

  fmt::print("{} orders shipped\n", shipped);
  return shipped == 1'000 ? 0 : 1;
}
