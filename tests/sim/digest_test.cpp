// The same seed is the same run in every process and with every compiler: tools/test has two programs write their digests, and compares.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "handoff/channel.hpp"
#include "handoff/delay_queue.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/monitor.hpp"
#include "handoff/pool.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/select.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::pct;
using testing::simulate;

template <typename Queue>
void at_a_queue() {
  Queue queue{{.capacity = 1, .name = "queue"}};
  Thread producer([&] {
    for (int i = 0; i < 3; ++i) static_cast<void>(queue.put(int{i}, {.deadline = within(1ms)}));
    queue.close();
  });
  Thread other([&] { static_cast<void>(queue.take({.stop = testing::sudden_stop()})); });
  while (queue.take()) {
  }
}

void at_locks() {
  auto mutex = std::make_unique<Mutex>();
  auto shared = std::make_unique<SharedMutex>();
  Semaphore permits{{.permits = 1}};
  const auto work = [&] {
    static_cast<void>(mutex->hold());
    const std::shared_lock lock(*shared);
    static_cast<void>(permits.hold());
  };
  Thread one(work);
  Thread two(work);
  const std::unique_lock lock(*shared);
}

void at_channels() {
  const auto left = std::make_unique<Channel<int>>(ChannelOptions{.name = "left"});
  const auto right = std::make_unique<Channel<int>>(ChannelOptions{.capacity = 1, .name = "right"});
  Thread sender([&] {
    for (int i = 0; i < 3; ++i) {
      static_cast<void>(select(right->on_send(1, [] {}), left->on_send(2, [] {})));
    }
  });
  for (int i = 0; i < 3; ++i) {
    static_cast<void>(
        select(left->on_receive([](int) {}), right->on_receive([](int) {}), after(1s, [] {})));
  }
  left->close();
  right->close();
}

Lazy<> pass_on(Channel<int>& from, Event& done) {
  while (auto item = co_await from.async_receive()) co_await yield();
  done.set();
}

void in_a_pool() {
  Channel<int> channel{{.capacity = 1, .name = "channel"}};
  Event done;
  WorkerPool pool{{.workers = 2, .capacity = 4, .name = "pool"}};
  Scope scope;
  static_cast<void>(scope.spawn(pool, pass_on(channel, done)));
  auto answer = pool.submit([] { return 1; });
  const auto timer = pool.after(1h, [] {});
  for (int i = 0; i < 2; ++i) static_cast<void>(channel.send(int{i}));
  channel.close();
  static_cast<void>(answer->get());
  static_cast<void>(done.wait());
  static_cast<void>(scope.join());
}

TEST(Digest, IsWritten) {
  const char* const path = std::getenv("HANDOFF_DIGESTS");
  std::ofstream file(path == nullptr ? "/dev/null" : path);
  const testing::Faults faults{.spurious_wake = 0.01,
                               .weak_failure = 0.05,
                               .slow_thread = 0.01,
                               .clock_jump = 0.1,
                               .refusal = 0.1};
  const auto write = [&](const char* what, void (*body)()) {
    const auto write_one = [&](const char* how, const testing::SimulateOptions& options) {
      const auto first = simulate(options, body);
      EXPECT_EQ(first.digest, simulate(options, body).digest) << what << ", " << how;
      file << what << ' ' << how << ' ' << first.steps << " steps " << first.digest << '\n';
    };
    write_one("random", {.runs = 60});
    write_one("pct", {.runs = 60, .strategy = pct(3)});
    write_one("exhaustive", {.runs = 60, .strategy = testing::exhaustive(1)});
    write_one("faults", {.runs = 60, .faults = faults});
  };
  write("BlockingQueue", at_a_queue<BlockingQueue<int>>);
  write("PriorityBlockingQueue", at_a_queue<PriorityBlockingQueue<int>>);
  write("locks", at_locks);
  write("channels", at_channels);
  write("pool", in_a_pool);
}

}  // namespace
}  // namespace handoff::tests
