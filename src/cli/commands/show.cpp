// handoff show: all there is to know of one task.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "handoff/tasks/duration.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

class Sheet {
 public:
  explicit Sheet(Output& out) : out_(out) {}
  // Left out if it is empty.
  void field(std::string_view name, std::string_view value, Colour colour = Colour::plain) {
    if (value.empty()) return;
    out_.line("{}  {}", out_.paint(Colour::dim, fmt::format("{:<12}", name)),
              out_.paint(colour, shown(value)));
  }
  void field(std::string_view name, std::optional<tasks::Time> time) {
    if (time) field(name, fmt::format("{}  ({})", tasks::to_text(*time), when(time)));
  }

 private:
  Output& out_;
};

void print_life(Sheet& sheet, const tasks::Task& task) {
  sheet.field("created at", task.created_at);
  sheet.field("run at", task.run_at);
  sheet.field("started at", task.started_at);
  sheet.field("finished at", task.finished_at);
  sheet.field("worker", task.worker);
  if (task.progress > 0 || !task.note.empty()) {
    sheet.field("progress", fmt::format("{:.0f}%  {}", task.progress * 100, task.note));
  }
}

void print_relations(Sheet& sheet, const tasks::Task& task) {
  sheet.field("group", task.group);
  sheet.field("unique key", task.unique_key);
  sheet.field("trace", task.trace);
  for (const tasks::TaskId& each : task.after) sheet.field("after", each.to_string());
  if (task.workflow) sheet.field("workflow", fmt::format("{}, step {}", *task.workflow, task.step));
}

void print_task(Output& out, const tasks::Task& task) {
  Sheet sheet(out);
  sheet.field("id", task.id.to_string());
  sheet.field("queue", task.queue);
  sheet.field("kind", task.kind);
  sheet.field("state", to_string(task.state), colour_of(task.state));
  sheet.field("reason", task.reason);
  sheet.field("attempt", fmt::format("{} of {}", task.attempt, task.max_attempts));
  if (task.crashes > 0) sheet.field("crashes", fmt::format("{}", task.crashes));
  if (task.priority != 0) sheet.field("priority", fmt::format("{}", task.priority));
  if (task.timeout > Millis(0)) sheet.field("timeout", tasks::to_text(task.timeout));
  print_life(sheet, task);
  print_relations(sheet, task);
  sheet.field("payload", one_line(task.payload));
  sheet.field("result", one_line(task.result.value_or("")));
  sheet.field("undecoded", task.undecoded);
}

// Each of them may have several lines.
void print_lines(Output& out, std::string_view heading, tasks::Time at, std::string_view text) {
  out.line("  {}  {}", out.paint(Colour::dim, fmt::format("{} {}", heading, tasks::to_text(at))),
           shown_lines(text));
}

void print_history(Output& out, const tasks::Task& task, const std::vector<tasks::LogLine>& log) {
  if (!task.errors.empty()) out.line("\n{}", out.paint(Colour::bold, "errors"));
  for (const auto& each : task.errors) {
    print_lines(out, fmt::format("attempt {}", each.attempt), each.at, each.message);
  }
  if (!log.empty()) out.line("\n{}", out.paint(Colour::bold, "log"));
  for (const auto& each : log)
    print_lines(out, fmt::format("{:>4}", each.number), each.at, each.line);
}

// The task as the API has it, with its log.
std::string json_of(const tasks::Task& task, const std::vector<tasks::LogLine>& log) {
  std::vector<std::string> lines;
  for (const auto& each : log) lines.push_back(server::to_json_text(each));
  std::string json = server::to_json_text(task);
  json.pop_back();
  return json + fmt::format(",\"log\":[{}]}}", fmt::join(lines, ","));
}

Exit show(Session& session, const tasks::TaskId& id) {
  const tasks::Tasks tasks = session.open();
  const auto task = tasks.get(id);
  if (!task) throw no_such_task(id);
  const auto log = tasks.log(id);
  if (session.is_json) {
    session.out.json_text(json_of(*task, log));
  } else {
    print_task(session.out, *task);
    print_history(session.out, *task, log);
  }
  return Exit::ok;
}

}  // namespace

void add_show(Command& program) {
  auto id = std::make_shared<tasks::TaskId>();
  Command& command =
      program.add("show", "Show all of one task: its fields, errors and log.", "Tasks");
  command.argument("ID", *id, "The task");
  command.example("handoff show 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c", "everything about it");
  command.example("handoff show $id --json | jq .errors", "the same for other programs");
  command.runs([id](Session& session) { return show(session, *id); });
}

}  // namespace handoff::cli
