// The end of a task or a workflow that somebody has waited for.
#pragma once

#include <string>

#include "cli/exit_code.hpp"
#include "handoff/tasks/task.hpp"

namespace handoff::cli {

struct Session;

// done is 0; dead and cancelled are 1.
Exit exit_code_of_end(tasks::TaskState state);
// Its result, or why there is none; all of it with --json.
Exit report_end(Session& session, const tasks::Task& task);

}  // namespace handoff::cli
