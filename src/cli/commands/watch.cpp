// handoff watch: follows one task until it has ended.
#include <chrono>

#include "cli/commands.hpp"
#include "cli/finished.hpp"
#include "cli/follow.hpp"
#include "cli/people.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

using namespace std::chrono_literals;

std::string picture_of(const tasks::Task& task) {
  std::string text = fmt::format("{:<9}", to_string(task.state));
  if (task.state == tasks::TaskState::running) {
    text += fmt::format(" {} {:>3.0f}%", bar(task.progress, 30), task.progress * 100);
  }
  if (task.attempt > 1) text += fmt::format("  attempt {} of {}", task.attempt, task.max_attempts);
  return text + (task.note.empty() ? "" : "  " + shown(task.note));
}

// With --json each change is a document; the last is the end.
class Watching {
 public:
  explicit Watching(Session& session) : session_(session), line_(session.talk) {}
  void show(const tasks::Task& task) {
    if (!session_.is_json) return line_.show(picture_of(task));
    const std::string json = server::to_json_text(task);
    if (json == last_) return;
    session_.out.json_text(json);
    session_.out.flush();
    last_ = json;
  }

 private:
  Session& session_;
  FollowLine line_;
  std::string last_;
};

Exit watch(Session& session, const tasks::TaskId& id) {
  const tasks::Tasks tasks = session.open();
  tasks::Task last;
  {
    Watching watching(session);
    do {
      const auto task = tasks.get(id);
      if (!task) throw no_such_task(id);
      last = *task;
      watching.show(last);
      // Its end is heard of at once; what it says meanwhile is looked at from time to time.
    } while (!is_finished(last.state) && (static_cast<void>(tasks.wait(id, 200ms)), true));
  }
  if (session.is_json) return exit_code_of_end(last.state);
  return report_end(session, last);
}

}  // namespace

void add_watch(Command& program) {
  auto id = std::make_shared<tasks::TaskId>();
  Command& command =
      program.add("watch", "Follow one task, with its progress, until it has ended.", "Tasks");
  command.argument("ID", *id, "The task");
  command.note(
      "Prints the result of a task that is done; the exit status is 1 if it is dead or cancelled.");
  command.example("handoff watch 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c",
                  "a progress bar, then the result");
  command.example("handoff watch $id --json", "a line for each change");
  command.runs([id](Session& session) { return watch(session, *id); }, JsonOutput::lines);
}

}  // namespace handoff::cli
