// Tasks that come again and again.
//
//   tasks.schedule({.name = "nightly-report", .cron = "0 3 * * *", .timezone = "Europe/Berlin",
//                   .task = {.queue = "reports", .kind = "Nightly"}});
//
// Each occurrence makes one task, however many processes have the store open, and whoever dies meanwhile: the task and the time of the next occurrence are
// stored together. To say the same once more, at every start of a program, changes nothing; another `cron` or `timezone` counts from now on.
//
// An occurrence is missed if nobody was there within a minute of its time, or its queue was full.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "handoff/tasks/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

enum class Missed : std::uint8_t {
  skip,  // It is left out.
  once,  // However many were missed, one task is made for them, as soon as possible.
  all,   // Each makes its task: up to 1000, the latest.
};

struct Schedule {
  std::string name;              // 1 to 64 of [A-Za-z0-9._-].
  std::string cron;              // See cron.hpp. Also "@daily", "@every 90s".
  std::string timezone = "UTC";  // As in /usr/share/zoneinfo.
  // What each occurrence makes; its run_at is the time of the occurrence. With a unique_key there is no second one while the first is not finished.
  NewTask task;
  Missed missed = Missed::once;
};

struct ScheduleLook {
  Schedule schedule;
  bool is_paused = false;
  std::optional<Time> next_at;  // Nothing: never again.
  std::optional<Time> last_at;
  std::optional<TaskId> last_task;
  std::string last_error;  // Why the last occurrence made none.
};

std::string_view to_string(Missed missed);
std::optional<Missed> parse_missed(std::string_view text);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
