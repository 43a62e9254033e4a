// Waiting for the end of a task: by a thread, by a coroutine, by a call. And watching what happens.
//
// Each is registered first and looks then: an end in between is seen.
#include <fmt/format.h>

#include <utility>

#include "handoff/tasks/tasks.hpp"
#include "tasks/call.hpp"
#include "tasks/core.hpp"
#include "tasks/notice_core.hpp"
#include "tasks/watch_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

using End = std::expected<Task, TaskError>;

TaskError not_finished(std::string_view what, const TaskId& id, Refusal refusal) {
  using enum TaskError::Code;
  const auto code = refusal == Refusal::stopped     ? stopped
                    : refusal == Refusal::timed_out ? timed_out
                                                    : closed;
  return {.code = code,
          .message = fmt::format("{} {} is not finished yet", what, id.to_string()),
          .field = {}};
}

// What the store throws, as a value.
std::optional<End> look_at_end(TasksCore& core, const TaskId& id) {
  try {
    return core.look_at_end(id);
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

using EndOfWorkflow = std::expected<WorkflowLook, TaskError>;

// The same for a workflow.
std::optional<EndOfWorkflow> look_at_end_of_workflow(TasksCore& core, const WorkflowId& id) {
  auto found = look<std::optional<WorkflowLook>>(
      core, [&](Transaction& transaction) { return transaction.workflow(id); });
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(no_such("workflow", id));
  if (!is_finished((*found)->state)) return std::nullopt;
  core.encoding().decode(**found);
  return **std::move(found);
}

class Waits {
 public:
  Waits(TasksCore& core, const TaskId& id) : listeners_(core.listeners()), id_(id) {
    listeners_.add_wait(id_, waiting_);
  }
  Waits(const Waits&) = delete;
  Waits& operator=(const Waits&) = delete;
  ~Waits() { listeners_.remove_wait(id_, waiting_); }
  Event& told() { return waiting_.told; }

 private:
  Listeners& listeners_;
  const TaskId id_;
  Listeners::Waiting waiting_;
};

}  // namespace

End Tasks::wait(const TaskId& id, std::chrono::milliseconds timeout) const {
  return wait(id, {.deadline = within(timeout), .stop = {}});
}

End Tasks::wait(const TaskId& id, const Wait& limits) const {
  Waits waits(*core_, id);
  for (;;) {
    if (auto end = look_at_end(*core_, id)) return *std::move(end);
    if (const auto told = waits.told().wait(limits); !told) {
      return std::unexpected(not_finished("task", id, told.error()));
    }
    waits.told().reset();
  }
}

std::expected<WorkflowLook, TaskError> Tasks::wait_workflow(
    const WorkflowId& id, std::chrono::milliseconds timeout) const {
  return wait_workflow(id, {.deadline = within(timeout), .stop = {}});
}

std::expected<WorkflowLook, TaskError> Tasks::wait_workflow(const WorkflowId& id,
                                                            const Wait& limits) const {
  Waits waits(*core_, id);
  for (;;) {
    if (auto end = look_at_end_of_workflow(*core_, id)) return *std::move(end);
    if (const auto told = waits.told().wait(limits); !told) {
      return std::unexpected(not_finished("workflow", id, told.error()));
    }
    waits.told().reset();
  }
}

Lazy<EndOfWorkflow> Tasks::async_wait_workflow(WorkflowId id, Deadline deadline) const {
  const auto core = core_;  // As below.
  return [](std::shared_ptr<TasksCore> store, WorkflowId workflow,
            Deadline until) -> Lazy<EndOfWorkflow> {
    Waits waits(*store, workflow);
    for (;;) {
      auto end = look_at_end_of_workflow(*store, workflow);
      if (end) co_return *std::move(end);
      const auto told = co_await waits.told().async_wait(until);
      if (!told) co_return std::unexpected(not_finished("workflow", workflow, told.error()));
      waits.told().reset();
    }
  }(core, id, deadline);
}

Lazy<End> Tasks::async_wait(TaskId id, Deadline deadline) const {
  const auto core = core_;  // The handle may be gone before it is awaited.
  return [](std::shared_ptr<TasksCore> store, TaskId task, Deadline until) -> Lazy<End> {
    Waits waits(*store, task);
    for (;;) {
      auto end = look_at_end(*store, task);
      if (end) co_return *std::move(end);
      const auto told = co_await waits.told().async_wait(until);
      if (!told) co_return std::unexpected(not_finished("task", task, told.error()));
      waits.told().reset();
    }
  }(core, id, deadline);
}

std::expected<Notice, TaskError> Tasks::on_finished(const TaskId& id, OnFinished callback) const {
  auto notice = std::make_shared<NoticeCore>(id, std::move(callback));
  core_->listeners().add_notice(notice);
  auto end = look_at_end(*core_, id);
  const bool is_refused = end && !*end;  // It is not there, or cannot be read.
  if (end) core_->listeners().remove_notice(*notice);
  if (is_refused && notice->withdraw()) return std::unexpected(std::move(end->error()));
  if (end && !is_refused) notice->call(*std::move(end));
  return Notice(std::move(notice), core_);
}

Watch Tasks::watch(WatchOptions options) const {
  auto core = std::make_shared<WatchCore>(std::move(options));
  core_->listeners().add_watch(core);
  return Watch(std::move(core));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
