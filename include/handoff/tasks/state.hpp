// Where a task is in its life. Every legal change is in docs/task-lifecycle.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

enum class TaskState : std::uint8_t {
  scheduled,  // Its time is ahead.
  waiting,    // For others, which must be done first.
  ready,      // To be run by the next worker that is free.
  running,    // A worker has it, and holds its lease.
  done,
  dead,  // Its attempts are used up, or it failed for good.
  cancelled,
};
inline constexpr std::size_t task_states = 7;

constexpr bool is_finished(TaskState state) { return state >= TaskState::done; }

std::string_view to_string(TaskState state);
std::optional<TaskState> parse_state(std::string_view text);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
