// How many tasks a second go from end to end, when one thread enqueues and another works at the same time, both `--batch` at a time?
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <thread>

#include "../support/arguments.hpp"
#include "../support/report_errors.hpp"
#include "../support/tasks/disk_folder.hpp"
#include "../support/tasks/task_rate.hpp"

namespace bench {

// Contender contender{folder, batch};
// contender.produce(100'000);      by one thread
// contender.consume(100'000);      by another, at the same time, until all are done; returns how many that were
template <typename Contender>
concept SteadyContender = std::constructible_from<Contender, const DiskFolder&, std::uint64_t> &&
                          requires(Contender contender, std::uint64_t tasks) {
                            contender.produce(tasks);
                            { contender.consume(tasks) } -> std::same_as<std::uint64_t>;
                            { Contender::version() } -> std::convertible_to<std::string>;
                          };

// A contender that takes minutes for as many gets a part of them.
template <SteadyContender Contender>
int tasks_steady(int argc, char** argv, std::uint64_t part = 1) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t batch = arguments.number("batch", 100);
    const std::uint64_t tasks = arguments.number("tasks", 100'000) / part / batch * batch;
    const DiskFolder folder;
    Contender contender{folder, batch};
    TaskStopwatch stopwatch;
    std::jthread producer{[&] { contender.produce(tasks); }};
    const std::uint64_t done = contender.consume(tasks);
    stopwatch.stop();
    producer.join();
    check_tasks(tasks, done);
    stopwatch.print(Contender::version(), tasks);
  });
}

}  // namespace bench
