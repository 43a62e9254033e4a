#include "tasks/core.hpp"

#include <fmt/format.h>

#include <utility>

#include "tasks/notice_core.hpp"
#include "tasks/remote/remote_store.hpp"
#include "tasks/stores/sqlite/sqlite_store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

TasksCore::TasksCore(std::unique_ptr<Store> store, const std::string& file, const TaskClock& clock,
                     std::shared_ptr<const PayloadCodec> codec)
    : clock_(clock),
      encoding_(std::move(codec)),
      store_(std::move(store)),
      batcher_(*store_, {.committed = [this](const Changes& changes) { committed(changes); },
                         .is_wanted_afterwards = [this] { return listeners_.has_due(); },
                         .afterwards = [this] { call_notices(); }}) {
  if (elsewhere() != nullptr) return;  // Time is kept there.
  keeper_ = std::make_unique<Keeper>(
      batcher_,
      Keeper::Options{.store = file,
                      .clock = &clock,
                      .is_changed_by_others = [this] { return store_->is_changed_by_others(); },
                      .changed_by_others = [this] { changed_by_others(); },
                      .somebody_is_gone = [this] { committed(store_->reclaim_from_the_dead()); }});
  keeper_->start();
  clock_.subscribe(this, [this] { keeper_->work_now(); });
}

TasksCore::~TasksCore() {
  store_->close();
  batcher_.finish();
  clock_.unsubscribe(this);
}

void TasksCore::note_drop(std::string_view queue, std::size_t tasks) {
  const std::uint64_t all = dropped_.fetch_add(tasks) + tasks;
  drop_log_.note(
      fmt::format("tasks: queue \"{}\" is full and drops what is new: {} so far", queue, all));
}

void TasksCore::observe(Observer observer) {
  const auto alone = observing_.hold();
  observer_ = std::move(observer);
}

void TasksCore::observe_full(FullObserver observer) {
  const auto alone = observing_.hold();
  full_observer_ = std::move(observer);
}

void TasksCore::note_full(std::string_view queue, std::size_t tasks) {
  const auto alone = observing_.hold();
  if (full_observer_) full_observer_(queue, tasks);
}

void TasksCore::committed(const Changes& changes) {
  {
    const auto alone = observing_.hold();
    if (observer_) observer_(changes);
  }
  listeners_.tell(changes);
  if (changes.due_in && keeper_) keeper_->due_in(*changes.due_in);
}

Tasks TasksAccess::open(sqlite::SqliteOptions options, std::shared_ptr<const PayloadCodec> codec) {
  const TaskClock& clock = *options.clock;
  const std::string file = options.path;
  auto store = std::make_unique<sqlite::SqliteStore>(std::move(options));
  return Tasks(std::make_shared<TasksCore>(std::move(store), file, clock, std::move(codec)));
}

Tasks TasksAccess::open(remote::RemoteOptions options, std::shared_ptr<const PayloadCodec> codec) {
  const TaskClock& clock = *options.clock;
  auto store = std::make_unique<remote::RemoteStore>(std::move(options));
  remote::RemoteStore& server = *store;
  auto core = std::make_shared<TasksCore>(std::move(store), "", clock, std::move(codec));
  TasksCore& hears = *core;
  server.tell({.happened = [&hears](const Changes& changes) { hears.heard(changes); },
               .may_have_happened = [&hears] { hears.changed_by_others(); },
               .missed = [&hears](std::uint64_t events) { hears.listeners().tell_missed(events); },
               .cancelled =
                   [&hears](std::span<const TaskId> ids) { hears.listeners().tell_cancelled(ids); },
               .has_claimed = [&hears] { hears.listeners().tell_all(); }});
  return Tasks(std::move(core));
}

void TasksCore::heard(const Changes& changes) {
  committed(changes);
  call_notices();
}

void TasksCore::work_now() {
  if (keeper_) keeper_->work_now();
}

// Handlers are to hear of it soon, not with their next heartbeat.
void TasksCore::look_for_cancelled() {
  const std::vector<TaskId> tasks = listeners_.in_hand();
  if (tasks.empty()) return;
  std::vector<std::optional<TaskState>> states;
  store_->read([&](Transaction& transaction) { states = transaction.states_of(tasks); });
  std::vector<TaskId> cancelled;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (states[i] == TaskState::cancelled) cancelled.push_back(tasks[i]);
  }
  listeners_.tell_cancelled(cancelled);
}

// Somebody waits: are those finished?
void TasksCore::changed_by_others() {
  listeners_.tell_all();
  tell_who_waits();
  call_notices();
  try {
    look_for_cancelled();
  } catch (const std::exception&) {
    // Handlers hear of it with their next heartbeat.
  }
}

void TasksCore::tell_who_waits() {
  std::vector<TaskId> tasks = listeners_.waited_for();
  if (tasks.empty()) return;
  try {
    std::vector<std::optional<TaskState>> states;
    store_->read([&](Transaction& transaction) { states = transaction.states_of(tasks); });
    std::size_t i = 0;
    std::erase_if(tasks, [&](const TaskId&) {
      const auto& state = states[i++];
      return state && !is_finished(*state);
    });
  } catch (const std::exception&) {
    // They look for themselves, and see what is wrong.
  }
  listeners_.tell_finished(tasks);
}

std::optional<std::expected<Task, TaskError>> TasksCore::look_at_end(const TaskId& id) {
  std::optional<Task> task;
  store_->read([&](Transaction& transaction) { task = transaction.get(id); });
  if (!task) {
    return std::unexpected(TaskError{.code = TaskError::Code::not_found,
                                     .message = fmt::format("there is no task {}", id.to_string()),
                                     .field = "id"});
  }
  if (!is_finished(task->state)) return std::nullopt;
  encoding_.decode(*task);
  return *std::move(task);
}

void TasksCore::call_notices() {
  // A callback may finish other tasks: those of the same store are called after it, not inside.
  thread_local const TasksCore* is_calling = nullptr;
  if (is_calling == this) return;
  const TasksCore* const outer = std::exchange(is_calling, this);
  for (auto due = listeners_.take_due(); !due.empty(); due = listeners_.take_due()) {
    for (const auto& each : due) {
      try {
        auto end = look_at_end(each->id);
        if (!end) {  // Somebody runs it again.
          listeners_.add_notice(each);
          end = look_at_end(each->id);
          if (end) listeners_.remove_notice(*each);
        }
        if (end) each->call(*std::move(end));
      } catch (...) {
        const TaskError error = to_error(std::current_exception());
        // The store is being closed, and nobody is told any more.
        if (error.code != TaskError::Code::stopped) each->call(std::unexpected(error));
      }
    }
  }
  is_calling = outer;
}

TaskError to_error(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const StoreFailure& failure) {
    return failure.error;
  } catch (const std::exception& error) {
    return {.code = TaskError::Code::internal, .message = error.what(), .field = {}};
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
