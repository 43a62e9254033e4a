// Tasks that a command is to change: some by their ids, or all that a filter means.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "handoff/tasks/tasks.hpp"

namespace handoff::cli {

struct BulkOptions {
  std::vector<tasks::TaskId> ids;
  bool is_all = false;
  bool is_dry_run = false;
  bool is_agreed = false;
  tasks::BulkFilter filter;
  std::optional<tasks::TaskState> state;

  void declare(Command& command, std::string states);
};

struct BulkChange {
  std::vector<tasks::TaskState> states;  // Which --all means, if none is named.
  std::function<std::expected<tasks::TaskState, tasks::TaskError>(const tasks::TaskId& id)> one;
  std::function<std::expected<std::int64_t, tasks::TaskError>(const tasks::BulkFilter& filter)> all;
  // "Cancel": what somebody is asked before it happens to the tasks of all queues. Empty: nobody is asked.
  std::string verb{};
};

// Prints the ids that were changed, or with --all how many. An id that cannot be changed does not keep the others from it: the exit code is that of the first such.
Exit change_tasks(Session& session, const tasks::Tasks& tasks, const BulkOptions& options,
                  const BulkChange& change);

}  // namespace handoff::cli
