// Requests that wait for the end of a task, or of a workflow.
#pragma once

#include <stop_token>

#include "handoff/lazy.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/wait.hpp"
#include "server/api/context.hpp"

namespace handoff::server {

// Returns when it is finished, is not there, or the time is up; or if there is hurry.
Lazy<> wait_for_end(ApiContext& api, tasks::TaskId id, Deadline deadline, std::stop_token hurry);
Lazy<> wait_for_workflow(ApiContext& api, tasks::TaskId id, Deadline deadline,
                         std::stop_token hurry);

}  // namespace handoff::server
