// handoff dead: what has failed for good, by kind and reason.
#include "cli/commands.hpp"
#include "cli/people.hpp"
#include "cli/session.hpp"
#include "cli/table.hpp"
#include "server/api/task_json.hpp"

namespace handoff::cli {

namespace {

Exit dead(Session& session, const std::string& queue) {
  const auto groups = session.open().dead(queue);
  if (session.is_json) {
    for (const auto& each : groups) session.out.json_text(server::to_json_text(each));
    return Exit::ok;
  }
  Table table({"COUNT", "QUEUE", "KIND", "LATEST", "EXAMPLE", "REASON"});
  for (const auto& each : groups) {
    table.add({each.count,
               each.queue,
               each.kind,
               when(each.latest),
               each.example.to_string(),
               {each.reason, Colour::red}});
  }
  if (table.is_empty()) {
    session.say("no task is dead");
  } else {
    table.print(session.out);
  }
  return Exit::ok;
}

}  // namespace

void add_dead(Command& program) {
  auto queue = std::make_shared<std::string>();
  Command& command =
      program.add("dead", "Dead tasks by kind and reason, the most frequent first.", "Tasks");
  command.option("-q,--queue NAME", *queue, "Only of that queue");
  command.example("handoff dead", "what goes wrong, and how often");
  command.example("handoff dead --queue email && handoff retry --all --queue email",
                  "look, repair, and run them again");
  command.runs([queue](Session& session) { return dead(session, *queue); }, JsonOutput::lines);
}

}  // namespace handoff::cli
