// What do consumers cost that have nothing to do?
//
// All consumers wait on an empty queue. After a moment to settle, the CPU time of the whole process is read twice,
// `--milliseconds` apart.
#pragma once

#include <chrono>
#include <thread>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/process_usage.hpp"
#include "../support/queues/contender.hpp"
#include "../support/report_errors.hpp"
#include "../support/start_line.hpp"

namespace bench {

template <ContenderQueue Queue>
ProcessUsage cost_of_idling(std::size_t consumer_count, std::chrono::milliseconds duration) {
  constexpr std::chrono::milliseconds time_to_settle{200};
  Queue queue{1024};
  StartLine start_line{consumer_count};
  std::vector<std::jthread> consumers;
  for (std::size_t i = 0; i < consumer_count; ++i) {
    consumers.emplace_back([&queue, &start_line] {
      start_line.wait();
      while (queue.take()) {
      }
    });
  }
  start_line.gather();
  start_line.release();
  std::this_thread::sleep_for(time_to_settle);

  const ProcessUsage before = ProcessUsage::now();
  std::this_thread::sleep_for(duration);
  const ProcessUsage usage = ProcessUsage::now() - before;
  queue.finish(consumer_count);
  return usage;
}

template <ContenderQueue Queue>
int idle_cpu(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::size_t consumers = arguments.number("consumers", 64);
    const std::chrono::milliseconds duration{arguments.number("milliseconds", 5000)};
    const ProcessUsage usage = cost_of_idling<Queue>(consumers, duration);
    const double seconds = std::chrono::duration<double>(duration).count();
    JsonLine line{Queue::version()};
    line.add("seconds", seconds);
    line.add("cpu_ms_per_second", usage.cpu_seconds * 1e3 / seconds);
    line.add("context_switches_per_second", static_cast<double>(usage.context_switches) / seconds);
    line.print();
  });
}

}  // namespace bench
