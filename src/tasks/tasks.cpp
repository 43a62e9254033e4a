#include "handoff/tasks/tasks.hpp"

#include <fmt/format.h>

#include "handoff/tasks/limits.hpp"
#include "tasks/call.hpp"
#include "tasks/core.hpp"
#include "tasks/stores/sqlite/sqlite_store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

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
  if (options.codec) {
    if (const auto good = check_queue(options.codec->name(), "codec"); !good) {
      return bad_request(good.error().field, good.error().message);
    }
  }
  try {
    return TasksAccess::open(std::move(chosen), options.codec);
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

// -- Handing in -----------------------------------------------------------------------------------

std::expected<Enqueued, TaskError> Tasks::enqueue_in(sqlite3* connection,
                                                     const NewTask& task) const {
  if (auto error = check_task(task, "")) return std::unexpected(std::move(*error));
  if (connection == nullptr || sqlite3_get_autocommit(connection) != 0) {
    return bad_request("connection",
                       "enqueue_in() needs a connection with a transaction that was begun");
  }
  NewTask encoded = task;
  if (auto error = core_->encoding().encode(encoded, "")) return std::unexpected(std::move(*error));
  try {
    return sqlite::insert_in(connection, encoded, core_->clock());
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

// -- Looking --------------------------------------------------------------------------------------

std::optional<Task> Tasks::get(const TaskId& id) const {
  std::optional<Task> task;
  core_->store().read([&](Transaction& transaction) { task = transaction.get(id); });
  if (task) core_->encoding().decode(*task);
  return task;
}

std::vector<LogLine> Tasks::log(const TaskId& id) const {
  std::vector<LogLine> lines;
  core_->store().read([&](Transaction& transaction) { lines = transaction.lines_of(id); });
  return lines;
}

std::expected<TaskList, TaskError> Tasks::list(const ListOptions& options) const {
  if (const auto good = check_range(options.limit, 1, 1000, "limit"); !good) {
    return bad_request(good.error().field, good.error().message);
  }
  const auto before = read_cursor(options.cursor);
  if (!before) return std::unexpected(before.error());
  TaskFilter filter{.queue = options.queue,
                    .kind = options.kind,
                    .state = options.state,
                    .group = options.group,
                    .error = options.error,
                    .limit = options.limit,
                    .before = *before,
                    .has_payloads = options.has_payloads};
  auto page =
      look<TaskPage>(*core_, [&](Transaction& transaction) { return transaction.list(filter); });
  if (!page) return std::unexpected(std::move(page.error()));
  for (Task& each : page->tasks) core_->encoding().decode(each);
  return TaskList{.tasks = std::move(page->tasks),
                  .next_cursor = page->next ? fmt::to_string(*page->next) : ""};
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
