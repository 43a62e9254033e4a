// How tasks are handed in: checked, stored in a shared transaction, and once more when there is room, if their queue says so.
#include <fmt/format.h>

#include <functional>
#include <optional>
#include <stop_token>
#include <utility>

#include "handoff/tasks/tasks.hpp"
#include "tasks/async_call.hpp"
#include "tasks/call.hpp"
#include "tasks/enqueue.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

using All = std::expected<std::vector<Enqueued>, TaskError>;

std::string prefix_of(std::size_t index) { return fmt::format("[{}].", index); }

std::optional<TaskError> check_all(std::span<const NewTask> tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // Where is asked only if something is wrong.
    if (check_task(tasks[i], "")) return check_task(tasks[i], prefix_of(i));
  }
  return std::nullopt;
}

std::optional<TaskError> encode_all(const Encoding& encoding, std::vector<NewTask>& tasks) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (auto error = encoding.encode(tasks[i], prefix_of(i))) return error;
  }
  return std::nullopt;
}

std::expected<Enqueued, TaskError> only_one(All all) {
  if (!all) return std::unexpected(without_index(std::move(all.error())));
  return all->front();
}

// What an attempt to store them has found out: if there was no room, in which queue, and how long that may be waited for.
struct Attempt {
  All inserted = std::unexpected(TaskError());
  std::string full_queue{};
  std::optional<Millis> patience{};
  bool is_drop = false;
};

// Those for whom there is no room may wait, if the queue that is full says so. A store elsewhere has seen to that.
Attempt insert(TasksCore& core, Transaction& transaction, std::span<const NewTask> tasks) {
  Attempt attempt{.inserted = transaction.insert_kept(tasks)};
  if (core.elsewhere() != nullptr) return attempt;
  if (!attempt.inserted && attempt.inserted.error().code == TaskError::Code::full) {
    attempt.full_queue = attempt.inserted.error().queue;
    const auto settings = transaction.look(attempt.full_queue).settings;
    if (settings.when_full == WhenFull::block) attempt.patience = settings.block_for;
    attempt.is_drop = settings.when_full == WhenFull::drop_newest;
  }
  return attempt;
}

// Nobody waits any longer: what there was no room for is counted, for the queue that was full.
All end_of(TasksCore& core, Attempt attempt, std::size_t tasks) {
  if (attempt.is_drop) core.note_drop(attempt.full_queue, tasks);
  if (!attempt.full_queue.empty()) core.note_full(attempt.full_queue, tasks);
  return std::move(attempt.inserted);
}

// Waits for room in a queue: registered first, and tried once more, so that room that came in between is seen.
class RoomWait {
 public:
  RoomWait(TasksCore& core, std::string queue, Deadline deadline, const std::stop_token& stop)
      : listeners_(core.listeners()),
        queue_(std::move(queue)),
        deadline_(deadline),
        stops_(stop, [this] { waiting_.told.set(); }) {
    listeners_.add_wait_for_room(queue_, waiting_);
  }
  RoomWait(const RoomWait&) = delete;
  RoomWait& operator=(const RoomWait&) = delete;
  ~RoomWait() { listeners_.remove_wait_for_room(queue_, waiting_); }

  // True if it was not for that queue before. Of a batch for several queues another one may be full next; the time that was waited counts.
  static bool begin(std::optional<RoomWait>& wait, TasksCore& core, const Attempt& attempt,
                    const std::stop_token& stop = {}) {
    if (wait && wait->queue_ == attempt.full_queue) return false;
    const Deadline deadline = wait ? wait->deadline_ : within(*attempt.patience);
    wait.emplace(core, attempt.full_queue, deadline, stop);
    return true;
  }

  Event& told() { return waiting_.told; }
  Deadline deadline() const { return deadline_; }

 private:
  Listeners& listeners_;
  const std::string queue_;
  const Deadline deadline_;
  Listeners::Waiting waiting_;
  std::stop_callback<std::function<void()>> stops_;  // Last: it rings the above.
};

}  // namespace

std::expected<Enqueued, TaskError> Tasks::enqueue(const NewTask& task) const {
  return only_one(enqueue(std::span(&task, 1)));
}

All Tasks::enqueue(std::span<const NewTask> given) const {
  if (auto error = check_all(given)) return std::unexpected(std::move(*error));
  if (given.empty()) return std::vector<Enqueued>();
  std::vector<NewTask> encoded;  // Only if they are not stored as they are.
  if (!core_->encoding().is_plain()) encoded.assign(given.begin(), given.end());
  if (auto error = encode_all(core_->encoding(), encoded))
    return std::unexpected(std::move(*error));
  const std::span<const NewTask> tasks = encoded.empty() ? given : encoded;
  std::optional<RoomWait> wait;
  for (;;) {
    auto attempt = transact<Attempt>(*core_, [&](Transaction& transaction) {
      return std::expected<Attempt, TaskError>(insert(*core_, transaction, tasks));
    });
    if (!attempt) return std::unexpected(std::move(attempt.error()));
    if (!attempt->patience) return end_of(*core_, std::move(*attempt), tasks.size());
    if (RoomWait::begin(wait, *core_, *attempt)) continue;
    if (!wait->told().wait({.deadline = wait->deadline(), .stop = {}})) {
      return end_of(*core_, std::move(*attempt), tasks.size());
    }
    wait->told().reset();
  }
}

// g++ 12: nothing nameless in what awaits.
Lazy<All> enqueue_into(std::shared_ptr<TasksCore> core, std::vector<NewTask> all,
                       WhileFull while_full) {
  if (auto error = check_all(all)) co_return std::unexpected(std::move(*error));
  if (all.empty()) co_return std::vector<Enqueued>();
  if (auto error = encode_all(core->encoding(), all)) co_return std::unexpected(std::move(*error));
  // Kept by the call, which may outlive the coroutine that waits for it.
  const auto shared = std::make_shared<const std::vector<NewTask>>(std::move(all));
  std::optional<RoomWait> wait;
  for (;;) {
    const auto insert_all = [shared, &to = *core](Transaction& transaction) {
      return std::expected<Attempt, TaskError>(insert(to, transaction, *shared));
    };
    auto lazy = async_transact<Attempt>(core, insert_all);
    auto attempt = co_await std::move(lazy);
    if (!attempt) co_return std::unexpected(std::move(attempt.error()));
    if (!attempt->patience) co_return end_of(*core, std::move(*attempt), shared->size());
    if (RoomWait::begin(wait, *core, *attempt, while_full.stop)) continue;
    if (while_full.begins) while_full.begins();
    const auto told = co_await wait->told().async_wait(wait->deadline());
    if (!told || while_full.stop.stop_requested()) {
      co_return end_of(*core, std::move(*attempt), shared->size());
    }
    wait->told().reset();
  }
}

Lazy<All> Tasks::async_enqueue(std::vector<NewTask> tasks) const {
  return enqueue_into(core_, std::move(tasks), WhileFull());
}

Lazy<std::expected<Enqueued, TaskError>> Tasks::async_enqueue(NewTask task) const {
  std::vector<NewTask> only;
  only.push_back(std::move(task));  // Not copied, as it would be by the vector's constructor.
  return [](Lazy<All> lazy) -> Lazy<std::expected<Enqueued, TaskError>> {
    auto all = co_await std::move(lazy);
    co_return only_one(std::move(all));
  }(async_enqueue(std::move(only)));
}

Lazy<std::expected<Enqueued, TaskError>> Tasks::async_enqueue_if(
    std::expected<NewTask, TaskError> task) const {
  if (task) return async_enqueue(*std::move(task));
  return [](TaskError error) -> Lazy<std::expected<Enqueued, TaskError>> {
    co_return std::unexpected(std::move(error));
  }(std::move(task.error()));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
