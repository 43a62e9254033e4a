// handoff ls: tasks as a table, newest first.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

// What is worth a look, in one column.
std::string remark_on(const tasks::Task& task) {
  if (!task.reason.empty()) return task.reason;
  if (task.state == tasks::TaskState::scheduled) return when(task.run_at);
  if (task.state == tasks::TaskState::running) {
    return fmt::format("{:.0f}% {}", task.progress * 100, task.note);
  }
  if (task.state == tasks::TaskState::done) return one_line(task.result.value_or(""));
  return one_line(task.payload);
}

Cell state_cell(tasks::TaskState state) { return {to_string(state), colour_of(state)}; }

void print_table(Session& session, const std::vector<tasks::Task>& tasks) {
  Table table({"ID", "QUEUE", "KIND", "STATE", "ATTEMPT", "AGE", ""});
  for (const tasks::Task& each : tasks) {
    table.add({each.id.to_string(), each.queue, each.kind, state_cell(each.state),
               fmt::format("{}/{}", each.attempt, each.max_attempts), age_of(each.created_at),
               remark_on(each)});
  }
  if (!table.is_empty()) table.print(session.out);
}

Exit list(Session& session, const tasks::ListOptions& options) {
  const auto page = or_fail(session.open().list(options));
  if (session.is_json) {
    for (const tasks::Task& each : page.tasks) session.out.json_text(server::to_json_text(each));
  } else {
    print_table(session, page.tasks);
  }
  if (page.tasks.empty()) session.say("there are no such tasks");
  if (!page.next_cursor.empty()) {
    session.say("there are more: --cursor {} goes on", page.next_cursor);
  }
  return Exit::ok;
}

}  // namespace

void add_ls(Command& program) {
  auto options = std::make_shared<tasks::ListOptions>();
  Command& command = program.add("ls", "List tasks, the newest first.", "Tasks");
  command.option("-q,--queue NAME", options->queue, "Only of that queue");
  command.option("-k,--kind KIND", options->kind, "Only of that kind");
  command.option("-s,--state STATE", options->state,
                 "scheduled, waiting, ready, running, done, dead or cancelled");
  command.option("--group NAME", options->group, "Only of that group");
  command.option("-n,--limit N", options->limit, "How many at most, 1 to 1000; 100 otherwise");
  command.option("--cursor CURSOR", options->cursor, "Go on where an earlier list ended");
  command.example("handoff ls --queue email --state dead", "what has failed for good");
  command.example("handoff ls --json | jq -r .id", "one JSON document a line, for other programs");
  command.runs([options](Session& session) { return list(session, *options); }, JsonOutput::lines);
}

}  // namespace handoff::cli
