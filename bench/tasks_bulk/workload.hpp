// How many tasks a second does one thread store, `--batch` at a time?
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
// contender.enqueue_batch();          returns once they are on the disk
template <typename Contender>
concept BulkContender = std::constructible_from<Contender, const DiskFolder&, std::uint64_t> &&
                        requires(Contender contender) {
                          contender.enqueue_batch();
                          { Contender::version() } -> std::convertible_to<std::string>;
                        };

template <BulkContender Contender>
int tasks_bulk(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t batch = arguments.number("batch", 100);
    const std::uint64_t tasks = arguments.number("tasks", 200'000) / batch * batch;
    const DiskFolder folder;
    Contender contender{folder, batch};
    TaskStopwatch stopwatch;
    for (std::uint64_t done = 0; done < tasks; done += batch) contender.enqueue_batch();
    stopwatch.stop();
    stopwatch.print(Contender::version(), tasks);
  });
}

}  // namespace bench
