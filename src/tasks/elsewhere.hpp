// What a store does in a way of its own if it is on another machine: there, waiting and changing many tasks is done, and here is only asked for it.
#pragma once

#include <cstdint>
#include <expected>
#include <string_view>

#include "handoff/tasks/error.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class Elsewhere {
 public:
  virtual ~Elsewhere() = default;

  // Until it has ended. `timed_out`, `stopped` or `not_found` otherwise.
  virtual std::expected<Task, TaskError> wait_for_task(const TaskId& id, const Wait& limits) = 0;
  virtual std::expected<WorkflowLook, TaskError> wait_for_workflow(const WorkflowId& id,
                                                                   const Wait& limits) = 0;
  // All that the filter means. Returns how many.
  virtual std::expected<std::int64_t, TaskError> retry_all(const BulkFilter& filter) = 0;
  virtual std::expected<std::int64_t, TaskError> cancel_all(const BulkFilter& filter,
                                                            std::string_view reason) = 0;
  virtual std::expected<std::int64_t, TaskError> count(const BulkFilter& filter) = 0;
  // From its return on, Listeners are told what happens to tasks. It returns without that if the server cannot be reached now: then they are told once it can.
  virtual void listen() = 0;
  // That worker takes what there is now, and waits for nothing.
  virtual void wait_for_nothing(std::int64_t worker) = 0;
  // That worker takes no more; what was claimed for it and it has not got is given back.
  virtual void end_claims(std::int64_t worker) = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
