// How many tasks a second are claimed and completed, `--batch` at a time, of those that are in the queue already?
#pragma once

#include <concepts>
#include <cstdint>
#include <string>

#include "../support/arguments.hpp"
#include "../support/report_errors.hpp"
#include "../support/tasks/disk_folder.hpp"
#include "../support/tasks/task_rate.hpp"

namespace bench {

// Contender contender{folder, batch};
// contender.fill(100'000);
// contender.process(100'000);      until all are done; returns how many that were
template <typename Contender>
concept ProcessContender = std::constructible_from<Contender, const DiskFolder&, std::uint64_t> &&
                           requires(Contender contender, std::uint64_t tasks) {
                             contender.fill(tasks);
                             { contender.process(tasks) } -> std::same_as<std::uint64_t>;
                             { Contender::version() } -> std::convertible_to<std::string>;
                           };

// A contender that takes minutes for as many gets a part of them.
template <ProcessContender Contender>
int tasks_process(int argc, char** argv, std::uint64_t part = 1) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t batch = arguments.number("batch", 100);
    const std::uint64_t tasks = arguments.number("tasks", 100'000) / part;
    const DiskFolder folder;
    Contender contender{folder, batch};
    contender.fill(tasks);
    TaskStopwatch stopwatch;
    const std::uint64_t done = contender.process(tasks);
    stopwatch.stop();
    check_tasks(tasks, done);
    stopwatch.print(Contender::version(), tasks);
  });
}

}  // namespace bench
