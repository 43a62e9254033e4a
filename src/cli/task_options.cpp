#include "cli/task_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/failure.hpp"
#include "cli/input.hpp"
#include "handoff/tasks/json.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

void TaskOptions::declare(Command& command) {
  declare_common(command);
  command.option("--delay TIME", wanted.delay, "Not before so long from now: 30s, 5m, 2h, 1d");
  command.option("--run-at TIME", wanted.run_at, "Not before then: 2026-12-01T09:00:00Z");
  command.option("--id UUID", wanted.id, "Chosen by you: handing it in again makes no second task");
  command.option("--after ID", wanted.after,
                 "Runs when that one is done; may be given several times");
  command.option("--trace TRACEPARENT", wanted.trace, "A W3C traceparent");
}

void TaskOptions::declare_recurring(Command& command) { declare_common(command); }

void TaskOptions::declare_common(Command& command) {
  command.argument("KIND", kind, "Which handler runs it");
  command.argument("PAYLOAD", payload, "JSON; @file reads a file, - standard input; null otherwise",
                   Need::optional);
  command.option("-q,--queue NAME", wanted.queue, "Where it waits; \"default\" otherwise");
  command.option("--priority N", wanted.priority, "-100 to 100, the higher go first");
  command.option("--max-attempts N", wanted.max_attempts, "1 to 1000; otherwise as the queue says");
  command.option("--timeout TIME", wanted.timeout, "How long one attempt may take");
  command.option("--unique-key KEY", wanted.unique_key,
                 "While one of that key is not finished, there is no second one");
  command.option("--unique-for TIME", wanted.unique_for, "And for so long after it has finished");
  command.option("--expires-in TIME", wanted.expires_in, "Not begun by then: cancelled");
  command.option("--group NAME", wanted.group, "Groups of a queue have their turns, and limits");
  command.option("--notify URL", wanted.notify_url, "POSTed to by a server once it has ended");
}

tasks::NewTask TaskOptions::task() const {
  tasks::NewTask task = wanted;
  task.kind = kind;
  const std::string text = text_or_content(payload);
  const auto json = tasks::Json::parse(text);
  if (!json) {
    throw Failure(
        Exit::usage,
        fmt::format("PAYLOAD must be JSON, got {}: {}; a text needs its quotes: '\"text\"'",
                    tasks::quoted(text), json.error().to_string()));
  }
  task.payload = json->text();
  return task;
}

tasks::TaskError named_as_option(tasks::TaskError error) {
  // A queue that is full is no mistake in --queue, though the message begins with that word.
  if (error.code != tasks::TaskError::Code::bad_request) return error;
  if (error.field.empty() || !error.message.starts_with(error.field)) return error;
  std::string name = "--" + error.field;
  std::ranges::replace(name, '_', '-');
  if (error.field == "kind") name = "KIND";
  if (error.field == "payload") name = "PAYLOAD";
  if (error.field == "notify_url" || error.field == "notify.url") name = "--notify";
  error.message.replace(0, error.field.size(), name);
  return error;
}

}  // namespace handoff::cli
