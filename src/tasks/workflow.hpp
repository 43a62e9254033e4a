// From what a user has built to what a store takes.
#pragma once

#include <expected>

#include "handoff/tasks/workflow.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// Names, circles and each task are checked; the steps come in an order in which they can be stored.
std::expected<NewWorkflow, TaskError> prepare(const Workflow& workflow, Time now);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
