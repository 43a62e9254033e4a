// handoff::tasks in a file, as a program opens it: each commit is synced.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "disk_folder.hpp"
#include "handoff/tasks/tasks.hpp"
#include "payload.hpp"

namespace bench {

inline handoff::tasks::NewTask new_task() {
  return {.queue = "mail", .kind = "welcome", .payload = task_payload};
}

// With room for all that a measurement enqueues.
inline handoff::tasks::Tasks open_tasks(const DiskFolder& folder) {
  auto tasks = handoff::tasks::open("sqlite:" + folder.file("tasks.db"));
  if (!tasks) throw std::runtime_error(tasks.error().message);
  handoff::tasks::QueueSettings settings;
  settings.capacity = 100'000'000;
  settings.capacity_bytes = std::int64_t{1} << 40;
  settings.keep_count = 100'000'000;
  if (auto done = tasks->configure("mail", settings); !done) {
    throw std::runtime_error(done.error().message);
  }
  return *tasks;
}

inline void enqueue_all(const handoff::tasks::Tasks& tasks,
                        const std::vector<handoff::tasks::NewTask>& all) {
  if (auto done = tasks.enqueue(all); !done) throw std::runtime_error(done.error().message);
}

// `count` tasks, a thousand at a time.
inline void fill(const handoff::tasks::Tasks& tasks, std::uint64_t count) {
  for (std::uint64_t left = count; left > 0;) {
    const std::uint64_t some = left < 1000 ? left : 1000;
    enqueue_all(tasks, std::vector<handoff::tasks::NewTask>(some, new_task()));
    left -= some;
  }
}

}  // namespace bench
