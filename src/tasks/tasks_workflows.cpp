// What Tasks does about workflows and schedules.
#include <fmt/format.h>

#include <array>

#include "handoff/tasks/cron.hpp"
#include "handoff/tasks/limits.hpp"
#include "tasks/call.hpp"
#include "tasks/workflow.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// -- Workflows ------------------------------------------------------------------------------------

std::expected<StartedWorkflow, TaskError> Tasks::start(const Workflow& workflow) const {
  auto prepared = prepare(workflow, core_->clock().now());
  if (!prepared) return std::unexpected(prepared.error());
  for (WorkflowStep& each : prepared->steps) {
    const std::string prefix = fmt::format("steps.{}.", each.name);
    if (auto error = core_->encoding().encode(each.task, prefix)) {
      return std::unexpected(std::move(*error));
    }
  }
  auto started = transact<StartedWorkflow>(
      *core_, [&](Transaction& transaction) { return transaction.start(*prepared); });
  // A store elsewhere has counted it, and names no queue.
  if (!started && !started.error().queue.empty()) {
    core_->note_full(started.error().queue, prepared->steps.size());
  }
  return started;
}

std::optional<WorkflowLook> Tasks::workflow(const WorkflowId& id) const {
  std::optional<WorkflowLook> found;
  core_->store().read([&](Transaction& transaction) { found = transaction.workflow(id); });
  if (found) core_->encoding().decode(*found);
  return found;
}

std::expected<WorkflowList, TaskError> Tasks::workflows(int limit, std::string_view cursor) const {
  if (const auto good = check_range(limit, 1, 1000, "limit"); !good) {
    return bad_request(good.error().field, good.error().message);
  }
  const auto before = read_cursor(cursor);
  if (!before) return std::unexpected(before.error());
  auto page = look<WorkflowPage>(
      *core_, [&](Transaction& transaction) { return transaction.workflows(limit, *before); });
  if (!page) return std::unexpected(std::move(page.error()));
  return WorkflowList{.workflows = std::move(page->workflows),
                      .next_cursor = page->next ? fmt::to_string(*page->next) : ""};
}

std::expected<void, TaskError> Tasks::cancel_workflow(const WorkflowId& id,
                                                      std::string_view reason) const {
  return transact<void>(
      *core_, [&](Transaction& transaction) { return transaction.cancel_workflow(id, reason); });
}

std::expected<int, TaskError> Tasks::retry_workflow(const WorkflowId& id) const {
  return transact<int>(*core_,
                       [&](Transaction& transaction) { return transaction.replay_workflow(id); });
}

// -- Schedules ------------------------------------------------------------------------------------

namespace {

std::optional<TaskError> check_schedule(const Schedule& schedule, Time now) {
  const auto wrong = [](const Invalid& what) {
    return TaskError{
        .code = TaskError::Code::bad_request, .message = what.message, .field = what.field};
  };
  if (const auto good = check_queue(schedule.name, "name"); !good) return wrong(good.error());
  const auto cron = Cron::parse(schedule.cron, schedule.timezone);
  if (!cron) return wrong(cron.error());
  if (!cron->next(now, now)) {
    return wrong({.field = "cron",
                  .message = fmt::format("cron must be due some day, got \"{}\"", schedule.cron)});
  }
  if (auto error = check_task(schedule.task, "task.")) return error;
  const NewTask& task = schedule.task;
  if (task.run_at || task.delay != Millis(0)) {
    return wrong({.field = "task.run_at",
                  .message = "task.run_at and task.delay are the schedule's to say"});
  }
  if (task.id || !task.after.empty()) {
    return wrong({.field = "task.id",
                  .message = "task.id and task.after cannot be: each occurrence is another task"});
  }
  return std::nullopt;
}

std::expected<void, TaskError> if_found(std::expected<bool, TaskError> found,
                                        std::string_view name) {
  if (!found) return std::unexpected(std::move(found.error()));
  if (*found) return {};
  return std::unexpected(TaskError{.code = TaskError::Code::not_found,
                                   .message = fmt::format("there is no schedule \"{}\"", name),
                                   .field = "name"});
}

}  // namespace

std::expected<ScheduleLook, TaskError> Tasks::schedule(const Schedule& schedule) const {
  if (auto error = check_schedule(schedule, core_->clock().now())) {
    return std::unexpected(std::move(*error));
  }
  Schedule encoded = schedule;
  if (auto error = core_->encoding().encode(encoded.task, "task.")) {
    return std::unexpected(std::move(*error));
  }
  auto look = transact<ScheduleLook>(
      *core_, [&](Transaction& transaction) { return transaction.put_schedule(encoded); });
  if (look) core_->encoding().decode(*look);
  return look;
}

std::optional<ScheduleLook> Tasks::schedule(std::string_view name) const {
  std::optional<ScheduleLook> found;
  core_->store().read([&](Transaction& transaction) { found = transaction.schedule(name); });
  if (found) core_->encoding().decode(*found);
  return found;
}

std::vector<ScheduleLook> Tasks::schedules() const {
  std::vector<ScheduleLook> all;
  core_->store().read([&](Transaction& transaction) { all = transaction.schedules(); });
  for (ScheduleLook& each : all) core_->encoding().decode(each);
  return all;
}

std::expected<void, TaskError> Tasks::unschedule(std::string_view name) const {
  return if_found(
      transact<bool>(*core_,
                     [&](Transaction& transaction) {
                       return std::expected<bool, TaskError>(transaction.remove_schedule(name));
                     }),
      name);
}

namespace {
std::expected<void, TaskError> set_paused(TasksCore& core, std::string_view name, bool is_paused) {
  return if_found(transact<bool>(core,
                                 [&](Transaction& transaction) {
                                   return std::expected<bool, TaskError>(
                                       transaction.pause_schedule(name, is_paused));
                                 }),
                  name);
}
}  // namespace

std::expected<void, TaskError> Tasks::pause_schedule(std::string_view name) const {
  return set_paused(*core_, name, true);
}

std::expected<void, TaskError> Tasks::resume_schedule(std::string_view name) const {
  return set_paused(*core_, name, false);
}

std::string_view to_string(Missed missed) {
  constexpr std::array<std::string_view, 3> names = {"skip", "once", "all"};
  return names[static_cast<std::size_t>(missed)];
}

std::optional<Missed> parse_missed(std::string_view text) {
  for (const Missed each : {Missed::skip, Missed::once, Missed::all}) {
    if (to_string(each) == text) return each;
  }
  return std::nullopt;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
