// What a WorkerPool is behind its templates: the shared queue, the workers and how many of them there are, the shutdown.
//
// Where a worker looks for work, in this order: coroutines its own have made ready, timers that are due, jobs its own jobs have handed in, jobs it has claimed,
// the shared queue, other workers. One time in 61 the shared queue goes first, so that jobs which keep handing in
// others cannot starve it.
//
// How many workers there are. `target_` of them should be able to run. One that waits inside a job (for a future, or in
// blocking()) does not count, so another comes in: from the reserve, or a new thread, up to `most_spares_` more than
// the target. When it goes on there is one too many, and the next that has finished its job steps aside into the
// reserve; after resize() to fewer, it ends. All of this is guarded by crew_lock_; no job pays for it.
//
// How a pool ends:
//   1. close: the shared queue and the timers refuse. Jobs may still hand in others; those are part of the work.
//   2. Workers go on until all of them have looked for work at the same time and found none (is_quiet), then leave.
//   3. If that takes too long, or at once for an interrupt, `ended_` is set: workers leave after the job in hand, and what
//      has not begun is collected from the queue and from the workers' rings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <vector>

#include "handoff/advice.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/pool/arrival_meter.hpp"
#include "handoff/detail/pool/failure_log.hpp"
#include "handoff/detail/pool/future_memory.hpp"
#include "handoff/detail/pool/job_queue.hpp"
#include "handoff/detail/pool/pool_timers.hpp"
#include "handoff/detail/pool/worker.hpp"
#include "handoff/detail/queue/drop_log.hpp"
#include "handoff/detail/queue/turnstile.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/rate_limiter.hpp"
#include "handoff/shutdown.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct PoolOptions {
  std::size_t workers;                   // Jobs that run at once. From 1 to 1024.
  std::size_t capacity;                  // Jobs accepted and not begun. At least 1.
  WhenFull when_full = WhenFull::block;  // What submit() and post() do when there is no room.
  std::string_view name = {};        // How waits(), snapshot() and the threads are called; copied.
  std::size_t spares = 64;           // Threads that may come in for workers that wait. Up to 3072.
  Rate rate = {.per_second = 0};     // Jobs from outside begun per second; 0: as fast as it goes.
  std::size_t rate_burst = 1;        // How many of them may begin at once after a pause.
  std::size_t timers = 1 << 20;      // after(), at() and every() armed at a time.
  std::size_t coroutines = 1 << 22;  // Coroutines begun and not ended.
};

// What the pool tells its owner. Called on a worker, or where a job is dropped; without a lock, from several threads at
// once.
struct PoolHooks {
  // A job given to post(), or a timer's, threw. Without a hook it is logged, at most once a second. What the hook itself throws is
  // logged.
  std::function<void(std::exception_ptr error, const std::source_location& where)> on_error = {};
  // A job was accepted and will not run: it made room under drop_oldest, or was left when the pool was destroyed. The hook
  // may move it away and run it.
  std::function<void(Job& job)> on_drop = {};
};

// At rest: accepted + spawned == finished + handed back + dropped by drop_oldest.
struct PoolStats {
  std::size_t workers = 0;  // As asked for.
  std::size_t threads = 0;  // As there are, with those that came in for others.
  std::size_t blocked = 0;  // Workers that wait inside a job.
  std::size_t idle = 0;     // Workers that wait for a job.
  std::size_t queued = 0;   // Accepted, not begun; without those from inside jobs.
  std::size_t capacity = 0;
  std::size_t high_water = 0;  // The largest `queued` so far.
  std::uint64_t accepted = 0;  // Jobs from outside.
  std::uint64_t spawned = 0;   // Jobs handed in by jobs.
  std::uint64_t timed = 0;     // Runs of timers.
  std::uint64_t finished = 0;  // Jobs that have ended, also by throwing; without timers.
  std::uint64_t failed = 0;    // Jobs without a future, and timers, that threw.
  std::uint64_t refused = 0;
  std::uint64_t dropped = 0;           // By drop_newest and drop_oldest.
  std::size_t timers = 0;              // Armed.
  std::size_t coroutines = 0;          // Begun and not ended: running, ready or suspended.
  std::uint64_t spare_limit_hits = 0;  // Times a worker waited and no spare could come in for it.
};

namespace detail {

class JoinTask;

// What a worker has found to do.
struct Work {
  Job job;
  JoinTask* join = nullptr;
  TimerNode* timer = nullptr;
  Runnable* coroutine = nullptr;
  bool is_from_outside = false;  // The job, if there is one.
};

class PoolCore final : public Primitive, public Executor {
 public:
  static constexpr std::size_t most_workers = 1024;
  static constexpr std::size_t most_spares = 3072;
  static_assert(most_workers + most_spares <= Roster::most_workers);

  PoolCore(const PoolOptions& options, PoolHooks hooks);
  ~PoolCore();

  // Hands a job in: from outside, or, on a worker of this pool, to that worker. Empty: accepted.
  template <typename Make>
  std::optional<Refusal> add(Make& make, const Wait& wait, WaitSite site) {
    const sim::Operation here(*this, site.operation);
    if (this_worker != nullptr && &this_worker->pool == this)
      return add_inside(*this_worker, JobMaker(make), wait);
    if (wait.stop.stop_requested()) return refuse(Refusal::stopped);
    if (sim::refuses() && when_full_ == WhenFull::reject) return refuse(Refusal::full);
    const Tried tried = queue_.try_put(make);
    if (tried == Tried::done) [[likely]]
      return std::nullopt;
    return add_slowly(tried, JobMaker(make), wait, site);
  }

  void resize(std::size_t workers);
  ShutdownReport shutdown(const Shutdown& how);

  PoolStats pool_stats() const;
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;
  const std::stop_token& stop_token() const { return limits_.stop; }
  // The same as a Wait.
  const Wait& limits() const { return limits_; }
  bool has_ended() const { return ended_.load(acquire); }  // Pairs with the store in end().
  PoolTimers& timers() { return *timers_; }
  ReturnedBlocks& returned_blocks() { return returned_blocks_; }

  // -- For jobs that run on a worker of this pool ------------------------------------------------

  // There is something to steal.
  void tell_workers() {
    if (idle_.someone_sleeps()) [[unlikely]]
      idle_.notify();
  }
  // Runs the job that the worker's current one waits for, on top of it.
  void run_awaited(Worker& worker, FutureCore& future);
  // `awaited`: what the worker waits for without a deadline, if that is known.
  void enter_blocked(Worker& worker, FutureCore* awaited);
  void leave_blocked(Worker& worker);
  // For waits(): why a job that somebody waits for has not begun, if that is for want of workers.
  std::string shortage() const;

  void job_failed(Worker& worker, const std::source_location& where);

  // -- For coroutines (pool_coroutines.cpp) ------------------------------------------------------

  // Counts a coroutine in, or refuses: there are as many as may be (`full`), or the pool has ended (`closed`).
  std::optional<Refusal> begin_coroutine();
  void end_coroutine();
  std::size_t coroutines() const;
  void run_soon(Runnable& runnable) noexcept override;
  void run_later(Runnable& runnable) noexcept override;
  void run_newcomer(Runnable& runnable) noexcept override;
  std::string_view executor_name() const override { return prefix_; }
  PoolCore* as_pool() override { return this; }

  std::optional<Advice> advice(const AdviceQuestion& question) const;

 private:
  friend class BlockedWorker;
  class WorkTurn;
  class ReserveTurn;

  // Time the workers have spent at work so far, all together.
  Duration busy_time() const;
  std::uint64_t finished() const;
  void note_arrivals(TimePoint at);

  // -- Adding (pool_add.cpp) ---------------------------------------------------------------------
  std::optional<Refusal> refuse(Refusal refusal) {
    refused_.fetch_add(1, relaxed);  // A counter: nothing is published with it.
    return refusal;
  }
  std::optional<Refusal> add_slowly(Tried tried, JobMaker make, const Wait& wait, WaitSite site);
  std::optional<Refusal> add_inside(Worker& worker, JobMaker make, const Wait& wait);
  std::optional<Refusal> add_evicting(JobMaker make);
  bool take_unstarted(Job& job);
  void drop(Job& job);

  // -- Working (worker.cpp) ----------------------------------------------------------------------
  void work(Worker& worker);
  bool find(Worker& worker, Work& work);
  bool find_timer_or_local(Worker& worker, Work& work);
  bool take_claimed(Worker& worker, Job& job);
  bool claim(Worker& worker, Job& job);
  bool steal(Worker& worker, Work& work);
  bool has_work() const;
  bool wait_for_work(Worker& worker, Work& work);
  void run(Worker& worker, Job& job);
  bool wait_for_permit(Job& job);
  void run_timer(Worker& worker, TimerNode& node);
  void run_found(Worker& worker, Work& work);
  bool find_coroutine(Worker& worker, Work& work);
  bool find_waiting_coroutine(const Worker& worker, Work& work);
  bool find_any_coroutine(Worker& worker, Work& work);
  Worker* worker_for_ready();
  void leave_to_all(Runnable& runnable) noexcept;
  bool steal_coroutine(Worker& worker, Worker& victim, Work& work);
  std::uint64_t coroutines_allowed_locked() const;
  bool may_begin_locked(Worker* worker);
  void rouse_if_none_is_left();
  bool someone_has_coroutines() const;
  bool needs_watching() const { return !is_watched_.load(seq_cst) && someone_has_coroutines(); }
  bool take_left_lying(Work& work);
  void leave_ready_to_others(Worker& worker);
  bool has_left() const {
    // After an interrupt coroutines are still run: they find that they are stopped, and end.
    return has_ended() && coroutines() == 0;
  }
  bool is_quiet() const;

  // -- The crew (crew.cpp) -----------------------------------------------------------------------
  std::size_t active_locked() const { return alive_ - blocked_ - (reserved_ - calls_); }
  void refresh_excess_locked();
  // What is left to do, without the lock, to bring a worker in.
  enum class BringIn : std::uint8_t { nothing, call, start, impossible };
  BringIn bring_in_locked();
  void bring_in(BringIn how);
  void start_worker();
  Worker& take_record_locked();
  bool step_aside(Worker& worker);
  void rest(Worker& worker);
  void leave(Worker& worker);
  bool is_starved_locked() const;
  void report_shortage(bool is_starved) noexcept;

  // -- The end (pool_shutdown.cpp) ---------------------------------------------------------------
  void close();
  void end();
  void quiet_down();
  void collect_unstarted(std::vector<Job>& jobs);
  void drop_unstarted();
  std::vector<RunningJob> running_jobs() const;
  void join_threads();

  const std::string prefix_;  // Of thread names.
  const WhenFull when_full_;
  const PoolHooks hooks_;
  const std::size_t most_spares_;
  const std::size_t claim_size_;
  std::optional<RateLimiter> limiter_;
  std::stop_source stop_source_;
  const Wait limits_{.deadline = {}, .stop = stop_source_.get_token()};  // For jobs and coroutines.
  std::stop_source end_source_;
  const std::stop_token end_token_ = end_source_.get_token();  // For workers: as ended_.

  ReturnedBlocks returned_blocks_;
  Roster workers_;
  Turnstile idle_;
  JobQueue queue_;
  const std::shared_ptr<PoolTimers> timers_;
  DropLog drops_;
  FailureLog failures_;
  FailureLog shortages_;
  ArrivalMeter arrivals_;
  atomic<std::uint64_t> refused_{0};
  atomic<std::uint64_t> ran_early_{0};  // Jobs found to have been run by who waited for them.

  ReadyList ready_;  // Coroutines made ready by other threads.
  const std::size_t most_coroutines_;
  // Counted in and out by threads that are no workers.
  atomic<std::uint64_t> begun_outside_{0};
  atomic<std::uint64_t> ended_outside_{0};
  SmallLock coroutines_lock_;       // To count in, or to be allowed to.
  atomic<bool> is_watched_{false};  // One idle worker looks after those that may be left lying.

  atomic<bool> ended_{false};      // Leave after the job in hand.
  atomic<bool> quiet_{false};      // All work is done, and no more can come.
  atomic<std::size_t> excess_{0};  // Workers that should step aside; a hint, see step_aside().
  Event all_gone_;
  Mutex shutting_down_;  // One shutdown at a time.

  mutable SmallLock crew_lock_;
  // Guarded by crew_lock_.
  std::size_t target_;
  std::size_t alive_ = 0;
  std::size_t blocked_ = 0;
  std::size_t reserved_ = 0;
  std::size_t calls_ = 0;        // Of the reserved ones, how many are on their way back.
  std::size_t spares_made_ = 0;  // The most threads there have been beyond the target.
  std::uint64_t limit_hits_ = 0;
  std::vector<Worker*> free_records_;
  std::vector<Thread> threads_;  // By number of the record.
  std::vector<Job> unstarted_;   // In a worker's hands when the pool ended.
  Turnstile reserve_;
};

// While this lives, the worker waits inside a job, and another may come in for it. Null: no worker, nothing happens.
class [[nodiscard]] BlockedWorker {
 public:
  BlockedWorker(Worker* worker, FutureCore* awaited) : worker_(worker) {
    if (worker_ != nullptr) worker_->pool.enter_blocked(*worker_, awaited);
  }
  ~BlockedWorker() {
    if (worker_ != nullptr) worker_->pool.leave_blocked(*worker_);
  }
  BlockedWorker(const BlockedWorker&) = delete;
  BlockedWorker& operator=(const BlockedWorker&) = delete;

 private:
  Worker* const worker_;
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
