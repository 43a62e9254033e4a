// A task on the command line: of `enqueue`, and of `schedule put`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "handoff/tasks/error.hpp"
#include "handoff/tasks/task.hpp"

namespace handoff::cli {

struct TaskOptions {
  std::string kind;
  std::string payload = "null";
  tasks::NewTask wanted;

  // KIND, PAYLOAD and an option for each field.
  void declare(Command& command);
  // Those that make sense for a task that comes again and again.
  void declare_recurring(Command& command);
  // With its payload read. Throws Failure.
  tasks::NewTask task() const;

 private:
  void declare_common(Command& command);
};

// The same error with the option in place of the field: "--max-attempts must be ...".
tasks::TaskError named_as_option(tasks::TaskError error);

}  // namespace handoff::cli
