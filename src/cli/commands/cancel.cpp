// handoff cancel: tasks that are not finished, also while they run.
#include "cli/bulk.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"

namespace handoff::cli {

namespace {

struct Options {
  BulkOptions which;
  std::string reason;
};

Exit cancel(Session& session, const Options& options) {
  using enum tasks::TaskState;
  const tasks::Tasks tasks = session.open();
  return change_tasks(
      session, tasks, options.which,
      {.states = {waiting, scheduled, ready, running},
       .one = [&](const tasks::TaskId& id) { return tasks.cancel(id, options.reason); },
       .all =
           [&](const tasks::BulkFilter& filter) {
             return tasks.cancel_all(filter, options.reason);
           },
       .verb = "Cancel"});
}

}  // namespace

void add_cancel(Command& program) {
  auto options = std::make_shared<Options>();
  Command& command =
      program.add("cancel", "Cancel tasks that are not finished, also while they run.", "Tasks");
  options->which.declare(command, "waiting, scheduled, ready and running");
  command.flag("-y,--yes", options->which.is_agreed, "With --all, of all queues: do not ask");
  command.option("--reason TEXT", options->reason, "Why; kept with the task");
  command.example("handoff cancel 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c --reason 'sent twice'",
                  "if it runs, its handler is asked to stop");
  command.example("handoff cancel --all --queue import --dry-run", "how many that would be");
  command.runs([options](Session& session) { return cancel(session, *options); },
               JsonOutput::lines);
}

}  // namespace handoff::cli
