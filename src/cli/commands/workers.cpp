// handoff workers: who takes tasks, and what each runs.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

std::string queues_of(const tasks::WorkerLook& worker) {
  std::vector<std::string> all;
  for (const auto& each : worker.queues)
    all.push_back(fmt::format("{}:{}", each.name, each.concurrency));
  return fmt::to_string(fmt::join(all, " "));
}

std::string running_of(const tasks::WorkerLook& worker) {
  std::vector<std::string> all;
  for (const auto& each : worker.running) {
    all.push_back(fmt::format("{} {} ({})", each.kind, each.task, age_of(each.since)));
  }
  return fmt::to_string(fmt::join(all, ", "));
}

Exit workers(Session& session) {
  const auto all = session.open().workers();
  if (session.is_json) {
    for (const auto& each : all) session.out.json_text(server::to_json_text(each));
    return Exit::ok;
  }
  Table table({"NAME", "QUEUES", "KINDS", "UP", "SEEN", "RUNS", ""});
  for (const auto& each : all) {
    table.add({each.name, queues_of(each),
               each.kinds.empty() ? "any" : fmt::to_string(fmt::join(each.kinds, " ")),
               age_of(each.started_at), when(each.seen_at), each.running.size(), running_of(each)});
  }
  if (table.is_empty()) {
    session.say("nobody takes tasks; `handoff work --queue NAME -- PROGRAM` does");
  } else {
    table.print(session.out);
  }
  return Exit::ok;
}

}  // namespace

void add_workers(Command& program) {
  Command& command = program.add("workers", "Who takes tasks, and what each runs.", "Operating");
  command.example("handoff workers", "a table");
  command.example("handoff workers --json | jq '.running | length'", "how much each has in hand");
  command.runs([](Session& session) { return workers(session); }, JsonOutput::lines);
}

}  // namespace handoff::cli
