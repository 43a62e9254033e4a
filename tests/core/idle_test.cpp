// Idle waiters must cost nothing: no polling, no periodic wake-ups.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <future>
#include <thread>
#include <vector>

#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

long times_asleep() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

TEST(Idle, SixtyFourConsumersSleepOnceEachWhileNothingHappens) {
  BlockingQueue<int> queue{{.capacity = 8}};
  std::vector<std::future<long>> sleeps;
  for (int i = 0; i < 64; ++i) {
    sleeps.push_back(std::async(std::launch::async, [&] {
      // The deadline is far: it must not make anybody get up to look at the clock.
      const auto before = times_asleep();
      EXPECT_EQ(queue.take({.deadline = within(1h)}), std::unexpected(Refusal::closed));
      return times_asleep() - before;
    }));
  }
  testing::eventually([&] { return queue.stats().waiting_consumers == 64; });
  BlockingQueue<int> pause{{.capacity = 1}};
  static_cast<void>(pause.poll(500ms));
  queue.close();
  // One sleep, and a few more at most for the short locks on the way in and out.
  for (auto& each : sleeps) EXPECT_LE(each.get(), 8);
}

}  // namespace
}  // namespace handoff
