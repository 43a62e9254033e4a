// handoff schedule: tasks that come again and again.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "cli/task_options.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

struct PutOptions {
  std::string name;
  std::string cron;
  std::string timezone = "UTC";
  tasks::Missed missed = tasks::Missed::once;
  TaskOptions task;
};

Exit put(Session& session, const PutOptions& options) {
  const tasks::Schedule wanted{.name = options.name,
                               .cron = options.cron,
                               .timezone = options.timezone,
                               .task = options.task.task(),
                               .missed = options.missed};
  const auto made = session.open(StoreUse::hand_in).schedule(wanted);
  if (!made) throw failure_of(named_as_option(made.error()));
  if (session.is_json) {
    session.out.json_text(server::to_json_text(*made));
  } else {
    session.say("{} is due {}", options.name, made->next_at ? when(made->next_at) : "never again");
  }
  return Exit::ok;
}

Exit list(Session& session) {
  const auto schedules = session.open().schedules();
  Table table({"NAME", "CRON", "TIMEZONE", "QUEUE", "KIND", "NEXT", "LAST", ""});
  for (const auto& each : schedules) {
    if (session.is_json) session.out.json_text(server::to_json_text(each));
    table.add({each.schedule.name, each.schedule.cron, each.schedule.timezone,
               each.schedule.task.queue, each.schedule.task.kind, when(each.next_at),
               when(each.last_at), each.is_paused ? "paused" : each.last_error});
  }
  if (session.is_json) return Exit::ok;
  if (table.is_empty()) {
    session.say("there are no schedules; `handoff schedule put` makes one");
  } else {
    table.print(session.out);
  }
  return Exit::ok;
}

Failure no_such_schedule(std::string_view name) {
  return Failure(
      Exit::not_found,
      fmt::format("there is no schedule \"{}\"; `handoff schedule ls` lists them", name));
}

void print(Output& out, const tasks::ScheduleLook& look) {
  const auto line = [&](std::string_view name, std::string_view value) {
    if (!value.empty())
      out.line("{}  {}", out.paint(Colour::dim, fmt::format("{:<10}", name)), shown(value));
  };
  line("name", look.schedule.name);
  line("cron", look.schedule.cron);
  line("timezone", look.schedule.timezone);
  line("missed", to_string(look.schedule.missed));
  line("queue", look.schedule.task.queue);
  line("kind", look.schedule.task.kind);
  line("payload", one_line(look.schedule.task.payload));
  line("paused", look.is_paused ? "yes" : "no");
  line("next", when(look.next_at));
  line("last", when(look.last_at));
  line("last task", look.last_task ? look.last_task->to_string() : "");
  line("last error", look.last_error);
}

Exit show(Session& session, const std::string& name) {
  const auto look = session.open().schedule(std::string_view(name));
  if (!look) throw no_such_schedule(name);
  if (session.is_json) {
    session.out.json_text(server::to_json_text(*look));
  } else {
    print(session.out, *look);
  }
  return Exit::ok;
}

using Change = std::expected<void, tasks::TaskError> (tasks::Tasks::*)(std::string_view) const;

struct ChangedJson {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(ChangedJson, (), (name))

Exit change(Session& session, const std::string& name, Change what, std::string_view done) {
  const auto changed = (session.open().*what)(name);
  if (!changed && changed.error().code == tasks::TaskError::Code::not_found) {
    throw no_such_schedule(name);
  }
  or_fail(changed);
  if (session.is_json) {
    session.out.json(ChangedJson{name});
  } else {
    session.say("{} is {}", name, done);
  }
  return Exit::ok;
}

// -- Declaring ------------------------------------------------------------------------------------

void add_put(Command& schedule) {
  auto options = std::make_shared<PutOptions>();
  Command& command = schedule.add("put", "Make a schedule, or change the one of that name.");
  command.argument("NAME", options->name, "How it is called");
  command.argument("CRON", options->cron, "'0 3 * * *', @daily, '@every 90s'");
  options->task.declare_recurring(command);
  command.option("--timezone ZONE", options->timezone, "Europe/Berlin, for example; UTC otherwise");
  command.option("--missed POLICY", options->missed,
                 "If nobody was there in time: skip, once or all; once otherwise");
  command.example(
      "handoff schedule put nightly '0 3 * * *' report --queue reports --timezone Europe/Berlin",
      "a task of kind report every night at three");
  command.runs([options](Session& session) { return put(session, *options); });
}

void add_named(Command& schedule, const std::string& name, const std::string& about,
               std::function<Exit(Session&, const std::string&)> run) {
  auto which = std::make_shared<std::string>();
  Command& command = schedule.add(name, about);
  command.argument("NAME", *which, "The schedule");
  command.example("handoff schedule " + name + " nightly", "by its name");
  command.runs([which, run = std::move(run)](Session& session) { return run(session, *which); });
}

void add_change(Command& schedule, const std::string& name, const std::string& about, Change what,
                const std::string& done) {
  add_named(schedule, name, about, [what, done](Session& session, const std::string& which) {
    return change(session, which, what, done);
  });
}

}  // namespace

void add_schedule(Command& program) {
  Command& schedule =
      program.add("schedule", "Tasks that come again and again.", "Schedules and workflows");
  add_put(schedule);
  Command& ls = schedule.add("ls", "All of them, and when each is due next.");
  ls.example("handoff schedule ls", "a table");
  ls.runs([](Session& session) { return list(session); }, JsonOutput::lines);
  add_named(schedule, "show", "One of them.", show);
  add_change(schedule, "rm", "Remove one; tasks it has made stay.", &tasks::Tasks::unschedule,
             "removed");
  add_change(schedule, "pause", "Make no tasks of it until it is resumed.",
             &tasks::Tasks::pause_schedule, "paused");
  add_change(schedule, "resume", "Go on with it.", &tasks::Tasks::resume_schedule, "resumed");
  schedule.example("handoff schedule put hourly @hourly sync", "each has a --help of its own");
}

}  // namespace handoff::cli
