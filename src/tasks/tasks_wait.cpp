// Waiting for the end of a task: by a thread, by a coroutine, by a call. And watching what happens.
//
// Each is registered first and looks then: an end in between is seen.
#include <fmt/format.h>

#include <utility>

#include "handoff/tasks/tasks.hpp"
#include "tasks/async_call.hpp"
#include "tasks/call.hpp"
#include "tasks/core.hpp"
#include "tasks/elsewhere.hpp"
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

// -- Elsewhere ------------------------------------------------------------------------------------

// Coroutines leave it to others to wait for the answer of a server. Before the first look somebody listens to what happens there.
template <typename T, typename Look>
Lazy<std::optional<std::expected<T, TaskError>>> async_call(std::shared_ptr<TasksCore> core,
                                                            Look look_there) {
  using Found = std::optional<std::expected<T, TaskError>>;
  const auto work = [store = core.get(), look_there](Transaction&) {
    store->elsewhere()->listen();
    return std::expected<Found, TaskError>(look_there(*store));
  };
  auto lazy = async_transact<Found>(core, work);
  auto found = co_await std::move(lazy);
  if (!found) co_return Found(std::unexpected(std::move(found.error())));
  co_return std::move(*found);
}

Lazy<std::optional<End>> async_look(std::shared_ptr<TasksCore> core, TaskId id) {
  if (core->elsewhere() == nullptr) co_return look_at_end(*core, id);
  const auto look_there = [id](TasksCore& store) { return look_at_end(store, id); };
  auto lazy = async_call<Task>(core, look_there);
  co_return co_await std::move(lazy);
}

// Of a workflow nothing is told but what its steps come to.
class WaitsForSteps {
 public:
  explicit WaitsForSteps(TasksCore& core) : listeners_(core.listeners()) {}
  WaitsForSteps(const WaitsForSteps&) = delete;
  WaitsForSteps& operator=(const WaitsForSteps&) = delete;
  ~WaitsForSteps() {
    for (const TaskId& each : steps_) listeners_.remove_wait(each, waiting_);
  }
  // By the thread that looks, while nobody else has it.
  void add(const WorkflowLook& look) {
    for (const StepLook& each : look.steps) {
      steps_.push_back(each.task);
      listeners_.add_wait(each.task, waiting_);
    }
  }
  bool is_empty() const { return steps_.empty(); }
  Event& told() { return waiting_.told; }

 private:
  Listeners& listeners_;
  std::vector<TaskId> steps_;
  Listeners::Waiting waiting_;
};

Lazy<EndOfWorkflow> async_wait_elsewhere(std::shared_ptr<TasksCore> core, WorkflowId id,
                                         Deadline until) {
  // Shared with the look: who is stopped goes before it has ended.
  const auto waits = std::make_shared<WaitsForSteps>(*core);
  for (;;) {
    const auto look_there = [id, waits](TasksCore& store) {
      if (waits->is_empty()) {
        const auto look = or_error<std::optional<WorkflowLook>>([&] {
          std::optional<WorkflowLook> found;
          store.store().read([&](Transaction& transaction) { found = transaction.workflow(id); });
          return found;
        });
        if (look && *look) waits->add(**look);
      }
      return look_at_end_of_workflow(store, id);
    };
    auto lazy = async_call<WorkflowLook>(core, look_there);
    auto end = co_await std::move(lazy);
    if (end) co_return *std::move(end);
    const auto told = co_await waits->told().async_wait(until);
    if (!told) co_return std::unexpected(not_finished("workflow", id, told.error()));
    waits->told().reset();
  }
}

}  // namespace

End Tasks::wait(const TaskId& id, std::chrono::milliseconds timeout) const {
  return wait(id, {.deadline = within(timeout), .stop = {}});
}

End Tasks::wait(const TaskId& id, const Wait& limits) const {
  if (auto* const there = core_->elsewhere()) {
    auto end = or_error<Task>([&] { return there->wait_for_task(id, limits); });
    if (end) core_->encoding().decode(*end);
    return end;
  }
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
  if (auto* const there = core_->elsewhere()) {
    auto end = or_error<WorkflowLook>([&] { return there->wait_for_workflow(id, limits); });
    if (end) core_->encoding().decode(*end);
    return end;
  }
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
    if (store->elsewhere() != nullptr) {
      auto lazy = async_wait_elsewhere(store, workflow, until);
      co_return co_await std::move(lazy);
    }
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
      auto lazy = async_look(store, task);
      auto end = co_await std::move(lazy);
      if (end) co_return *std::move(end);
      const auto told = co_await waits.told().async_wait(until);
      if (!told) co_return std::unexpected(not_finished("task", task, told.error()));
      waits.told().reset();
    }
  }(core, id, deadline);
}

std::expected<Notice, TaskError> Tasks::on_finished(const TaskId& id, OnFinished callback) const {
  auto notice = std::make_shared<NoticeCore>(id, std::move(callback));
  if (auto* const there = core_->elsewhere()) there->listen();
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
  if (auto* const there = core_->elsewhere()) there->listen();
  return Watch(std::move(core));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
