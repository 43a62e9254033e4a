#include "server/api/task_json.hpp"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "handoff/tasks/payload.hpp"
#include "server/api/duration_field.hpp"
#include "server/api/json_parts.hpp"

namespace handoff::server {

namespace {

using tasks::Json;
using tasks::TaskId;
using tasks::Time;

struct ProgressJson {
  double fraction = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(ProgressJson, (), (fraction, note))

struct ErrorJson {
  int attempt = 0;
  Time at;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(ErrorJson, (), (attempt, at, message))

struct NotifyJson {
  std::string url;
};
BOOST_DESCRIBE_STRUCT(NotifyJson, (), (url))

struct TaskJson {
  TaskId id;
  std::string queue;
  std::string kind;
  std::string state;
  int priority = 0;
  int attempt = 0;
  int max_attempts = 0;
  int crashes = 0;
  std::optional<DurationField> timeout;
  Time created_at;
  Time run_at;
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  ProgressJson progress;
  std::optional<std::string> reason;
  std::vector<ErrorJson> errors;
  std::optional<std::string> worker;
  std::optional<std::string> group;
  std::optional<std::string> unique_key;
  std::optional<std::string> trace;
  std::vector<TaskId> after;
  std::optional<TaskId> workflow;
  std::optional<std::string> step;
  std::optional<NotifyJson> notify;
  std::optional<std::string> undecoded;
};
BOOST_DESCRIBE_STRUCT(TaskJson, (),
                      (id, queue, kind, state, priority, attempt, max_attempts, crashes, timeout,
                       created_at, run_at, started_at, finished_at, progress, reason, errors,
                       worker, group, unique_key, trace, after, workflow, step, notify, undecoded))

struct ExplanationJson {
  TaskId id;
  std::string code;
  std::string message;
  std::optional<std::int64_t> position;
};
BOOST_DESCRIBE_STRUCT(ExplanationJson, (), (id, code, message, position))

struct StepJson {
  std::string name;
  TaskId task;
  std::string queue;
  std::string kind;
  std::string state;
  double progress = 0;
  std::optional<std::string> reason;
  std::vector<std::string> after;
};
BOOST_DESCRIBE_STRUCT(StepJson, (), (name, task, queue, kind, state, progress, reason, after))

struct WorkflowJson {
  TaskId id;
  std::string name;
  std::string state;
  Time created_at;
  std::optional<Time> finished_at;
  int unfinished = 0;
};
BOOST_DESCRIBE_STRUCT(WorkflowJson, (), (id, name, state, created_at, finished_at, unfinished))

struct ScheduledTaskJson {
  std::string queue;
  std::string kind;
  Json payload;
  int priority = 0;
  std::optional<int> max_attempts;
  std::optional<DurationField> timeout;
  std::optional<std::string> unique_key;
  std::optional<DurationField> unique_for;
  std::optional<DurationField> expires_in;
  std::optional<std::string> group;
  std::optional<NotifyJson> notify;
};
BOOST_DESCRIBE_STRUCT(ScheduledTaskJson, (),
                      (queue, kind, payload, priority, max_attempts, timeout, unique_key,
                       unique_for, expires_in, group, notify))

struct ScheduleJson {
  std::string name;
  std::string cron;
  std::string timezone;
  std::string missed;
  ScheduledTaskJson task;
  bool paused = false;
  std::optional<Time> next_at;
  std::optional<Time> last_at;
  std::optional<TaskId> last_task;
  std::optional<std::string> last_error;
};
BOOST_DESCRIBE_STRUCT(ScheduleJson, (),
                      (name, cron, timezone, missed, task, paused, next_at, last_at, last_task,
                       last_error))

struct WorkerQueueJson {
  std::string name;
  int concurrency = 0;
};
BOOST_DESCRIBE_STRUCT(WorkerQueueJson, (), (name, concurrency))

struct RunningJson {
  TaskId task;
  std::string queue;
  std::string kind;
  std::optional<Time> since;
};
BOOST_DESCRIBE_STRUCT(RunningJson, (), (task, queue, kind, since))

struct WorkerJson {
  std::string name;
  std::vector<WorkerQueueJson> queues;
  std::vector<std::string> kinds;
  Time started_at;
  Time seen_at;
  std::vector<RunningJson> running;
};
BOOST_DESCRIBE_STRUCT(WorkerJson, (), (name, queues, kinds, started_at, seen_at, running))

struct DeadGroupJson {
  std::string queue;
  std::string kind;
  std::string reason;
  std::int64_t count = 0;
  Time latest;
  TaskId example;
};
BOOST_DESCRIBE_STRUCT(DeadGroupJson, (), (queue, kind, reason, count, latest, example))

struct LineJson {
  std::int64_t number = 0;
  Time at;
  std::string line;
};
BOOST_DESCRIBE_STRUCT(LineJson, (), (number, at, line))

std::optional<std::string> if_any(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::optional<DurationField> if_any(std::chrono::milliseconds time) {
  return time == time.zero() ? std::nullopt : std::optional(DurationField{time});
}

std::optional<NotifyJson> notify_of(const std::string& url) {
  return url.empty() ? std::nullopt : std::optional(NotifyJson{.url = url});
}

// All of it is UTF-8 and not nested deeper than was checked when it came in; what a store of another version holds is shown as far as it can be.
template <typename T>
std::string text_of(const T& value) {
  auto json = tasks::to_json(value);
  return json ? std::move(*json).text() : R"({"error":"it cannot be shown as JSON"})";
}

std::string step_text(const tasks::StepLook& step) {
  JsonParts parts;
  if (step.result) parts.add("result", stored_json(*step.result).text());
  return std::move(parts).joined_to(StepJson{.name = step.name,
                                             .task = step.task,
                                             .queue = step.queue,
                                             .kind = step.kind,
                                             .state = std::string(to_string(step.state)),
                                             .progress = step.progress,
                                             .reason = if_any(step.reason),
                                             .after = step.after});
}

ScheduledTaskJson to_scheduled(const tasks::NewTask& task) {
  return {.queue = task.queue,
          .kind = task.kind,
          .payload = stored_json(task.payload),
          .priority = task.priority,
          .max_attempts = task.max_attempts > 0 ? std::optional(task.max_attempts) : std::nullopt,
          .timeout = if_any(task.timeout),
          .unique_key = if_any(task.unique_key),
          .unique_for = if_any(task.unique_for),
          .expires_in = if_any(task.expires_in),
          .group = if_any(task.group),
          .notify = notify_of(task.notify_url)};
}

}  // namespace

Json stored_json(const std::string& stored) {
  if (auto json = Json::parse(stored)) return *std::move(json);
  auto text = tasks::to_json(stored);
  return text ? *std::move(text) : Json();
}

std::string to_json_text(const tasks::Task& task, Payloads payloads) {
  TaskJson json{.id = task.id,
                .queue = task.queue,
                .kind = task.kind,
                .state = std::string(to_string(task.state)),
                .priority = task.priority,
                .attempt = task.attempt,
                .max_attempts = task.max_attempts,
                .crashes = task.crashes,
                .timeout = if_any(task.timeout),
                .created_at = task.created_at,
                .run_at = task.run_at,
                .started_at = task.started_at,
                .finished_at = task.finished_at,
                .progress = {.fraction = task.progress, .note = if_any(task.note)},
                .reason = if_any(task.reason),
                .errors = {},
                .worker = if_any(task.worker),
                .group = if_any(task.group),
                .unique_key = if_any(task.unique_key),
                .trace = if_any(task.trace),
                .after = task.after,
                .workflow = task.workflow,
                .step = if_any(task.step),
                .notify = notify_of(task.notify_url),
                .undecoded = if_any(task.undecoded)};
  for (const tasks::AttemptError& each : task.errors) {
    json.errors.push_back({.attempt = each.attempt, .at = each.at, .message = each.message});
  }
  JsonParts parts;
  if (payloads == Payloads::left_out) return std::move(parts).joined_to(json);
  parts.add("payload", stored_json(task.payload).text());
  if (task.result) parts.add("result", stored_json(*task.result).text());
  return std::move(parts).joined_to(json);
}

std::string to_json_text(const TaskId& id, const tasks::Explanation& explanation) {
  return text_of(ExplanationJson{.id = id,
                                 .code = std::string(to_string(explanation.code)),
                                 .message = explanation.message,
                                 .position = explanation.position});
}

std::string to_json_text(const tasks::WorkflowLook& workflow) {
  std::vector<std::string> steps;
  for (const tasks::StepLook& each : workflow.steps) steps.push_back(step_text(each));
  JsonParts parts;
  if (!steps.empty()) parts.add("steps", fmt::format("[{}]", fmt::join(steps, ",")));
  return std::move(parts).joined_to(WorkflowJson{.id = workflow.id,
                                                 .name = workflow.name,
                                                 .state = std::string(to_string(workflow.state)),
                                                 .created_at = workflow.created_at,
                                                 .finished_at = workflow.finished_at,
                                                 .unfinished = workflow.unfinished});
}

std::string to_json_text(const tasks::ScheduleLook& look) {
  return text_of(ScheduleJson{.name = look.schedule.name,
                              .cron = look.schedule.cron,
                              .timezone = look.schedule.timezone,
                              .missed = std::string(to_string(look.schedule.missed)),
                              .task = to_scheduled(look.schedule.task),
                              .paused = look.is_paused,
                              .next_at = look.next_at,
                              .last_at = look.last_at,
                              .last_task = look.last_task,
                              .last_error = if_any(look.last_error)});
}

std::string to_json_text(const tasks::WorkerLook& worker) {
  WorkerJson json{.name = worker.name,
                  .queues = {},
                  .kinds = worker.kinds,
                  .started_at = worker.started_at,
                  .seen_at = worker.seen_at,
                  .running = {}};
  for (const auto& each : worker.queues) {
    json.queues.push_back({.name = each.name, .concurrency = each.concurrency});
  }
  for (const auto& each : worker.running) {
    json.running.push_back(
        {.task = each.task, .queue = each.queue, .kind = each.kind, .since = each.since});
  }
  return text_of(json);
}

std::string to_json_text(const tasks::DeadGroup& group) {
  return text_of(DeadGroupJson{.queue = group.queue,
                               .kind = group.kind,
                               .reason = group.reason,
                               .count = group.count,
                               .latest = group.latest,
                               .example = group.example});
}

std::string to_json_text(const tasks::LogLine& line) {
  return text_of(LineJson{.number = line.number, .at = line.at, .line = line.line});
}

std::string page_text(std::string_view name, const std::vector<std::string>& items,
                      std::string_view next_cursor) {
  std::string text = fmt::format("{{\"{}\":[{}]", name, fmt::join(items, ","));
  if (!next_cursor.empty()) text += fmt::format(",\"next_cursor\":\"{}\"", next_cursor);
  return text + "}";
}

}  // namespace handoff::server
