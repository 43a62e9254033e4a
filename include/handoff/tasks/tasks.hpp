// Tasks that survive a crash: a queue in a file, inside your own process.
//
//   auto tasks = handoff::tasks::open("sqlite:shop.db").value();            // or "memory:"
//   auto mail = tasks.enqueue(WelcomeEmail{"new@example.org", "new user"}, {.queue = "email", .max_attempts = 8});
//   if (!mail) return busy(mail.error().message);                           // queue "email" holds 10000 of 10000 tasks
//   auto task = tasks.wait(mail->id, 30s);                                  // until it is done, dead or cancelled
//
// Promises:
// - What enqueue() has accepted is stored: it answers after the commit, and the commit is on the disk (unless the store was opened as `fast`).
// - A task runs at least once, until it is done, dead or cancelled; its end is recorded once, by who holds its lease.
// - Each queue has a capacity. A full one refuses new tasks; what is in it can always be finished, retried or cancelled.
// Not promised: that a task runs once only. A worker may die after the work and before it could say so; docs/guide tells what to do about it.
//
// Calls of many threads share their commits. Several processes of one machine may have the same file open, to enqueue and to work.
//
// Thread safety: a Tasks is a handle; copies share the store, which is closed with the last. Any member, any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/detail/actor/message_view.hpp"
#include "handoff/lazy.hpp"
#include "handoff/tasks/clock.hpp"
#include "handoff/tasks/codec.hpp"
#include "handoff/tasks/error.hpp"
#include "handoff/tasks/notice.hpp"
#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/queue.hpp"
#include "handoff/tasks/task.hpp"
#include "handoff/tasks/watch.hpp"
#include "handoff/wait.hpp"

struct sqlite3;

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class TasksCore;

struct OpenOptions {
  bool fast =
      false;  // Commits are not synced: if the machine's power fails, its last moments may be lost. A crash of the process loses nothing.
  std::shared_ptr<const PayloadCodec> codec = {};  // How payloads are stored: see codec.hpp.
  const TaskClock* clock = nullptr;                // For tests: see testing.hpp.
};

struct ListOptions {
  std::string queue{};
  std::string kind{};
  std::optional<TaskState> state{};
  std::string group{};
  int limit = 100;  // 1 to 1000.
  std::string cursor{};
};

struct TaskList {
  std::vector<Task> tasks;  // Newest first; without errors and `after`.
  std::string next_cursor;  // Empty: there are no more.
};

// Which kind a payload of type T is for: its name without namespaces, or T::kind if it has one.
template <typename T>
std::string kind_of() {
  if constexpr (requires { std::string(T::kind); }) {
    return std::string(T::kind);
  } else {
    return std::string(
        handoff::detail::without_namespaces(handoff::detail::name_from_compiler<T>()));
  }
}

class Tasks {
 public:
  // -- Handing in --------------------------------------------------------------------------------

  std::expected<Enqueued, TaskError> enqueue(const NewTask& task) const;
  // All or none. An error's field names the index.
  std::expected<std::vector<Enqueued>, TaskError> enqueue(std::span<const NewTask> tasks) const;
  // A described struct: see payload.hpp. The kind is kind_of<T>() unless the options say another.
  template <typename T>
    requires(!std::same_as<T, NewTask> && !std::convertible_to<const T&, std::span<const NewTask>>)
  std::expected<Enqueued, TaskError> enqueue(const T& payload, NewTask options = {}) const {
    auto json = to_json(payload);
    if (!json) {
      return std::unexpected(TaskError{.code = TaskError::Code::bad_request,
                                       .message = "payload: " + json.error().to_string(),
                                       .field = "payload"});
    }
    options.payload = std::move(*json).text();
    if (options.kind.empty()) options.kind = kind_of<T>();
    return enqueue(options);
  }
  // Inside a transaction of yours on the same file: it is there if and when you commit. Workers of this process see it at once, as they see what other processes enqueue.
  // Begin it with "begin immediate", on a connection with a sqlite3_busy_timeout: others write too.
  std::expected<Enqueued, TaskError> enqueue_in(sqlite3* connection, const NewTask& task) const;

  // -- Looking -----------------------------------------------------------------------------------

  std::optional<Task> get(const TaskId& id) const;
  std::expected<TaskList, TaskError> list(const ListOptions& options = {}) const;
  // Until it is done, dead or cancelled. `timed_out`, `stopped` or `not_found` otherwise.
  std::expected<Task, TaskError> wait(const TaskId& id, const Wait& wait = {}) const;
  std::expected<Task, TaskError> wait(const TaskId& id, std::chrono::milliseconds timeout) const;
  // The same for coroutines: the stop_token is that of the running task.
  Lazy<std::expected<Task, TaskError>> async_wait(TaskId id, Deadline deadline = {}) const;
  // The same as a call: see notice.hpp. Refused with `not_found`.
  using OnFinished = std::function<void(std::expected<Task, TaskError>)>;
  std::expected<Notice, TaskError> on_finished(const TaskId& id, OnFinished callback) const;
  // What happens from now on: see watch.hpp. Throws std::invalid_argument if the capacity is 0.
  Watch watch(WatchOptions options = {}) const;
  // What its handlers have said: see Context::log().
  std::vector<LogLine> log(const TaskId& id) const;
  QueueLook queue(std::string_view name) const;
  std::vector<QueueLook> queues() const;

  // -- Changing ----------------------------------------------------------------------------------

  // Also while it runs: its handler is asked to stop, and what it says no longer counts. Returns in which state it was.
  std::expected<TaskState, TaskError> cancel(const TaskId& id, std::string_view reason = {}) const;
  // A finished one, from the beginning.
  std::expected<TaskState, TaskError> retry(const TaskId& id) const;
  std::expected<void, TaskError> configure(std::string_view queue,
                                           const QueueSettings& settings) const;
  std::expected<void, TaskError> pause(std::string_view queue) const;
  std::expected<void, TaskError> resume(std::string_view queue) const;
  // Forgets all tasks of a queue in one state; not those that run. Returns how many.
  std::expected<std::int64_t, TaskError> purge(std::string_view queue, TaskState state) const;

 private:
  friend class Worker;
  friend struct TasksAccess;
  friend std::expected<Tasks, TaskError> open(std::string_view where, const OpenOptions& options);
  explicit Tasks(std::shared_ptr<TasksCore> core) : core_(std::move(core)) {}
  std::shared_ptr<TasksCore> core_;
};

// "sqlite:<path>", made if it is not there; "memory:" is gone with the last handle. What processes that have died were at is taken back at once.
std::expected<Tasks, TaskError> open(std::string_view where, const OpenOptions& options = {});

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
