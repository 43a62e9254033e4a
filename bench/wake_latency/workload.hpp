// How long does a parked consumer need to run once an item is there?
//
// The item is the time at which its put began; the consumer subtracts it from the time at which take returned.
// Between two items the producer sleeps long enough for the consumer to be parked again, a random time, so that
// no contender can fall into step with it.
#pragma once

#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/percentile.hpp"
#include "../support/queues/contender.hpp"
#include "../support/report_errors.hpp"
#include "../support/start_line.hpp"

namespace bench {

struct Pauses {
  std::chrono::microseconds shortest{300};
  std::chrono::microseconds longest{1000};
};

inline std::uint64_t nanoseconds_now() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds{now}.count());
}

// Sends items for `duration`; returns how many.
template <ContenderQueue Queue>
std::size_t send_paced(Queue& queue, const std::atomic<std::size_t>& received, Pauses pauses,
                       std::chrono::milliseconds duration) {
  std::minstd_rand random{1};
  std::uniform_int_distribution<std::int64_t> pause{pauses.shortest.count(),
                                                    pauses.longest.count()};
  const auto deadline = std::chrono::steady_clock::now() + duration;
  std::size_t sent = 0;
  while (true) {
    do {
      std::this_thread::sleep_for(std::chrono::microseconds{pause(random)});
    } while (received.load() != sent);
    if (std::chrono::steady_clock::now() >= deadline) return sent;
    queue.put(nanoseconds_now());
    ++sent;
  }
}

template <ContenderQueue Queue>
std::vector<std::uint64_t> measure_wakes(Pauses pauses, std::chrono::milliseconds duration) {
  Queue queue{1024};
  StartLine start_line{1};
  std::vector<std::uint64_t> latencies;
  std::atomic<std::size_t> received = 0;
  latencies.reserve(static_cast<std::size_t>(duration / pauses.shortest) + 1);
  {
    const std::jthread consumer{[&] {
      start_line.wait();
      while (const auto put_began = queue.take()) {
        latencies.push_back(nanoseconds_now() - *put_began);
        received.store(latencies.size());
      }
    }};
    start_line.gather();
    start_line.release();
    send_paced(queue, received, pauses, duration);
    queue.finish(1);
  }
  return latencies;
}

template <ContenderQueue Queue>
int wake_latency(int argc, char** argv, Pauses pauses = {}) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::chrono::milliseconds duration{arguments.number("milliseconds", 1000)};
    std::vector<std::uint64_t> latencies = measure_wakes<Queue>(pauses, duration);
    if (latencies.empty()) throw std::runtime_error("no item was sent in the given time");
    JsonLine line{Queue::version()};
    line.add("items", latencies.size());
    line.add("latency_us_p50", static_cast<double>(percentile(latencies, 50)) * 1e-3);
    line.add("latency_us_p99", static_cast<double>(percentile(latencies, 99)) * 1e-3);
    line.print();
  });
}

}  // namespace bench
