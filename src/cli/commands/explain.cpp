// handoff explain: why a task is not running.
#include "cli/commands.hpp"
#include "cli/session.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

Exit explain(Session& session, const tasks::TaskId& id) {
  const auto explanation = or_fail(session.open().explain(id));
  if (session.is_json) {
    session.out.json_text(server::to_json_text(id, explanation));
    return Exit::ok;
  }
  session.out.line("{}: {}", session.out.paint(Colour::bold, to_string(explanation.code)),
                   shown(explanation.message));
  return Exit::ok;
}

}  // namespace

void add_explain(Command& program) {
  auto id = std::make_shared<tasks::TaskId>();
  Command& command = program.add("explain", "Say why a task is not running.", "Tasks");
  command.argument("ID", *id, "The task");
  command.example("handoff explain 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c",
                  "no_worker: nobody takes tasks of queue \"email\"");
  command.runs([id](Session& session) { return explain(session, *id); });
}

}  // namespace handoff::cli
