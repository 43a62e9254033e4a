// Workflows and schedules.
#include <algorithm>
#include <array>

#include "tasks/remote/wire_parts.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire {

namespace {

struct StartedBody {
  TaskId id;
  std::map<std::string, TaskId> tasks;
  bool duplicate = false;
};
BOOST_DESCRIBE_STRUCT(StartedBody, (), (id, tasks, duplicate))

struct StepBody {
  std::string name;
  TaskId task;
  std::string queue;
  std::string kind;
  std::string state;
  double progress = 0;
  Anything result;
  std::optional<std::string> reason;
  std::vector<std::string> after;

  static constexpr auto optional_fields = std::to_array<std::string_view>({"result"});
};
BOOST_DESCRIBE_STRUCT(StepBody, (),
                      (name, task, queue, kind, state, progress, result, reason, after))

struct WorkflowBody {
  TaskId id;
  std::string name;
  std::string state;
  Time created_at;
  std::optional<Time> finished_at;
  int unfinished = 0;
  std::optional<std::vector<StepBody>> steps;
};
BOOST_DESCRIBE_STRUCT(WorkflowBody, (),
                      (id, name, state, created_at, finished_at, unfinished, steps))

struct WorkflowsBody {
  std::vector<WorkflowBody> workflows;
  std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(WorkflowsBody, (), (workflows, next_cursor))

struct NotifyBody {
  std::string url;
};
BOOST_DESCRIBE_STRUCT(NotifyBody, (), (url))

struct ScheduledTaskBody {
  std::string queue;
  std::string kind;
  Json payload;
  int priority = 0;
  std::optional<int> max_attempts;
  std::optional<Span> timeout;
  std::optional<std::string> unique_key;
  std::optional<Span> unique_for;
  std::optional<Span> expires_in;
  std::optional<std::string> group;
  std::optional<NotifyBody> notify;
};
BOOST_DESCRIBE_STRUCT(ScheduledTaskBody, (),
                      (queue, kind, payload, priority, max_attempts, timeout, unique_key,
                       unique_for, expires_in, group, notify))

struct ScheduleBody {
  std::string name;
  std::string cron;
  std::string timezone;
  std::string missed;
  ScheduledTaskBody task;
  bool paused = false;
  std::optional<Time> next_at;
  std::optional<Time> last_at;
  std::optional<TaskId> last_task;
  std::optional<std::string> last_error;
};
BOOST_DESCRIBE_STRUCT(ScheduleBody, (),
                      (name, cron, timezone, missed, task, paused, next_at, last_at, last_task,
                       last_error))

struct SchedulesBody {
  std::vector<ScheduleBody> schedules;
};
BOOST_DESCRIBE_STRUCT(SchedulesBody, (), (schedules))

WorkflowLook to_look(WorkflowBody body, bool has_codec) {
  WorkflowLook look{.id = body.id,
                    .name = std::move(body.name),
                    .state = state_of(body.state),
                    .created_at = body.created_at,
                    .finished_at = body.finished_at,
                    .unfinished = body.unfinished,
                    .steps = {}};
  if (!body.steps) return look;
  for (StepBody& each : *body.steps) {
    StepLook& step = look.steps.emplace_back();
    step.name = std::move(each.name);
    step.task = each.task;
    step.queue = std::move(each.queue);
    step.kind = std::move(each.kind);
    step.state = state_of(each.state);
    step.progress = each.progress;
    if (each.result.is_there) {
      step.result = from_wire(std::move(each.result.json).text(), has_codec);
    }
    step.reason = std::move(each.reason).value_or("");
    step.after = std::move(each.after);
  }
  return look;
}

Millis or_none(const std::optional<Span>& span) { return span ? span->value : Millis(0); }

ScheduleLook to_look(ScheduleBody body, bool has_codec) {
  ScheduleLook look;
  look.schedule.name = std::move(body.name);
  look.schedule.cron = std::move(body.cron);
  look.schedule.timezone = std::move(body.timezone);
  const auto missed = parse_missed(body.missed);
  if (!missed) throw_unreadable("missed");
  look.schedule.missed = *missed;
  NewTask& task = look.schedule.task;
  task.queue = std::move(body.task.queue);
  task.kind = std::move(body.task.kind);
  task.payload = from_wire(std::move(body.task.payload).text(), has_codec);
  task.priority = body.task.priority;
  task.max_attempts = body.task.max_attempts.value_or(0);
  task.timeout = or_none(body.task.timeout);
  task.unique_key = std::move(body.task.unique_key).value_or("");
  task.unique_for = or_none(body.task.unique_for);
  task.expires_in = or_none(body.task.expires_in);
  task.group = std::move(body.task.group).value_or("");
  if (body.task.notify) task.notify_url = std::move(body.task.notify->url);
  look.is_paused = body.paused;
  look.next_at = body.next_at;
  look.last_at = body.last_at;
  look.last_task = body.last_task;
  look.last_error = std::move(body.last_error).value_or("");
  return look;
}

// The ids of those before it follow from their names.
std::string step_text(const WorkflowStep& step, std::span<const WorkflowStep> all) {
  NewTask task = step.task;
  std::erase_if(task.after, [&](const TaskId& id) {
    return std::ranges::any_of(all, [&](const WorkflowStep& each) { return each.task.id == id; });
  });
  Object body;
  body.add("name", step.name);
  if (!step.after.empty()) body.add("after", step.after);
  body.raw("task", write_task(task));
  return body.text();
}

}  // namespace

std::string write_workflow(const NewWorkflow& workflow) {
  std::vector<std::string> steps;
  for (const WorkflowStep& each : workflow.steps) {
    steps.push_back(step_text(each, workflow.steps));
  }
  Object body;
  body.add("name", workflow.name).add("id", workflow.id).raw("steps", array_of(steps));
  return body.text();
}

StartedWorkflow read_started(std::string_view body) {
  auto started = read<StartedBody>(body);
  return {.id = started.id, .tasks = std::move(started.tasks), .is_duplicate = started.duplicate};
}

WorkflowLook read_workflow(std::string_view body, bool has_codec) {
  return to_look(read<WorkflowBody>(body), has_codec);
}

WorkflowPage read_workflows(std::string_view body) {
  auto page = read<WorkflowsBody>(body);
  WorkflowPage all{.workflows = {}, .next = cursor_of(page.next_cursor)};
  for (WorkflowBody& each : page.workflows) {
    all.workflows.push_back(to_look(std::move(each), false));
  }
  return all;
}

std::string write_schedule(const Schedule& schedule) {
  Object body;
  body.add("cron", schedule.cron).add("timezone", schedule.timezone);
  body.add("missed", std::string(to_string(schedule.missed)));
  body.raw("task", write_task(schedule.task));
  return body.text();
}

ScheduleLook read_schedule(std::string_view body, bool has_codec) {
  return to_look(read<ScheduleBody>(body), has_codec);
}

std::vector<ScheduleLook> read_schedules(std::string_view body, bool has_codec) {
  std::vector<ScheduleLook> looks;
  for (ScheduleBody& each : read<SchedulesBody>(body).schedules) {
    looks.push_back(to_look(std::move(each), has_codec));
  }
  return looks;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire
