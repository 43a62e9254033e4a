#include "handoff/tasks/tasks.hpp"

#include <fmt/format.h>

#include <charconv>

#include "handoff/tasks/limits.hpp"
#include "tasks/clock.hpp"
#include "tasks/core.hpp"
#include "tasks/stores/sqlite/sqlite_store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

std::unexpected<TaskError> bad_request(std::string field, std::string message) {
  return std::unexpected(TaskError{.code = TaskError::Code::bad_request,
                                   .message = std::move(message),
                                   .field = std::move(field)});
}

TaskError from_refusal(Refusal refusal, std::string message) {
  using enum TaskError::Code;
  const auto code = refusal == Refusal::stopped     ? stopped
                    : refusal == Refusal::timed_out ? timed_out
                                                    : closed;
  return {.code = code, .message = std::move(message), .field = {}};
}

// Runs it in a shared transaction. What the store cannot do is a value.
template <typename T, typename Work>
std::expected<T, TaskError> transact(TasksCore& core, Work work) {
  std::expected<T, TaskError> result = std::unexpected(TaskError());
  try {
    core.batcher().run([&](Transaction& transaction) { result = work(transaction); });
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
  return result;
}

}  // namespace

std::expected<Tasks, TaskError> open(std::string_view where, const OpenOptions& options) {
  constexpr std::string_view sqlite_prefix = "sqlite:";
  sqlite::SqliteOptions chosen{
      .path = {},
      .is_fast = options.fast,
      .clock = options.clock == nullptr ? &TaskClock::real() : options.clock};
  if (where.starts_with(sqlite_prefix) && where.size() > sqlite_prefix.size()) {
    chosen.path = where.substr(sqlite_prefix.size());
  } else if (where != "memory:") {
    return bad_request(
        "where", fmt::format("a store is \"sqlite:<path>\" or \"memory:\", got \"{}\"", where));
  }
  try {
    const TaskClock& clock = *chosen.clock;
    const std::string file = chosen.path;
    auto store = std::make_unique<sqlite::SqliteStore>(std::move(chosen));
    return Tasks(std::make_shared<TasksCore>(std::move(store), file, clock));
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

// -- Handing in -----------------------------------------------------------------------------------

std::expected<Enqueued, TaskError> Tasks::enqueue(const NewTask& task) const {
  auto all = enqueue(std::span(&task, 1));
  if (!all) return std::unexpected(std::move(all.error()));
  return all->front();
}

namespace {
// How long an enqueue may wait for room in a queue.
struct Patience {
  WhenFull when_full = WhenFull::reject;
  Millis block_for{};
};
}  // namespace

std::expected<std::vector<Enqueued>, TaskError> Tasks::enqueue(
    std::span<const NewTask> tasks) const {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    auto error = check_task(tasks[i], "");
    if (error && tasks.size() > 1) error = check_task(tasks[i], fmt::format("[{}].", i));
    if (error) return std::unexpected(std::move(*error));
  }
  if (tasks.empty()) return std::vector<Enqueued>();
  // Those for whom there is no room may wait, if the queue of the first says so.
  const std::string& queue = tasks.front().queue;
  Listeners::Waiting waiting;
  std::optional<Deadline> deadline;
  for (;;) {
    Patience patience;
    auto inserted = transact<std::vector<Enqueued>>(*core_, [&](Transaction& transaction) {
      auto result = transaction.insert(tasks);
      if (!result && result.error().code == TaskError::Code::full) {
        const auto settings = transaction.look(queue).settings;
        patience = {.when_full = settings.when_full, .block_for = settings.block_for};
      }
      return result;
    });
    const bool waits = !inserted && inserted.error().code == TaskError::Code::full &&
                       patience.when_full == WhenFull::block;
    if (!waits) {
      if (deadline) core_->listeners().remove_wait_for_room(queue, waiting);
      return inserted;
    }
    if (!deadline) {
      // Registered first, and tried once more: room that came in between is seen.
      core_->listeners().add_wait_for_room(queue, waiting);
      deadline = within(patience.block_for);
      continue;
    }
    if (!waiting.told.wait({.deadline = *deadline, .stop = {}})) {
      core_->listeners().remove_wait_for_room(queue, waiting);
      return inserted;
    }
    waiting.told.reset();
  }
}

std::expected<Enqueued, TaskError> Tasks::enqueue_in(sqlite3* connection,
                                                     const NewTask& task) const {
  if (auto error = check_task(task, "")) return std::unexpected(std::move(*error));
  if (connection == nullptr || sqlite3_get_autocommit(connection) != 0) {
    return bad_request("connection",
                       "enqueue_in() needs a connection with a transaction that was begun");
  }
  try {
    return sqlite::insert_in(connection, task, core_->clock());
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

// -- Looking --------------------------------------------------------------------------------------

std::optional<Task> Tasks::get(const TaskId& id) const {
  std::optional<Task> task;
  core_->store().read([&](Transaction& transaction) { task = transaction.get(id); });
  return task;
}

std::expected<TaskList, TaskError> Tasks::list(const ListOptions& options) const {
  if (const auto good = check_range(options.limit, 1, 1000, "limit"); !good) {
    return bad_request(good.error().field, good.error().message);
  }
  TaskFilter filter{.queue = options.queue,
                    .kind = options.kind,
                    .state = options.state,
                    .group = options.group,
                    .limit = options.limit,
                    .before = std::nullopt};
  if (!options.cursor.empty()) {
    std::int64_t before = 0;
    const char* const end = options.cursor.data() + options.cursor.size();
    if (std::from_chars(options.cursor.data(), end, before).ptr != end) {
      return bad_request("cursor", "cursor must be the next_cursor of an earlier page");
    }
    filter.before = before;
  }
  try {
    TaskPage page;
    core_->store().read([&](Transaction& transaction) { page = transaction.list(filter); });
    return TaskList{.tasks = std::move(page.tasks),
                    .next_cursor = page.next ? fmt::to_string(*page.next) : ""};
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

std::expected<Task, TaskError> Tasks::wait(const TaskId& id,
                                           std::chrono::milliseconds timeout) const {
  return wait(id, {.deadline = within(timeout), .stop = {}});
}

std::expected<Task, TaskError> Tasks::wait(const TaskId& id, const Wait& limits) const {
  Listeners::Waiting waiting;
  core_->listeners().add_wait(id, waiting);
  struct Leave {
    ~Leave() { listeners.remove_wait(id, waiting); }
    Listeners& listeners;
    const TaskId& id;
    Listeners::Waiting& waiting;
  } const leave{core_->listeners(), id, waiting};
  for (;;) {
    std::optional<Task> task;
    try {
      task = get(id);
    } catch (...) {
      return std::unexpected(to_error(std::current_exception()));
    }
    if (!task) {
      return std::unexpected(
          TaskError{.code = TaskError::Code::not_found,
                    .message = fmt::format("there is no task {}", id.to_string()),
                    .field = "id"});
    }
    if (is_finished(task->state)) return *std::move(task);
    if (const auto told = waiting.told.wait(limits); !told) {
      return std::unexpected(
          from_refusal(told.error(),
                       fmt::format("task {} is still {}", id.to_string(), to_string(task->state))));
    }
    waiting.told.reset();
  }
}

QueueLook Tasks::queue(std::string_view name) const {
  QueueLook look;
  core_->store().read([&](Transaction& transaction) { look = transaction.look(name); });
  return look;
}

std::vector<QueueLook> Tasks::queues() const {
  std::vector<QueueLook> looks;
  core_->store().read([&](Transaction& transaction) { looks = transaction.look_at_all(); });
  return looks;
}

void Tasks::on_change(std::function<void(const TaskId&, TaskState)> hook) const {
  core_->listeners().set_hook(std::move(hook));
}

// -- Changing -------------------------------------------------------------------------------------

std::expected<TaskState, TaskError> Tasks::cancel(const TaskId& id, std::string_view reason) const {
  return transact<TaskState>(
      *core_, [&](Transaction& transaction) { return transaction.cancel(id, reason); });
}

std::expected<TaskState, TaskError> Tasks::retry(const TaskId& id) const {
  return transact<TaskState>(*core_,
                             [&](Transaction& transaction) { return transaction.replay(id); });
}

namespace {
std::optional<TaskError> check_name(std::string_view queue) {
  const auto good = check_queue(queue);
  if (good) return std::nullopt;
  return TaskError{
      .code = TaskError::Code::bad_request, .message = good.error().message, .field = "queue"};
}
}  // namespace

std::expected<void, TaskError> Tasks::configure(std::string_view queue,
                                                const QueueSettings& settings) const {
  if (auto error = check_name(queue)) return std::unexpected(std::move(*error));
  if (auto error = check_settings(settings)) return std::unexpected(std::move(*error));
  return transact<void>(*core_, [&](Transaction& transaction) {
    transaction.configure(queue, settings);
    return std::expected<void, TaskError>();
  });
}

std::expected<void, TaskError> Tasks::pause(std::string_view queue) const {
  if (auto error = check_name(queue)) return std::unexpected(std::move(*error));
  return transact<void>(*core_, [&](Transaction& transaction) {
    transaction.pause(queue, true);
    return std::expected<void, TaskError>();
  });
}

std::expected<void, TaskError> Tasks::resume(std::string_view queue) const {
  if (auto error = check_name(queue)) return std::unexpected(std::move(*error));
  return transact<void>(*core_, [&](Transaction& transaction) {
    transaction.pause(queue, false);
    return std::expected<void, TaskError>();
  });
}

std::expected<std::int64_t, TaskError> Tasks::purge(std::string_view queue, TaskState state) const {
  if (state == TaskState::running) {
    return bad_request("state", "state must not be running: cancel those tasks instead");
  }
  constexpr int at_once = 500;
  std::int64_t purged = 0;
  for (;;) {
    const auto chore = transact<Chore>(*core_, [&](Transaction& transaction) {
      return std::expected<Chore, TaskError>(transaction.purge(queue, state, at_once));
    });
    if (!chore) return std::unexpected(chore.error());
    purged += chore->done;
    if (!chore->has_more) return purged;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
