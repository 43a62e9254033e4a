// Worker threads and a bounded queue of jobs before them.
//
//   handoff::WorkerPool pool{{.workers = 8, .capacity = 1000, .when_full = WhenFull::reject, .name = "photos"}};
//   auto size = pool.submit([&] { return resize(photo); });    // std::expected<Future<Image>, Refusal>
//   if (!pool.post([id] { notify(id); })) return busy();       // fire and forget; a throw is reported
//   pool.every(1h, [&] { sweep(); });
//   auto report = pool.shutdown(handoff::finish_within(30s));
//
//              what comes back             when there is no room
//   submit     expected<Future<R>>         by options.when_full
//   post       expected<void>              by options.when_full
//   fork_join  the two results, here       done on the spot
//   after, at, every    expected<Timer>    refused past options.timers
//
// What you can rely on:
// - Bounded: never more than `capacity` jobs are accepted and not begun, and with a rate one more a worker, which waits for its
//   permit. A refused job is untouched, still the caller's.
// - Every job accepted runs once, or is handed back by shutdown(), or goes to on_drop.
// - A job is stored in 64 bytes and without an allocation if its callable has up to 48; post() then allocates nothing,
//   submit() only what the future shares with the job.
// - Jobs leave the queue first in, first out, and are claimed up to 16 at a time by a worker, from whom idle ones take
//   them. With one worker they also run in that order. One that is handed in by a job
//   may run before those that wait outside.
// - A job may hand in jobs, whatever the queue holds: the first 256 of a worker wait with it, where idle workers take them;
//   past that, the job that hands one in runs it on the spot. Only when jobs are 64 deep upon each other and the queue is
//   full is one refused with `full`, since to wait would be to wait for itself.
// - A job may wait. For a future of its own pool it runs that job itself, if nobody has begun it; otherwise, and in
//   blocking(), a spare thread comes in, up to options.spares of them. Nothing unrelated runs on the stack of a job that
//   waits: it may hold a lock. Past that bound waits() says so, and the log; and if all the workers wait for jobs
//   of the pool, it is reported as a deadlock (see lock_order.hpp), in every build.
// - A job may take a std::stop_token: a stop is requested by an interrupting shutdown.
// - Idle workers use no CPU.
//
// Thread safety: any member, any thread, until the destructor begins. shutdown() must not be called by a job. The move and copy
// constructors of a callable run under a short lock of the pool: they must not use it.
// Visibility: all that was done before a job was handed in is seen by it.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/advice.hpp"
#include "handoff/detail/pool/fork_join.hpp"
#include "handoff/detail/pool/future_state.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "handoff/future.hpp"
#include "handoff/job.hpp"
#include "handoff/refusal.hpp"
#include "handoff/shutdown.hpp"
#include "handoff/timer.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class WorkerPool;

namespace detail {
// Returns it, or throws std::invalid_argument if it is not positive.
Duration checked_period(Duration period);

struct PoolAccess {
  static PoolCore& core(WorkerPool& pool);
};
}  // namespace detail

struct EveryOptions {
  Overrun overrun = Overrun::skip;  // What happens when a run takes longer than the period.
  bool at_once = false;             // The first run is now, not after a period.
};

class WorkerPool {
  using Where = std::source_location;

 public:
  // Throws std::invalid_argument if an option is outside its limits, std::system_error if threads cannot be started.
  explicit WorkerPool(PoolOptions options, PoolHooks hooks = {})
      : core_(std::make_unique<detail::PoolCore>(options, std::move(hooks))) {}
  // Interrupts: requests a stop of the jobs that run and waits for them, however long that takes. Jobs that had not begun
  // are logged and go to on_drop. Call shutdown() before to have them handed back.
  ~WorkerPool() = default;

  // -- Hand in -----------------------------------------------------------------------------------

  // What f returns or throws is in the future. Refused with `closed`, `full`, `timed_out` or `stopped`.
  template <JobFunction F>
  [[nodiscard]] std::expected<Future<detail::JobResult<F>>, Refusal> submit(
      F&& f, const Wait& wait = {}, Where where = Where::current());

  // Fire and forget: what f throws goes to on_error. Not [[nodiscard]]: under the dropping policies the result may be
  // ignored.
  template <JobFunction F>
  std::expected<void, Refusal> post(F&& f, const Wait& wait = {}, Where where = Where::current()) {
    auto make = [&](Job* place) {
      if constexpr (std::same_as<std::decay_t<F>, Job>) {
        std::construct_at(place, std::move(f));  // One that another pool has handed back.
      } else {
        std::construct_at(place, std::forward<F>(f), where);
      }
    };
    if (auto refusal = core_->add(make, wait, {.operation = "post", .where = where})) {
      return std::unexpected(*refusal);
    }
    return {};
  }

  // -- Inside jobs -------------------------------------------------------------------------------

  // Calls f and g, at the same time if a worker is free, and returns their results as a pair (std::monostate for void). If
  // one throws, the other has ended before it comes out; if both do, it is what f threw. Made for divide and conquer: a few
  // nanoseconds if nobody takes g. From outside the pool, f and g run as one job of it, which is waited for; then, and only
  // then, throws std::runtime_error if that is refused.
  template <std::invocable F, std::invocable G>
  auto fork_join(F&& f, G&& g, Where where = Where::current());

  // Calls f, which waits for something outside Handoff's futures: a queue, a lock, a socket. Meanwhile a spare
  // worker may come in. On any other thread, just calls f.
  template <std::invocable F>
  decltype(auto) blocking(F&& f) {
    detail::Worker* const worker = detail::this_worker;
    const bool is_ours = worker != nullptr && &worker->pool == core_.get();
    const detail::BlockedWorker blocked(is_ours ? worker : nullptr, nullptr);
    return std::forward<F>(f)();
  }

  // -- Timers ------------------------------------------------------------------------------------

  // Runs f after this time, on a worker. A timer that is due needs no room in the queue. Refused with `closed`, or with `full`
  // past options.timers.
  template <typename Rep, typename Period, JobFunction F>
  std::expected<Timer, Refusal> after(std::chrono::duration<Rep, Period> delay, F&& f,
                                      Where where = Where::current()) {
    return arm(std::forward<F>(f), where, within(delay).when(), Duration::zero(), Overrun::skip);
  }
  template <typename D, JobFunction F>
  std::expected<Timer, Refusal> at(std::chrono::time_point<std::chrono::steady_clock, D> time,
                                   F&& f, Where where = Where::current()) {
    return arm(std::forward<F>(f), where, std::chrono::time_point_cast<Duration>(time),
               Duration::zero(), Overrun::skip);
  }
  // By the calendar, to the microsecond. A change of the system's time after this call is not seen.
  template <typename D, JobFunction F>
  std::expected<Timer, Refusal> at(std::chrono::time_point<std::chrono::system_clock, D> time,
                                   F&& f, Where where = Where::current()) {
    using Seconds = std::chrono::duration<double>;  // Reaches further than nanoseconds do.
    const auto delay = Seconds(time.time_since_epoch()) -
                       Seconds(std::chrono::system_clock::now().time_since_epoch());
    return after(delay, std::forward<F>(f), where);
  }
  // Runs f again and again, never twice at once. Throws std::invalid_argument if the period is not positive.
  template <typename Rep, typename Period, JobFunction F>
  std::expected<Timer, Refusal> every(std::chrono::duration<Rep, Period> period, F&& f,
                                      EveryOptions options = {}, Where where = Where::current()) {
    const auto time = detail::checked_period(detail::saturated(period));
    const auto first = options.at_once ? now() : within(time).when();
    return arm(std::forward<F>(f), where, first, time, options.overrun);
  }

  // -- Size, look, end ---------------------------------------------------------------------------

  // More workers come at once; fewer are there as soon as enough of them have finished the job in hand. Does nothing once the
  // pool is closed. Throws std::invalid_argument unless from 1 to 1024.
  void resize(std::size_t workers) { core_->resize(workers); }

  // A snapshot; it may be stale by the time it is read.
  PoolStats stats() const { return core_->pool_stats(); }

  // The capacity and the workers for a burst, from what was measured so far; none rather than a guess. See advice.hpp. Throws
  // std::invalid_argument if the question makes no sense.
  std::optional<Advice> advice(AdviceQuestion question) const { return core_->advice(question); }

  // Takes no more jobs and ends. See shutdown.hpp for the ways. A second call waits for what the first one left running. Throws
  // std::logic_error if one of the pool's own jobs calls it.
  ShutdownReport shutdown(Shutdown how) { return core_->shutdown(how); }

 private:
  friend struct detail::PoolAccess;
  template <typename F>
  std::expected<Timer, Refusal> arm(F&& f, Where where, TimePoint due, Duration period,
                                    Overrun overrun) {
    auto make = [&](Job* place) { std::construct_at(place, std::forward<F>(f), where); };
    const auto node = core_->timers().arm(detail::JobMaker(make), due, period, overrun);
    if (!node) return std::unexpected(node.error());
    return Timer(*node);
  }

  std::unique_ptr<detail::PoolCore> core_;
};

inline detail::PoolCore& detail::PoolAccess::core(WorkerPool& pool) { return *pool.core_; }

template <JobFunction F>
std::expected<Future<detail::JobResult<F>>, Refusal> WorkerPool::submit(F&& f, const Wait& wait,
                                                                        Where where) {
  using Result = detail::JobResult<F>;
  using Task = detail::FutureTask<Result, std::decay_t<F>>;
  Task* task = nullptr;
  auto make = [&](Job* place) {
    task = new (core_->returned_blocks()) Task(core_.get(), where, nullptr, std::forward<F>(f));
    std::construct_at(place, detail::FutureJob(*task), where);
  };
  if (auto refusal = core_->add(make, wait, {.operation = "submit", .where = where})) {
    return std::unexpected(*refusal);
  }
  return Future<Result>(task);
}

template <std::invocable F, std::invocable G>
auto WorkerPool::fork_join(F&& f, G&& g, Where where) {
  detail::Worker* const worker = detail::this_worker;
  if (worker != nullptr && &worker->pool == core_.get()) [[likely]]
    return detail::fork_join_on(*worker, f, g);
  auto both = [&] {
    // A job that was handed back runs anywhere.
    if (detail::this_worker == nullptr) return detail::do_both(f, g);
    return detail::fork_join_on(*detail::this_worker, f, g);
  };
  auto future = submit(both, {}, where);
  if (!future) throw std::runtime_error("fork_join(): the pool refused it");
  auto results = future->get({}, where);
  if (!results) throw std::runtime_error("fork_join(): the pool was shut down before it began");
  return std::move(*results);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
