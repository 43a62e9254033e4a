// handoff retry: finished tasks, from the beginning.
#include "cli/bulk.hpp"
#include "cli/commands.hpp"
#include "cli/session.hpp"

namespace handoff::cli {

void add_retry(Command& program) {
  auto options = std::make_shared<BulkOptions>();
  Command& command = program.add("retry", "Run finished tasks once more.", "Tasks");
  options->declare(command, "dead");
  command.example("handoff retry 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c",
                  "from its first attempt on");
  command.example("handoff retry --all --queue email --kind welcome",
                  "all of them that are dead; prints how many");
  command.runs(
      [options](Session& session) {
        const tasks::Tasks tasks = session.open();
        return change_tasks(
            session, tasks, *options,
            {.states = {tasks::TaskState::dead},
             .one = [&](const tasks::TaskId& id) { return tasks.retry(id); },
             .all = [&](const tasks::BulkFilter& filter) { return tasks.retry_all(filter); }});
      },
      JsonOutput::lines);
}

}  // namespace handoff::cli
