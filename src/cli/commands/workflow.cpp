// handoff workflow: steps that depend on each other.
#include <algorithm>
#include <chrono>

#include "cli/commands.hpp"
#include "cli/finished.hpp"
#include "cli/follow.hpp"
#include "cli/input.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "cli/workflow_file.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

using namespace std::chrono_literals;

struct StartOptions {
  std::string file = "-";
  bool waits = false;
};

struct ListOptions {
  int limit = 100;
  std::string cursor;
};

struct StartedJson {
  tasks::TaskId id;
  std::map<std::string, tasks::TaskId> tasks;
  bool duplicate = false;
};
BOOST_DESCRIBE_STRUCT(StartedJson, (), (id, tasks, duplicate))

struct CountJson {
  int count = 0;
};
BOOST_DESCRIBE_STRUCT(CountJson, (), (count))

Failure no_such_workflow(const tasks::WorkflowId& id) {
  return Failure(Exit::not_found,
                 fmt::format("there is no workflow {}; `handoff workflow ls` lists them", id));
}

tasks::WorkflowLook look_at(const tasks::Tasks& tasks, const tasks::WorkflowId& id) {
  auto look = tasks.workflow(id);
  if (!look) throw no_such_workflow(id);
  return *std::move(look);
}

// -- One of them ----------------------------------------------------------------------------------

void print(Output& out, const tasks::WorkflowLook& look) {
  out.line("{}  {}  {}", look.id, shown(look.name),
           out.paint(colour_of(look.state), to_string(look.state)));
  Table table({"STEP", "STATE", "TASK", "QUEUE", "KIND", "AFTER", ""});
  for (const auto& each : look.steps) {
    table.add({each.name,
               {to_string(each.state), colour_of(each.state)},
               each.task.to_string(),
               each.queue,
               each.kind,
               fmt::to_string(fmt::join(each.after, " ")),
               each.reason.empty() ? one_line(each.result.value_or("")) : each.reason});
  }
  table.print(out);
}

Exit show(Session& session, const tasks::WorkflowId& id) {
  const auto look = look_at(session.open(), id);
  if (session.is_json) {
    session.out.json_text(server::to_json_text(look));
  } else {
    print(session.out, look);
  }
  return Exit::ok;
}

std::string picture_of(const tasks::WorkflowLook& look) {
  const auto all = look.steps.size();
  const auto ended = static_cast<std::size_t>(
      std::ranges::count_if(look.steps, [](const auto& step) { return is_finished(step.state); }));
  std::vector<std::string> running;
  for (const auto& each : look.steps) {
    if (each.state == tasks::TaskState::running) running.push_back(each.name);
  }
  const double part = all == 0 ? 1.0 : static_cast<double>(ended) / static_cast<double>(all);
  return fmt::format("{} {} of {} steps  {}", bar(part, 30), ended, all,
                     shown(fmt::to_string(fmt::join(running, ", "))));
}

Exit follow(Session& session, const tasks::Tasks& tasks, const tasks::WorkflowId& id) {
  {
    FollowLine line(session.talk);
    for (auto look = look_at(tasks, id); !is_finished(look.state); look = look_at(tasks, id)) {
      line.show(picture_of(look));
      static_cast<void>(tasks.wait_workflow(id, 200ms));
    }
  }
  const auto last = look_at(tasks, id);
  if (session.is_json) {
    session.out.json_text(server::to_json_text(last));
  } else {
    print(session.out, last);
  }
  return exit_code_of_end(last.state);
}

Exit cancel(Session& session, const tasks::WorkflowId& id) {
  const tasks::Tasks tasks = session.open();
  or_fail(tasks.cancel_workflow(id));
  if (session.is_json) session.out.json_text(server::to_json_text(look_at(tasks, id)));
  return Exit::ok;
}

Exit retry(Session& session, const tasks::WorkflowId& id) {
  const CountJson retried{or_fail(session.open().retry_workflow(id))};
  if (session.is_json) {
    session.out.json(retried);
  } else {
    session.out.line("{}", retried.count);
  }
  return Exit::ok;
}

// -- Starting and listing -------------------------------------------------------------------------

Exit start(Session& session, const StartOptions& options) {
  const tasks::Workflow workflow = read_workflow(Input(options.file).all());
  const tasks::Tasks tasks = session.open(StoreUse::hand_in);
  const auto started = or_fail(tasks.start(workflow));
  if (started.is_duplicate) session.say("it was started before");
  if (options.waits) return follow(session, tasks, started.id);
  if (session.is_json) {
    session.out.json(StartedJson{started.id, started.tasks, started.is_duplicate});
  } else {
    session.out.line("{}", started.id);
  }
  return Exit::ok;
}

Exit list(Session& session, const ListOptions& options) {
  const auto page = or_fail(session.open().workflows(options.limit, options.cursor));
  Table table({"ID", "NAME", "STATE", "UNFINISHED", "AGE"});
  for (const auto& each : page.workflows) {
    if (session.is_json) session.out.json_text(server::to_json_text(each));
    table.add({each.id.to_string(),
               each.name,
               {to_string(each.state), colour_of(each.state)},
               each.unfinished,
               age_of(each.created_at)});
  }
  if (!session.is_json && !table.is_empty()) table.print(session.out);
  if (table.is_empty()) session.say("there are no workflows");
  if (!page.next_cursor.empty())
    session.say("there are more: --cursor {} goes on", page.next_cursor);
  return Exit::ok;
}

// -- Declaring ------------------------------------------------------------------------------------

void add_start(Command& workflow) {
  auto options = std::make_shared<StartOptions>();
  Command& command = workflow.add("start", "Start one: all of its steps are stored, or none.");
  command.argument("FILE", options->file,
                   "JSON as POST /v1/workflows takes it; - or nothing: standard input",
                   Need::optional);
  command.flag("--wait", options->waits, "Until all steps have ended; the exit status says how");
  command.example("handoff workflow start checkout.json", "prints its id");
  command.example(
      R"(echo '{"steps":[{"name":"a","task":{"queue":"q","kind":"k"}}]}' | handoff workflow start --wait)",
      "one step, and how it ends");
  command.runs([options](Session& session) { return start(session, *options); });
}

void add_list(Command& workflow) {
  auto options = std::make_shared<ListOptions>();
  Command& command = workflow.add("ls", "All of them, the newest first.");
  command.option("-n,--limit N", options->limit, "How many at most, 1 to 1000; 100 otherwise");
  command.option("--cursor CURSOR", options->cursor, "Go on where an earlier list ended");
  command.example("handoff workflow ls", "a table");
  command.runs([options](Session& session) { return list(session, *options); }, JsonOutput::lines);
}

void add_with_id(Command& workflow, const std::string& name, const std::string& about,
                 std::function<Exit(Session&, const tasks::WorkflowId&)> run) {
  auto id = std::make_shared<tasks::WorkflowId>();
  Command& command = workflow.add(name, about);
  command.argument("ID", *id, "The workflow");
  command.example("handoff workflow " + name + " 018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c",
                  "by its id");
  command.runs([id, run = std::move(run)](Session& session) { return run(session, *id); });
}

}  // namespace

void add_workflow(Command& program) {
  Command& workflow =
      program.add("workflow", "Steps that depend on each other.", "Schedules and workflows");
  add_start(workflow);
  add_list(workflow);
  add_with_id(workflow, "show", "One of them, with its steps.", show);
  add_with_id(workflow, "watch", "Follow one until all steps have ended; the exit status says how.",
              [](Session& session, const tasks::WorkflowId& id) {
                return follow(session, session.open(), id);
              });
  add_with_id(workflow, "cancel", "Cancel whatever of it has not ended.", cancel);
  add_with_id(workflow, "retry", "Run its dead and cancelled steps once more; prints how many.",
              retry);
  workflow.example("handoff workflow start checkout.json --wait", "each has a --help of its own");
}

}  // namespace handoff::cli
