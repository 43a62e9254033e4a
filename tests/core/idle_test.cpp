// Idle waiters must cost nothing: no polling, no periodic wake-ups.
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/await_sleep.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

// How often the kernel has put this thread to sleep at its own request, or has taken it off its core.
long context_switches(pid_t thread) {
  std::ifstream status(fmt::format("/proc/self/task/{}/status", thread));
  long total = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.find("ctxt_switches:") == std::string::npos) continue;
    total += std::stol(line.substr(line.find(':') + 1));
  }
  return total;
}

class IdleConsumers {
 public:
  explicit IdleConsumers(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        {
          std::lock_guard lock(mutex_);
          ids_.push_back(gettid());
        }
        // The deadline is far: it must not make anybody get up to look at the clock.
        EXPECT_EQ(queue_.take({.deadline = within(1h)}), std::unexpected(Refusal::closed));
      });
    }
    testing::eventually([&] { return queue_.stats().waiting_consumers == count; });
  }
  ~IdleConsumers() { queue_.close(); }

  std::vector<long> context_switches_of_each() {
    std::lock_guard lock(mutex_);
    std::vector<long> all;
    std::ranges::transform(ids_, std::back_inserter(all), context_switches);
    return all;
  }

 private:
  BlockingQueue<int> queue_{{.capacity = 8}};
  std::mutex mutex_;
  std::vector<pid_t> ids_;
  std::vector<std::jthread> threads_;
};

TEST(Idle, SixtyFourWaitingConsumersNeverGetUpWhileNothingHappens) {
  IdleConsumers consumers(64);
  BlockingQueue<int> pause{{.capacity = 1}};
  // They are on the list, but the last ones may still be on their way to sleep.
  testing::eventually([&] {
    tests::await_sleep();  // One that gets no core does not switch either.
    const auto before = consumers.context_switches_of_each();
    static_cast<void>(pause.poll(50ms));
    return consumers.context_switches_of_each() == before;
  });
  const auto before = consumers.context_switches_of_each();
  static_cast<void>(pause.poll(500ms));
  EXPECT_EQ(consumers.context_switches_of_each(), before);
}

}  // namespace
}  // namespace handoff
