// handoff pause, resume and purge: what is done to a whole queue.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/queue_json.hpp"
#include "cli/session.hpp"

namespace handoff::cli {

namespace {

struct PurgeOptions {
  std::string queue;
  std::optional<tasks::TaskState> state;
  bool is_agreed = false;
};

struct PurgedJson {
  std::int64_t count = 0;
};
BOOST_DESCRIBE_STRUCT(PurgedJson, (), (count))

using Change = std::expected<void, tasks::TaskError> (tasks::Tasks::*)(std::string_view) const;

Exit change(Session& session, const std::string& queue, Change what, std::string_view now) {
  const tasks::Tasks tasks = session.open();
  or_fail((tasks.*what)(queue));
  if (session.is_json) {
    session.out.json_text(to_json_text(tasks.queue(queue)));
  } else {
    session.say("queue {} is {}", queue, now);
  }
  return Exit::ok;
}

Exit purge(Session& session, const PurgeOptions& options) {
  if (!options.state) {
    throw Failure(Exit::usage,
                  "--state is required: which ones are to be forgotten, dead for example?");
  }
  const tasks::Tasks tasks = session.open();
  const auto there = or_fail(tasks.count({.queue = options.queue, .state = *options.state}));
  confirm(session, options.is_agreed,
          fmt::format("Forget {} {} tasks of queue {}?", for_people(there),
                      to_string(*options.state), shown(options.queue)));
  const PurgedJson purged{or_fail(tasks.purge(options.queue, *options.state))};
  if (session.is_json) {
    session.out.json(purged);
  } else {
    session.out.line("{}", purged.count);
  }
  return Exit::ok;
}

void add_change(Command& program, const std::string& name, const std::string& about, Change what,
                const std::string& now) {
  auto queue = std::make_shared<std::string>();
  Command& command = program.add(name, about, "Queues");
  command.argument("QUEUE", *queue, "Which one");
  command.example("handoff " + name + " email", "its tasks are handed in as before");
  command.runs([queue, what, now](Session& session) { return change(session, *queue, what, now); });
}

}  // namespace

void add_pause(Command& program) {
  add_change(program, "pause", "Begin no more tasks of a queue; those that run go on.",
             &tasks::Tasks::pause, "paused");
}

void add_resume(Command& program) {
  add_change(program, "resume", "Begin tasks of a paused queue again.", &tasks::Tasks::resume,
             "resumed");
}

void add_purge(Command& program) {
  auto options = std::make_shared<PurgeOptions>();
  Command& command = program.add("purge", "Forget all tasks of a queue in one state.", "Queues");
  command.argument("QUEUE", options->queue, "Which one");
  command.option("-s,--state STATE", options->state,
                 "scheduled, waiting, ready, done, dead or cancelled");
  command.flag("-y,--yes", options->is_agreed, "Do not ask");
  command.note("Asks on a terminal; elsewhere --yes is required. Prints how many were forgotten.");
  command.example("handoff purge email --state dead", "after a question");
  command.example("handoff purge email --state done --yes", "for scripts");
  command.runs([options](Session& session) { return purge(session, *options); });
}

}  // namespace handoff::cli
