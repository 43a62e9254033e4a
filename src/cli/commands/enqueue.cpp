// handoff enqueue: hands in a task, and may wait for its end.
#include "cli/commands.hpp"
#include "cli/finished.hpp"
#include "cli/input.hpp"
#include "cli/session.hpp"
#include "cli/task_options.hpp"

namespace handoff::cli {

namespace {

struct Options {
  TaskOptions task;
  std::optional<std::string> wait;  // A time, or "forever".
};

struct EnqueuedJson {
  tasks::TaskId id;
  std::string state;
  bool duplicate = false;
};
BOOST_DESCRIBE_STRUCT(EnqueuedJson, (), (id, state, duplicate))

Deadline deadline_of(const std::string& wait) {
  if (wait == "forever") return {};
  std::chrono::milliseconds time{};
  if (const auto read = read_value(wait, time); !read) {
    throw Failure(Exit::usage, "--wait " + read.error());
  }
  return within(time);
}

// The result is what a script wants of a task that is waited for.
Exit wait_for(Session& session, const tasks::Tasks& tasks, const tasks::TaskId& id,
              Deadline deadline) {
  session.say("waiting for {}", id);
  const tasks::Task task = or_fail(tasks.wait(id, {.deadline = deadline, .stop = {}}));
  return report_end(session, task);
}

Exit enqueue(Session& session, const Options& options) {
  const tasks::NewTask task = options.task.task();
  std::optional<Deadline> deadline;
  if (options.wait) deadline = deadline_of(*options.wait);
  const tasks::Tasks tasks = session.open(StoreUse::hand_in);
  const auto made = tasks.enqueue(task);
  if (!made) throw failure_of(named_as_option(made.error()));
  if (made->is_duplicate) session.say("there is one already, which is {}", to_string(made->state));
  if (deadline) return wait_for(session, tasks, made->id, *deadline);
  if (session.is_json) {
    session.out.json(
        EnqueuedJson{made->id, std::string(to_string(made->state)), made->is_duplicate});
  } else {
    session.out.line("{}", made->id);
  }
  return Exit::ok;
}

}  // namespace

void add_enqueue(Command& program) {
  auto options = std::make_shared<Options>();
  Command& command = program.add("enqueue", "Hand in a task.", "Tasks");
  options->task.declare(command);
  command.option_or("--wait [TIME]", options->wait, "forever",
                    "Until it has ended, or so long; prints its result");
  command.note(
      "Prints the id of the task; with --wait its result, and the exit status is 1 if it is dead "
      "or cancelled.");
  command.example("handoff enqueue welcome '{\"to\":\"new@example.org\"}' --queue email",
                  "a task of kind welcome; prints its id once it is stored");
  command.example("handoff enqueue report @month.json --delay 10m --unique-key report",
                  "a payload from a file, in ten minutes, and no second one meanwhile");
  command.example("date +%s | handoff enqueue sum - --wait 30s", "its result, if it comes in time");
  command.runs([options](Session& session) { return enqueue(session, *options); });
}

}  // namespace handoff::cli
