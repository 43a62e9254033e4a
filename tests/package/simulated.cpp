// A program that uses the simulator, in the way its users do.
#include <cstdio>
#include <handoff/queue.hpp>
#include <handoff/testing/simulate.hpp>
#include <handoff/thread.hpp>

int main() {
  const auto done = handoff::testing::simulate({.runs = 100}, [] {
    handoff::BlockingQueue<int> orders{{.capacity = 1, .name = "orders"}};
    handoff::Thread producer(
        [&] { handoff::testing::check(orders.put(1).has_value(), "refused"); });
    handoff::testing::check(orders.take() == 1, "lost");
  });
  std::printf("%llu schedules\n", static_cast<unsigned long long>(done.runs));
  return done.runs == 100 ? 0 : 1;
}
