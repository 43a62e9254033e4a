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
// A store that cannot be read or written now (its disk is full, its file is locked for more than ten seconds, or damaged) answers `unavailable`, with a message that says what to do. Nothing is stored
// by halves, and all goes on once the cause is gone. get(), queue() and queues(), which have no error to return, throw std::runtime_error then.
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

#include "handoff/lazy.hpp"
#include "handoff/tasks/clock.hpp"
#include "handoff/tasks/codec.hpp"
#include "handoff/tasks/error.hpp"
#include "handoff/tasks/explain.hpp"
#include "handoff/tasks/kind.hpp"
#include "handoff/tasks/notice.hpp"
#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/queue.hpp"
#include "handoff/tasks/schedule.hpp"
#include "handoff/tasks/task.hpp"
#include "handoff/tasks/watch.hpp"
#include "handoff/tasks/workflow.hpp"
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
  std::string error{};  // Why it is dead or cancelled, in the same words: see DeadGroup::reason.
  int limit = 100;      // 1 to 1000.
  std::string cursor{};
  bool has_payloads = true;  // Without, neither payloads nor results are read.
};

struct TaskList {
  std::vector<Task>
      tasks;  // Newest first; without errors and `after`. Fewer than the limit if they are large (8 MiB are a page), or if 100,000 others had to be skipped.
  std::string next_cursor;  // Empty: there are no more.
};

// Which tasks are meant. A text that is empty means any.
struct BulkFilter {
  std::string queue{};
  std::string kind{};
  std::string group{};
  TaskState state = TaskState::dead;
  std::string error{};  // See DeadGroup::reason.
};

class Tasks {
 public:
  // -- Handing in --------------------------------------------------------------------------------

  std::expected<Enqueued, TaskError> enqueue(const NewTask& task) const;
  // All or none. An error's field names the index.
  std::expected<std::vector<Enqueued>, TaskError> enqueue(std::span<const NewTask> tasks) const;
  // The same for coroutines, which hold no thread meanwhile. Who is asked to stop while it waits gets `stopped`; the task may be stored all the same.
  Lazy<std::expected<Enqueued, TaskError>> async_enqueue(NewTask task) const;
  Lazy<std::expected<std::vector<Enqueued>, TaskError>> async_enqueue(
      std::vector<NewTask> tasks) const;
  // A described struct: see payload.hpp. The kind is kind_of<T>() unless the options say another.
  template <typename T>
    requires(!std::same_as<T, NewTask> && !std::convertible_to<const T&, std::span<const NewTask>>)
  std::expected<Enqueued, TaskError> enqueue(const T& payload, NewTask options = {}) const {
    const auto task = task_of(payload, std::move(options));
    if (!task) return std::unexpected(task.error());
    return enqueue(*task);
  }
  template <typename T>
    requires(!std::same_as<T, NewTask> && !std::same_as<T, std::vector<NewTask>>)
  Lazy<std::expected<Enqueued, TaskError>> async_enqueue(const T& payload,
                                                         NewTask options = {}) const {
    return async_enqueue_if(task_of(payload, std::move(options)));
  }
  // Inside a transaction of yours on the same file: it is there if and when you commit. Workers of this process see it at once, as they see what other processes enqueue.
  // Begin it with "begin immediate", on a connection with a sqlite3_busy_timeout: others write too.
  std::expected<Enqueued, TaskError> enqueue_in(sqlite3* connection, const NewTask& task) const;
  template <typename T>
    requires(!std::same_as<T, NewTask>)
  std::expected<Enqueued, TaskError> enqueue_in(sqlite3* connection, const T& payload,
                                                NewTask options = {}) const {
    const auto task = task_of(payload, std::move(options));
    if (!task) return std::unexpected(task.error());
    return enqueue_in(connection, *task);
  }

  // -- Workflows and schedules -------------------------------------------------------------------

  // All of its tasks, or none. See workflow.hpp.
  std::expected<StartedWorkflow, TaskError> start(const Workflow& workflow) const;
  std::optional<WorkflowLook> workflow(const WorkflowId& id) const;
  std::expected<WorkflowList, TaskError> workflows(int limit = 100,
                                                   std::string_view cursor = {}) const;
  // Until all steps have ended. `timed_out`, `stopped` or `not_found` otherwise.
  std::expected<WorkflowLook, TaskError> wait_workflow(const WorkflowId& id,
                                                       const Wait& wait = {}) const;
  std::expected<WorkflowLook, TaskError> wait_workflow(const WorkflowId& id,
                                                       std::chrono::milliseconds timeout) const;
  Lazy<std::expected<WorkflowLook, TaskError>> async_wait_workflow(WorkflowId id,
                                                                   Deadline deadline = {}) const;
  // Whatever of it has not ended.
  std::expected<void, TaskError> cancel_workflow(const WorkflowId& id,
                                                 std::string_view reason = {}) const;
  // Its steps that are dead or cancelled, once more. Returns how many.
  std::expected<int, TaskError> retry_workflow(const WorkflowId& id) const;

  // Made, or changed. See schedule.hpp.
  std::expected<ScheduleLook, TaskError> schedule(const Schedule& schedule) const;
  std::optional<ScheduleLook> schedule(std::string_view name) const;
  std::vector<ScheduleLook> schedules() const;
  // `not_found` if there is none of that name.
  std::expected<void, TaskError> unschedule(std::string_view name) const;
  std::expected<void, TaskError> pause_schedule(std::string_view name) const;
  std::expected<void, TaskError> resume_schedule(std::string_view name) const;

  // -- Looking -----------------------------------------------------------------------------------

  // Why it is not running.
  std::expected<Explanation, TaskError> explain(const TaskId& id) const;
  std::vector<WorkerLook> workers() const;
  // Dead tasks by kind and reason, the most frequent first; of one queue, or of all.
  std::vector<DeadGroup> dead(std::string_view queue = {}) const;
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
  // All that are meant, some at a time. Returns how many.
  std::expected<std::int64_t, TaskError> retry_all(const BulkFilter& filter) const;
  std::expected<std::int64_t, TaskError> cancel_all(const BulkFilter& filter,
                                                    std::string_view reason = {}) const;
  // How many that would be now.
  std::expected<std::int64_t, TaskError> count(const BulkFilter& filter) const;
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
  template <typename T>
  static std::expected<NewTask, TaskError> task_of(const T& payload, NewTask options) {
    auto json = to_json(payload);
    if (!json) {
      return std::unexpected(TaskError{.code = TaskError::Code::bad_request,
                                       .message = "payload: " + json.error().to_string(),
                                       .field = "payload"});
    }
    options.payload = std::move(*json).text();
    if (options.kind.empty()) options.kind = kind_of<T>();
    return options;
  }
  Lazy<std::expected<Enqueued, TaskError>> async_enqueue_if(
      std::expected<NewTask, TaskError> task) const;
  std::shared_ptr<TasksCore> core_;
};

// "sqlite:<path>", made if it is not there; "memory:" is gone with the last handle. What processes that have died were at is taken back at once.
std::expected<Tasks, TaskError> open(std::string_view where, const OpenOptions& options = {});

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
