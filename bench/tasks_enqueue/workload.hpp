// How many tasks a second do `--threads` threads store, one by one, each synced before its call returns?
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/percentile.hpp"
#include "../support/report_errors.hpp"
#include "../support/start_line.hpp"
#include "../support/tasks/disk_folder.hpp"
#include "../support/tasks/task_rate.hpp"

namespace bench {

// Contender contender{folder};
// Contender::Caller caller{contender};   one a thread
// caller.enqueue();                      returns once it is on the disk
template <typename Contender>
concept EnqueueContender = std::constructible_from<Contender, const DiskFolder&> &&
                           std::constructible_from<typename Contender::Caller, Contender&> &&
                           requires(typename Contender::Caller caller) {
                             caller.enqueue();
                             { Contender::version() } -> std::convertible_to<std::string>;
                           };

// Microseconds of each call in the given time.
template <EnqueueContender Contender>
std::vector<double> enqueue_for(Contender& contender, std::chrono::milliseconds duration,
                                StartLine& start_line) {
  typename Contender::Caller caller{contender};
  std::vector<double> times;
  times.reserve(1 << 16);
  start_line.wait();
  auto began = std::chrono::steady_clock::now();
  const auto ends = began + duration;
  while (began < ends) {
    caller.enqueue();
    const auto ended = std::chrono::steady_clock::now();
    times.push_back(std::chrono::duration<double, std::micro>(ended - began).count());
    began = ended;
  }
  return times;
}

template <EnqueueContender Contender>
int tasks_enqueue(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t threads = arguments.number("threads", 1);
    const std::chrono::milliseconds duration{arguments.number("milliseconds", 1500)};
    const DiskFolder folder;
    Contender contender{folder};
    StartLine start_line{threads};
    std::vector<std::vector<double>> times(threads);
    std::vector<std::jthread> callers;
    for (std::uint64_t i = 0; i < threads; ++i) {
      callers.emplace_back([&, i] { times[i] = enqueue_for(contender, duration, start_line); });
    }
    start_line.gather();
    TaskStopwatch stopwatch;
    start_line.release();
    callers.clear();
    stopwatch.stop();
    std::vector<double> all;
    for (const auto& each : times) all.insert(all.end(), each.begin(), each.end());
    JsonLine line{Contender::version()};
    stopwatch.add_to(line, all.size());
    line.add("call_ms_p50", percentile(all, 50) * 1e-3);
    line.add("call_ms_p99", percentile(all, 99) * 1e-3);
    line.print();
  });
}

}  // namespace bench
