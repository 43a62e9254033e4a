// What happens to tasks, one event after the other.
//
//   auto watch = tasks.watch({.queue = "email"});
//   while (auto event = watch.take({.stop = stop})) {
//     if (event->missed > 0) reload();                       // it was too slow: so many were lost before this one
//     show(event->id, event->state);
//   }
//
//            waits     now or refused    within a time    awaits
//   take     take      poll()            poll(100ms)      async_take(), async_take(within(100ms))
//
// It sees what this process commits, in that order, from the call of watch() on: each state that a task comes to, and `running` once more for progress. What other processes do
// to the file it does not see; of a store that a server has it sees what everybody does there. It holds so many events; who does not take them loses the oldest, and is told how many. A commit never waits for a reader.
//
// Refused with `closed` once the store is closed and all is taken; with `timed_out`, `stopped` or `empty` as queues are.
// Thread safety: one thread or coroutine at a time. Dropping it ends it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "handoff/lazy.hpp"
#include "handoff/refusal.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

struct WatchOptions {
  std::string queue{};          // Empty: all of them.
  std::size_t capacity = 1024;  // Events that are held. At least 1.
};

struct TaskEvent {
  TaskId id;
  std::string queue;
  TaskState state = TaskState::ready;
  Time at;
  std::uint64_t missed = 0;  // So many were lost between the one taken before and this one.
};

class WatchCore;

class Watch {
 public:
  using Result = std::expected<TaskEvent, Refusal>;

  Watch(Watch&&) noexcept = default;
  Watch& operator=(Watch&&) noexcept = default;
  ~Watch();

  [[nodiscard]] Result take(const Wait& wait = {});
  [[nodiscard]] Result poll();
  template <typename Rep, typename Period>
  [[nodiscard]] Result poll(std::chrono::duration<Rep, Period> patience) {
    return take({.deadline = within(patience), .stop = {}});
  }
  [[nodiscard]] Lazy<Result> async_take(Deadline deadline = {});

  // In all, those that no event has told of yet included.
  std::uint64_t missed() const;

 private:
  friend class Tasks;
  explicit Watch(std::shared_ptr<WatchCore> core) : core_(std::move(core)) {}
  std::shared_ptr<WatchCore> core_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
