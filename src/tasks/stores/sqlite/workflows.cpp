// Workflows: a row with how many of its steps have not ended, and tasks that know it.
#include <fmt/format.h>

#include <algorithm>

#include "handoff/tasks/limits.hpp"
#include "tasks/stores/sqlite/transaction.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

TaskState state_of(std::int64_t unfinished, std::int64_t dead, std::int64_t cancelled) {
  if (unfinished > 0) return TaskState::running;
  if (dead > 0) return TaskState::dead;
  return cancelled > 0 ? TaskState::cancelled : TaskState::done;
}

std::unexpected<TaskError> not_there(const WorkflowId& id) {
  return std::unexpected(
      TaskError{.code = TaskError::Code::not_found,
                .message = fmt::format("there is no workflow {}", id.to_string()),
                .field = "id"});
}

// Steps are known by their names, not by an index.
TaskError of_step(const NewWorkflow& workflow, std::size_t index, TaskError error) {
  const auto rename = [&, was = fmt::format("[{}]", index)](std::string& text) {
    if (!text.starts_with(was)) return;
    text.replace(0, was.size(), fmt::format("steps.{}", workflow.steps[index].name));
  };
  rename(error.field);
  rename(error.message);
  return error;
}

}  // namespace

std::expected<StartedWorkflow, TaskError> SqliteTransaction::start(const NewWorkflow& workflow) {
  {
    Query same(database(), "select seq from handoff_workflow where id = ?", workflow.id);
    if (same.next()) return started_already(same.number(0), workflow.id);
  }
  std::vector<NewTask> tasks;
  for (const WorkflowStep& each : workflow.steps) {
    // A step is a task of its own: one that is there already would belong to somebody else.
    if (find_duplicate(each.task)) {
      return std::unexpected(TaskError{
          .code = TaskError::Code::conflict,
          .message = fmt::format("step \"{}\": there is a task with its {} already", each.name,
                                 each.task.unique_key.empty() ? "id" : "unique_key"),
          .field = fmt::format("steps.{}", each.name)});
    }
    tasks.push_back(each.task);
  }
  auto inserted = insert(tasks);
  if (!inserted) return std::unexpected(of_step(workflow, refused_, std::move(inserted.error())));
  // prepare() lets no step be like another. If it did, the workflow would wait for ever for a task it does not have.
  if (std::ranges::any_of(*inserted, &Enqueued::is_duplicate)) {
    throw Failure({.code = TaskError::Code::internal,
                   .message = "two steps of a workflow are the same task",
                   .field = "steps"});
  }
  const auto count = static_cast<std::int64_t>(tasks.size());
  execute(
      database(),
      "insert into handoff_workflow(id, name, created_at, tasks, unfinished) values(?, ?, ?, ?, ?)",
      workflow.id, std::string_view(workflow.name), now_, count, count);
  const std::int64_t seq = database().last_row();
  StartedWorkflow started{.id = workflow.id, .tasks = {}};
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskId& task = inserted->at(i).id;
    execute(database(),
            "update handoff_task set workflow = ?, step = ?, kept = kept + 1, flags = flags | 8 | "
            "32 where "
            "id = ?",
            seq, std::string_view(workflow.steps[i].name), task);
    started.tasks.emplace(workflow.steps[i].name, task);
  }
  return started;
}

StartedWorkflow SqliteTransaction::started_already(std::int64_t seq, const WorkflowId& id) {
  StartedWorkflow started{.id = id, .tasks = {}, .is_duplicate = true};
  Query steps(database(), "select step, id from handoff_task where workflow = ?", seq);
  while (steps.next()) started.tasks.emplace(steps.text(0), steps.id(1));
  return started;
}

// -- What its tasks do to it ----------------------------------------------------------------------

// How a task is called by those that wait for it.
std::string SqliteTransaction::name_in_workflow(const TaskRow& row) {
  if ((row.flags & in_workflow) != 0) {
    Query step(database(), "select step from handoff_task where seq = ?", row.seq);
    if (step.next()) return fmt::format("step \"{}\"", step.text(0));
  }
  return row.id.to_string();
}

// One of its tasks has ended in that state (1), or has not any more (-1).
void SqliteTransaction::count_in_workflow(const TaskRow& row, TaskState state, int ended) {
  const int dead = state == TaskState::dead ? ended : 0;
  const int cancelled = state == TaskState::cancelled ? ended : 0;
  execute(database(),
          "update handoff_workflow set unfinished = unfinished - ?, dead = dead + ?, cancelled = "
          "cancelled + ?, lost = lost + ? where seq = (select workflow from handoff_task where seq "
          "= ?)",
          ended, dead, cancelled, dead + cancelled, row.seq);
  std::int64_t seq = 0;
  bool has_lost_some = false;
  {
    Query query(
        database(),
        "select seq, id, unfinished, dead, cancelled, finished_at, lost from handoff_workflow "
        "where seq = (select workflow from handoff_task where seq = ?)",
        row.seq);
    if (!query.next()) return;
    const bool is_over = query.number(2) == 0;
    if (is_over == !query.is_null(5)) return;
    seq = query.number(0);
    has_lost_some = query.number(6) > 0;
    if (is_over) {
      changes_.workflows.emplace_back(query.id(1),
                                      state_of(query.number(2), query.number(3), query.number(4)));
    }
  }
  execute(database(), "update handoff_workflow set finished_at = ? where seq = ?",
          ended > 0 ? std::optional(now_) : std::nullopt, seq);
  if (ended > 0) {
    let_go_of_steps(seq, !has_lost_some);
  } else {
    execute(database(),
            "update handoff_task set kept = kept + 1, flags = flags | 32 where workflow = ? and "
            "flags & 32 = 0",
            seq);
  }
}

// Its steps are kept until it is over, however short their queues keep them. Those that are done even longer, as long as there are others that
// are not: these may be retried, and want their inputs.
void SqliteTransaction::let_go_of_steps(std::int64_t workflow, bool of_all) {
  execute(database(),
          "update handoff_task set kept = kept - 1, flags = flags & ~32 where workflow = ? and "
          "flags & 32 <> 0 and (? or state <> 4)",
          workflow, int{of_all});
}

void SqliteTransaction::leave_workflow(const TaskRow& row) {
  std::int64_t seq = 0;
  {
    Query query(database(), "select workflow from handoff_task where seq = ?", row.seq);
    if (query.next()) seq = query.number(0);
  }
  const bool was_lost = row.state == TaskState::dead || row.state == TaskState::cancelled;
  execute(database(),
          "update handoff_workflow set tasks = tasks - 1, lost = lost - ? where seq = ?",
          int{was_lost}, seq);
  if (was_lost) {
    Query left(database(),
               "select 1 from handoff_workflow where seq = ? and lost <= 0 and finished_at is not "
               "null",
               seq);
    if (left.next()) let_go_of_steps(seq, true);
  }
  execute(database(), "delete from handoff_workflow where tasks <= 0 and seq = ?", seq);
}

// -- Looking --------------------------------------------------------------------------------------

namespace {
#define WORKFLOW_COLUMNS                                                             \
  "select seq, id, name, created_at, finished_at, unfinished, dead, cancelled from " \
  "handoff_workflow "
}  // namespace

WorkflowLook SqliteTransaction::read_workflow(const Query& query) {
  return {.id = query.id(1),
          .name = std::string(query.text(2)),
          .state = state_of(query.number(5), query.number(6), query.number(7)),
          .created_at = query.time(3),
          .finished_at = query.time_if_any(4),
          .unfinished = static_cast<int>(query.number(5)),
          .steps = {}};
}

std::optional<WorkflowLook> SqliteTransaction::workflow(const WorkflowId& id) {
  Query query(database(), WORKFLOW_COLUMNS "where id = ?", id);
  if (!query.next()) return std::nullopt;
  WorkflowLook look = read_workflow(query);
  Query steps(database(),
              "select seq, step, id, queue, kind, state, progress, result, reason from "
              "handoff_task where workflow = ? order by seq",
              query.number(0));
  while (steps.next()) {
    StepLook& step = look.steps.emplace_back();
    step.name = steps.text(1);
    step.task = steps.id(2);
    step.queue = rows_.queue(steps.number(3)).name;
    step.kind = steps.text(4);
    step.state = static_cast<TaskState>(steps.number(5));
    step.progress = steps.real(6);
    if (!steps.is_null(7)) step.result = steps.text(7);
    step.reason = steps.text(8);
    Query before(database(),
                 "select b.step from handoff_dependency d join handoff_task b on b.seq = d.before "
                 "where d.after = ? and b.step is not null order by b.seq",
                 steps.number(0));
    while (before.next()) step.after.emplace_back(before.text(0));
  }
  return look;
}

WorkflowPage SqliteTransaction::workflows(int limit, std::optional<std::int64_t> before) {
  WorkflowPage page;
  Query query(database(),
              WORKFLOW_COLUMNS "where ?1 is null or seq < ?1 order by seq desc limit ?2", before,
              limit);
  std::int64_t last = 0;
  while (query.next()) {
    page.workflows.push_back(read_workflow(query));
    last = query.number(0);
  }
  if (std::ssize(page.workflows) == limit) page.next = last;
  return page;
}

// -- All of it ------------------------------------------------------------------------------------

// In the order of the steps.
std::vector<TaskId> SqliteTransaction::tasks_of_workflow(const WorkflowId& id, bool finished) {
  std::vector<TaskId> tasks;
  Query query(database(),
              "select t.id from handoff_workflow w join handoff_task t on t.workflow = w.seq where "
              "w.id = ? and (t.state >= 4) = ? order by t.seq",
              id, int{finished});
  while (query.next()) tasks.push_back(query.id(0));
  return tasks;
}

std::expected<void, TaskError> SqliteTransaction::cancel_workflow(const WorkflowId& id,
                                                                  std::string_view reason) {
  const auto look = workflow(id);
  if (!look) return not_there(id);
  if (is_finished(look->state)) {
    return std::unexpected(
        TaskError{.code = TaskError::Code::conflict,
                  .message = fmt::format("workflow {} is {} and cannot be cancelled",
                                         id.to_string(), to_string(look->state)),
                  .field = "id"});
  }
  // Each of its tasks keeps it.
  const std::string_view why =
      reason.empty() ? "its workflow was cancelled" : cut_utf8(reason, limits::message_size);
  for (const TaskId& each : tasks_of_workflow(id, false)) {
    TaskRow row = row_of(each).value();
    // One may have been given up together with those before it.
    if (!is_finished(row.state)) end(row, TaskState::cancelled, why, AfterEnd::keeps_lease);
  }
  return {};
}

std::expected<int, TaskError> SqliteTransaction::replay_workflow(const WorkflowId& id) {
  const auto look = workflow(id);
  if (!look) return not_there(id);
  const auto finished = tasks_of_workflow(id, true);
  for (const TaskId& each : finished) {
    if (auto held = still_worked_on(row_of(each).value())) {
      return std::unexpected(*std::move(held));
    }
  }
  int count = 0;
  for (const TaskId& each : finished) {
    const auto row = row_of(each);
    if (row->state != TaskState::dead && row->state != TaskState::cancelled) continue;
    if (replay(each)) ++count;  // Those before it came first; those after it may be back already.
  }
  return count;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
