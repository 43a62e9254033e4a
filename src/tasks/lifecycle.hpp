// Every legal change of a task's state, in one table. docs/task-lifecycle.md shows the same, and a test compares them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "handoff/tasks/state.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

enum class Happening : std::uint8_t {
  due,              // Its time has come.
  freed,            // The last of those it waited for is done.
  claimed,          // A worker took it.
  succeeded,        // Its handler returned.
  failed,           // Its handler threw, and there are attempts left: it is tried again later.
  exhausted,        // The same, and none are left.
  failed_for_good,  // Its handler said so.
  deferred,         // Not now, said its handler. Costs no attempt.
  released,         // Its worker gave it back, as it shuts down. Costs no attempt.
  crashed,          // Its worker died with it, or did not extend its lease. Costs no attempt.
  quarantined,      // The same, for the last time.
  cancelled,        // By somebody, or by its handler.
  expired,          // It was not started in time.
  abandoned,        // One it waited for will never be done.
  replayed,         // Somebody wants it run again.
  revived,          // The same, and it waits for others that are run again.
  freed_early,      // The last of those it waited for is done, and its own time is ahead.
};
inline constexpr std::size_t happenings = 17;

struct Transition {
  TaskState from;
  Happening what;
  TaskState to;
};

std::span<const Transition> all_transitions();
// Nothing if that cannot happen to a task in that state.
std::optional<TaskState> after(TaskState from, Happening what);
// Whether anything brings a task from the one to the other.
bool is_legal(TaskState from, TaskState to);
std::string_view to_string(Happening what);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
