// Tasks: as they are handed in, and as they are seen.
#include <array>

#include "tasks/remote/wire_parts.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire {

namespace {

constexpr char mark = '~';  // Of what a codec has encoded: see encoding.hpp.

struct EnqueuedBody {
  TaskId id;
  std::string state;
  bool duplicate = false;
};
BOOST_DESCRIBE_STRUCT(EnqueuedBody, (), (id, state, duplicate))

struct BatchBody {
  std::vector<TaskId> ids;
  std::optional<std::vector<std::string>> states;
  std::optional<std::vector<std::size_t>> duplicates;
};
BOOST_DESCRIBE_STRUCT(BatchBody, (), (ids, states, duplicates))

struct ProgressBody {
  double fraction = 0;
  std::optional<std::string> note;
};
BOOST_DESCRIBE_STRUCT(ProgressBody, (), (fraction, note))

struct AttemptBody {
  int attempt = 0;
  Time at;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(AttemptBody, (), (attempt, at, message))

struct NotifyBody {
  std::string url;
};
BOOST_DESCRIBE_STRUCT(NotifyBody, (), (url))

struct TaskBody {
  TaskId id;
  std::string queue;
  std::string kind;
  Json payload;
  std::string state;
  int priority = 0;
  int attempt = 0;
  int max_attempts = 0;
  int crashes = 0;
  std::optional<Span> timeout;
  Time created_at;
  Time run_at;
  std::optional<Time> started_at;
  std::optional<Time> finished_at;
  ProgressBody progress;
  Anything result;
  std::optional<std::string> reason;
  std::vector<AttemptBody> errors;
  std::optional<std::string> worker;
  std::optional<std::string> group;
  std::optional<std::string> unique_key;
  std::optional<std::string> trace;
  std::vector<TaskId> after;
  std::optional<TaskId> workflow;
  std::optional<std::string> step;
  std::optional<NotifyBody> notify;
  std::optional<std::string> undecoded;

  static constexpr auto optional_fields = std::to_array<std::string_view>({"result"});
};
BOOST_DESCRIBE_STRUCT(TaskBody, (),
                      (id, queue, kind, payload, state, priority, attempt, max_attempts, crashes,
                       timeout, created_at, run_at, started_at, finished_at, progress, result,
                       reason, errors, worker, group, unique_key, trace, after, workflow, step,
                       notify, undecoded))

struct PageBody {
  std::vector<TaskBody> tasks;
  std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(PageBody, (), (tasks, next_cursor))

struct WasBody {
  std::string state;
  std::optional<std::string> was;
};
BOOST_DESCRIBE_STRUCT(WasBody, (), (state, was))

struct LineBody {
  std::int64_t number = 0;
  Time at;
  std::string line;
};
BOOST_DESCRIBE_STRUCT(LineBody, (), (number, at, line))

struct LinesBody {
  std::vector<LineBody> lines;
};
BOOST_DESCRIBE_STRUCT(LinesBody, (), (lines))

struct ExplanationBody {
  std::string code;
  std::string message;
  std::optional<std::int64_t> position;
};
BOOST_DESCRIBE_STRUCT(ExplanationBody, (), (code, message, position))

struct DeadGroupBody {
  std::string queue;
  std::string kind;
  std::string reason;
  std::int64_t count = 0;
  Time latest;
  TaskId example;
};
BOOST_DESCRIBE_STRUCT(DeadGroupBody, (), (queue, kind, reason, count, latest, example))

struct DeadBody {
  std::vector<DeadGroupBody> dead;
};
BOOST_DESCRIBE_STRUCT(DeadBody, (), (dead))

struct WorkerQueueBody {
  std::string name;
  int concurrency = 0;
};
BOOST_DESCRIBE_STRUCT(WorkerQueueBody, (), (name, concurrency))

struct RunningBody {
  TaskId task;
  std::string queue;
  std::string kind;
  std::optional<Time> since;
};
BOOST_DESCRIBE_STRUCT(RunningBody, (), (task, queue, kind, since))

struct WorkerBody {
  std::string name;
  std::vector<WorkerQueueBody> queues;
  std::vector<std::string> kinds;
  Time started_at;
  Time seen_at;
  std::vector<RunningBody> running;
};
BOOST_DESCRIBE_STRUCT(WorkerBody, (), (name, queues, kinds, started_at, seen_at, running))

struct WorkersBody {
  std::vector<WorkerBody> workers;
};
BOOST_DESCRIBE_STRUCT(WorkersBody, (), (workers))

struct CountBody {
  std::int64_t count = 0;
};
BOOST_DESCRIBE_STRUCT(CountBody, (), (count))

Task to_task(TaskBody body, bool has_codec) {
  Task task{.id = body.id,
            .queue = std::move(body.queue),
            .kind = std::move(body.kind),
            .payload = from_wire(std::move(body.payload).text(), has_codec),
            .state = state_of(body.state),
            .priority = body.priority,
            .attempt = body.attempt,
            .max_attempts = body.max_attempts,
            .crashes = body.crashes,
            .timeout = body.timeout ? body.timeout->value : Millis(0),
            .created_at = body.created_at,
            .run_at = body.run_at,
            .started_at = body.started_at,
            .finished_at = body.finished_at,
            .progress = body.progress.fraction,
            .note = std::move(body.progress.note).value_or(""),
            .result = std::nullopt,
            .reason = std::move(body.reason).value_or(""),
            .errors = {},
            .worker = std::move(body.worker).value_or(""),
            .group = std::move(body.group).value_or(""),
            .unique_key = std::move(body.unique_key).value_or(""),
            .trace = std::move(body.trace).value_or(""),
            .after = std::move(body.after),
            .workflow = body.workflow,
            .step = std::move(body.step).value_or(""),
            .notify_url = body.notify ? std::move(body.notify->url) : "",
            .undecoded = std::move(body.undecoded).value_or("")};
  if (body.result.is_there) {
    task.result = from_wire(std::move(body.result.json).text(), has_codec);
  }
  for (AttemptBody& each : body.errors) {
    task.errors.push_back(
        {.attempt = each.attempt, .at = each.at, .message = std::move(each.message)});
  }
  return task;
}

Explanation::Code code_of(std::string_view text) {
  for (int i = 0; i <= static_cast<int>(Explanation::Code::queued); ++i) {
    const auto code = static_cast<Explanation::Code>(i);
    if (to_string(code) == text) return code;
  }
  throw_unreadable(fmt::format("code \"{}\"", text));
}

}  // namespace

std::string to_wire(const std::string& stored) {
  return stored.starts_with(mark) ? '"' + stored + '"' : stored;  // Base64: nothing to escape.
}

std::string from_wire(std::string json, bool has_codec) {
  const bool is_encoded = has_codec && json.size() > 2 && json[0] == '"' && json[1] == mark;
  return is_encoded ? read<std::string>(json) : json;
}

std::string write_task(const NewTask& task) {
  Object body;
  body.add("queue", task.queue).add("kind", task.kind).raw("payload", to_wire(task.payload));
  if (task.priority != 0) body.add("priority", task.priority);
  body.if_any("delay", task.delay);
  if (task.run_at) body.add("run_at", *task.run_at);
  if (task.max_attempts != 0) body.add("max_attempts", task.max_attempts);
  body.if_any("timeout", task.timeout);
  if (task.id) body.add("id", *task.id);
  body.if_any("unique_key", task.unique_key).if_any("unique_for", task.unique_for);
  body.if_any("expires_in", task.expires_in).if_any("group", task.group);
  if (!task.after.empty()) body.add("after", task.after);
  body.if_any("trace", task.trace);
  if (!task.notify_url.empty()) body.add("notify", NotifyBody{task.notify_url});
  return body.text();
}

std::string write_batch(std::span<const NewTask> tasks) {
  std::string text = "[";
  for (const NewTask& each : tasks) {
    if (text.size() > 1) text += ',';
    text += write_task(each);
  }
  return text + "]";
}

Enqueued read_enqueued(std::string_view body) {
  const auto read_body = read<EnqueuedBody>(body);
  return {
      .id = read_body.id, .state = state_of(read_body.state), .is_duplicate = read_body.duplicate};
}

std::vector<Enqueued> read_batch(std::string_view body) {
  const auto batch = read<BatchBody>(body);
  std::vector<Enqueued> all;
  all.reserve(batch.ids.size());
  for (const TaskId& each : batch.ids) all.push_back({.id = each});
  if (batch.states && batch.states->size() != all.size()) throw_unreadable("states");
  for (std::size_t i = 0; batch.states && i < all.size(); ++i) {
    all[i].state = state_of((*batch.states)[i]);
  }
  for (const std::size_t each : batch.duplicates.value_or(std::vector<std::size_t>())) {
    if (each >= all.size()) throw_unreadable("duplicates");
    all[each].is_duplicate = true;
  }
  return all;
}

Task read_task(std::string_view body, bool has_codec) {
  return to_task(read<TaskBody>(body), has_codec);
}

TaskState read_was(std::string_view body) {
  const auto task = read<WasBody>(body);
  return state_of(task.was.value_or(task.state));
}

TaskPage read_page(std::string_view body, bool has_codec) {
  auto page = read<PageBody>(body);
  TaskPage all{.tasks = {}, .next = cursor_of(page.next_cursor)};
  for (TaskBody& each : page.tasks) all.tasks.push_back(to_task(std::move(each), has_codec));
  return all;
}

std::vector<LogLine> read_lines(std::string_view body) {
  std::vector<LogLine> lines;
  for (LineBody& each : read<LinesBody>(body).lines) {
    lines.push_back({.number = each.number, .at = each.at, .line = std::move(each.line)});
  }
  return lines;
}

Explanation read_explanation(std::string_view body) {
  auto explanation = read<ExplanationBody>(body);
  return {.code = code_of(explanation.code),
          .message = std::move(explanation.message),
          .position = explanation.position};
}

std::vector<DeadGroup> read_dead(std::string_view body) {
  std::vector<DeadGroup> groups;
  for (DeadGroupBody& each : read<DeadBody>(body).dead) {
    groups.push_back({.queue = std::move(each.queue),
                      .kind = std::move(each.kind),
                      .reason = std::move(each.reason),
                      .count = each.count,
                      .latest = each.latest,
                      .example = each.example});
  }
  return groups;
}

std::vector<WorkerLook> read_workers(std::string_view body) {
  std::vector<WorkerLook> workers;
  for (WorkerBody& each : read<WorkersBody>(body).workers) {
    WorkerLook& look = workers.emplace_back();
    look.name = std::move(each.name);
    look.kinds = std::move(each.kinds);
    look.started_at = each.started_at;
    look.seen_at = each.seen_at;
    for (WorkerQueueBody& queue : each.queues) {
      look.queues.push_back({.name = std::move(queue.name), .concurrency = queue.concurrency});
    }
    for (RunningBody& run : each.running) {
      look.running.push_back({.task = run.task,
                              .queue = std::move(run.queue),
                              .kind = std::move(run.kind),
                              .since = run.since});
    }
  }
  return workers;
}

std::int64_t read_count(std::string_view body) { return read<CountBody>(body).count; }

std::string write_reason(std::string_view reason) {
  if (reason.empty()) return "";
  return Object().add("reason", std::string(reason)).text();
}

std::string write_bulk(const BulkFilter& filter, std::string_view action, std::string_view reason,
                       bool is_dry_run) {
  Object meant;
  meant.if_any("queue", filter.queue)
      .if_any("kind", filter.kind)
      .if_any("group", filter.group)
      .if_any("error", filter.error);
  meant.add("state", std::string(to_string(filter.state)));
  Object body;
  body.raw("filter", meant.text()).add("action", std::string(action));
  if (is_dry_run) body.raw("dry_run", "true");
  body.if_any("reason", std::string(reason));
  return body.text();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire
