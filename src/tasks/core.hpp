// A store that is open: what gathers calls, keeps time, and tells those who wait.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "handoff/detail/pool/failure_log.hpp"
#include "handoff/tasks/tasks.hpp"
#include "tasks/batcher.hpp"
#include "tasks/encoding.hpp"
#include "tasks/keeper.hpp"
#include "tasks/listeners.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace sqlite {
struct SqliteOptions;
}
namespace remote {
struct RemoteOptions;
}

class TasksCore {
 public:
  TasksCore(std::unique_ptr<Store> store, const std::string& file, const TaskClock& clock,
            std::shared_ptr<const PayloadCodec> codec);
  ~TasksCore();

  Batcher& batcher() { return batcher_; }
  Store& store() { return *store_; }
  Listeners& listeners() { return listeners_; }
  Keeper& keeper() { return *keeper_; }  // There is none if the store is elsewhere.
  Elsewhere* elsewhere() { return store_->elsewhere(); }
  // All that is due by now, if time is kept here.
  void work_now();
  // What has happened elsewhere: this, or who knows what.
  void heard(const Changes& changes);
  void changed_by_others();
  const TaskClock& clock() const { return clock_; }
  const Encoding& encoding() const { return encoding_; }

  // Tasks that a full queue drops: counted, and said in the log at most once a second.
  void note_drop(std::string_view queue, std::size_t tasks);
  std::uint64_t dropped() const { return dropped_; }
  // Called after each commit of this process, one at a time; it must be short. Nothing, to end that: afterwards nobody calls it.
  using Observer = std::function<void(const Changes&)>;
  void observe(Observer observer);
  // The same, of tasks that a full queue has refused to this process: all of a batch, for the queue that was full.
  using FullObserver = std::function<void(std::string_view queue, std::size_t tasks)>;
  void observe_full(FullObserver observer);
  void note_full(std::string_view queue, std::size_t tasks);
  // What wait() returns, if that is over; nothing while the task is not finished. Throws what the store does.
  std::optional<std::expected<Task, TaskError>> look_at_end(const TaskId& id);
  // Calls those who want to know of tasks that have finished.
  void call_notices();

 private:
  void committed(const Changes& changes);
  void tell_who_waits();
  void look_for_cancelled();

  const TaskClock& clock_;
  const Encoding encoding_;
  const std::unique_ptr<Store> store_;
  Listeners listeners_;
  Batcher batcher_;
  handoff::detail::atomic<std::uint64_t> dropped_{0};
  handoff::detail::FailureLog drop_log_;
  Mutex observing_{{.name = "an observer of tasks"}};
  Observer observer_;               // Guarded by observing_.
  FullObserver full_observer_;      // The same.
  std::unique_ptr<Keeper> keeper_;  // Last: its thread uses all of the above.
};

// For the library itself.
struct TasksAccess {
  // With options that users have no use for. Throws sqlite::Failure.
  static Tasks open(sqlite::SqliteOptions options, std::shared_ptr<const PayloadCodec> codec = {});
  // One that a server has.
  static Tasks open(remote::RemoteOptions options, std::shared_ptr<const PayloadCodec> codec);
  static TasksCore& core(const Tasks& tasks) { return *tasks.core_; }
  static std::shared_ptr<TasksCore> shared_core(const Tasks& tasks) { return tasks.core_; }
};

// Whatever is wrong with it. `field` is put before the names of its fields: "[17].".
std::optional<TaskError> check_task(const NewTask& task, std::string_view prefix);
std::optional<TaskError> check_settings(const QueueSettings& settings);

// What calls about a store throw, as a value.
TaskError to_error(std::exception_ptr thrown);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
