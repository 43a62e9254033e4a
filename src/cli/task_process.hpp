// One task as one process: its payload goes in, how it ends is what becomes of the task.
//
//   exit 0       done; standard output is the result
//   exit 75      not now: deferred, which costs no attempt
//   otherwise    failed, with the last lines of standard error: tried again if attempts are left
//
// The program gets SIGTERM when the task is cancelled, takes too long or the worker shuts down, and SIGKILL after `grace`. One that exits with 0
// although it was asked to go is done.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "handoff/process_pool.hpp"
#include "handoff/tasks/handler.hpp"

namespace handoff::cli {

struct TaskProgram {
  std::vector<std::string> arguments;
  std::string store;                      // HANDOFF_STORE for the program.
  std::chrono::milliseconds defer_for{};  // After exit 75.
  std::chrono::milliseconds grace{};      // From SIGTERM to SIGKILL.
};

inline constexpr int exit_to_defer = 75;

// Returns once the process and all that it started are gone. Throws std::runtime_error if it failed.
tasks::Finish run_as_process(ProcessPool& processes, const TaskProgram& program,
                             const tasks::Json& payload, tasks::Context& context);

// Standard output as the result of a task: JSON as it is, nothing as null, all else as a JSON string.
tasks::Json result_of(std::string_view output);
// The end of what it said, for people: so many lines at most.
std::string last_lines(std::string_view text, std::size_t most = 10);

}  // namespace handoff::cli
