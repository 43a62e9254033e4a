// A task that runs on a pool: how it gets there, and how it is counted.
#pragma once

#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/task.hpp"
#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Counted by its pool from the moment it is handed in until it has ended, or has been handed back.
class PoolTask : public Task, public Runnable {
 public:
  PoolTask(PoolCore& pool, const Wait& limits, std::source_location where,
           ScopeCore* scope = nullptr)
      : Task(pool, limits, where, scope), Runnable(&PoolTask::begin), pool_(pool) {}

  // By the job that stands for it in the pool's queue.
  void run_as_job();
  bool withdraw() noexcept;
  void give_up();

 protected:
  ~PoolTask() = default;
  virtual PromiseBase& root() = 0;
  // Once: only its own job runs it.
  virtual void begins() {}
  virtual bool may_withdraw() noexcept { return true; }
  // It has ended, or never began. May destroy it.
  virtual void ended() noexcept = 0;
  virtual void never_began() noexcept = 0;

 private:
  static void begin(Runnable& runnable);
  void done() noexcept final;
  void run_here();

  PoolCore& pool_;
  bool is_counted_ = true;
};

// What stands for the task in the queue.
class CoroutineJob {
 public:
  explicit CoroutineJob(PoolTask& task) : task_(&task) {}
  CoroutineJob(CoroutineJob&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  CoroutineJob& operator=(CoroutineJob&&) = delete;
  ~CoroutineJob() {
    if (task_ != nullptr) task_->give_up();
  }

  void operator()() { std::exchange(task_, nullptr)->run_as_job(); }
  bool withdraw() noexcept { return task_->withdraw(); }

 private:
  PoolTask* task_;
};

inline bool is_worker_of(const PoolCore& pool) {
  return this_worker != nullptr && &this_worker->pool == &pool;
}

// Hands in the task that make() makes, which is called only if it is accepted.
template <typename Make>
std::optional<Refusal> hand_in(PoolCore& pool, Make make, const Wait& wait,
                               std::source_location where) {
  if (auto refusal = pool.begin_coroutine()) return refusal;
  try {
    if (is_worker_of(pool)) {
      PoolTask& task = make();
      pool.run_soon(task);
      return std::nullopt;
    }
    // If it threw once the task is made, the task would be counted out twice.
    static_assert(sizeof(CoroutineJob) <= Job::stored_in_place &&
                  std::is_nothrow_move_constructible_v<CoroutineJob>);
    auto make_job = [&](Job* place) { std::construct_at(place, CoroutineJob(make()), where); };
    auto refusal = pool.add(make_job, wait, {.operation = "spawn", .where = where});
    if (refusal) pool.end_coroutine();
    return refusal;
  } catch (...) {
    pool.end_coroutine();
    throw;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
