#include <fmt/core.h>

#include "handoff/detail/pool/fork_join.hpp"
#include "handoff/detail/pool/future_core.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
// What goes first on which tick of look_period.
constexpr std::uint32_t shared_queue_first = 0;
constexpr std::uint32_t timers_first = look_period / 4;
constexpr std::uint32_t waiting_first = look_period / 2;

// How often the one that watches looks whether a coroutine is left lying by a worker that is long at something else.
constexpr Duration watch_period = std::chrono::milliseconds(1);

constexpr std::uint32_t claims_per_look = 4;  // At the clock, which costs as much as a small job.

std::int64_t ticks_now() { return now().time_since_epoch().count(); }
}  // namespace

// An idle worker's wait: over when it has found work, when it should step aside, or when the pool ends.
class PoolCore::WorkTurn final : public Turnstile::Turn {
 public:
  WorkTurn(PoolCore& pool, Worker& worker, Work& work)
      : pool_(pool), worker_(worker), work_(work) {}

  bool attempt() override {
    worker_.begin_to_look();
    if (pool_.has_ended()) {
      return pool_.has_left() || pool_.find_any_coroutine(worker_, work_) || pool_.needs_watching();
    }
    if (pool_.excess_.load(seq_cst) > 0) return true;
    if (pool_.quiet_.load(acquire)) return true;  // Pairs with quiet_down().
    if (pool_.find(worker_, work_)) return true;
    if (pool_.needs_watching()) return true;
    worker_.found_nothing();
    if (!pool_.queue_.is_closed() || !pool_.is_quiet()) return false;
    worker_.begin_to_look();
    pool_.quiet_down();
    return true;
  }
  bool is_ready() const override { return pool_.has_work() || pool_.needs_watching(); }
  std::uint64_t position() const override { return 0; }  // Workers are not owed turns.

 private:
  PoolCore& pool_;
  Worker& worker_;
  Work& work_;
};

// True if there was a moment at which every worker had looked for work and found none. Then none will come: the queue is closed,
// and jobs hand in others only while they run. Two looks that find the same show that nobody looked in between.
bool PoolCore::is_quiet() const {
  const auto look = [this]() -> std::optional<std::uint64_t> {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      const auto activity = workers_[i].activity.load(seq_cst);
      if (activity % 2 == 0) return std::nullopt;
      sum += activity;
    }
    return sum;
  };
  const auto first = look();
  return first && !has_work() && coroutines() == 0 && look() == first;
}

void PoolCore::work(Worker& worker) {
  this_worker = &worker;
  worker.thread.store(this_thread_id(), relaxed);  // For people.
  name_this_thread(fmt::format("{} {}", prefix_, worker.number + 1));
  worker.busy_since.store(ticks_now(), relaxed);
  Work work;
  while (!has_left() && (has_ended() || excess_.load(relaxed) == 0 || step_aside(worker))) {
    const bool found = has_ended() ? find_any_coroutine(worker, work) : find(worker, work);
    if (found || wait_for_work(worker, work)) {
      run_found(worker, work);
    } else if (quiet_.load(acquire)) {  // Pairs with the store in quiet_down().
      break;
    }
  }
  this_worker = nullptr;
  leave(worker);
}

// False if there is nothing to do now: the pool has ended, or the worker should step aside.
bool PoolCore::wait_for_work(Worker& worker, Work& work) {
  const auto began = worker.busy_since.load(relaxed);
  const auto at = now();
  note_arrivals(at);
  // For the stats; this thread alone writes them.
  worker.busy.store(worker.busy.load(relaxed) + at.time_since_epoch().count() - began, relaxed);
  worker.busy_since.store(0, relaxed);
  // Pairs with who gives it back.
  const bool watches = needs_watching() && !is_watched_.exchange(true, acq_rel);
  WorkTurn turn(*this, worker, work);
  const WaitSite site{.operation = "work", .where = std::source_location::current()};
  int looks_in_vain = 0;
  while (idle_.wait(turn, {.deadline = watches ? within(watch_period) : Deadline()}, site)) {
    // Only one that watches times out. It stays as long as there is something to watch.
    if (take_left_lying(work)) break;
    looks_in_vain = someone_has_coroutines() ? 0 : looks_in_vain + 1;
    if (looks_in_vain == 2) break;
  }
  if (watches) {
    is_watched_.store(false, seq_cst);
    if (needs_watching()) tell_workers();  // It has found a job: another is to watch now.
  }
  worker.busy_since.store(ticks_now(), relaxed);
  return work.job || work.join != nullptr || work.timer != nullptr || work.coroutine != nullptr;
}

bool PoolCore::find(Worker& worker, Work& work) {
  const std::uint32_t turn = worker.next_tick() % look_period;
  if (turn == waiting_first && find_waiting_coroutine(worker, work)) return true;
  if (turn == timers_first && find_timer_or_local(worker, work)) return true;
  if (turn != shared_queue_first) {
    if (find_coroutine(worker, work) || find_timer_or_local(worker, work)) return true;
  }
  work.is_from_outside = true;
  if (take_claimed(worker, work.job) || claim(worker, work.job)) return true;
  work.is_from_outside = false;
  if (turn == shared_queue_first) {
    if (find_timer_or_local(worker, work) || find_coroutine(worker, work)) return true;
  }
  return steal(worker, work);
}

bool PoolCore::find_timer_or_local(Worker& worker, Work& work) {
  if (timers_->has_due() && (work.timer = timers_->take_due()) != nullptr) return true;
  return worker.local.take(work.job);
}

bool PoolCore::take_claimed(Worker& worker, Job& job) {
  if (worker.claimed.is_empty() || !worker.claimed.take(job)) return false;
  queue_.tell_producers();
  return true;
}

bool PoolCore::claim(Worker& worker, Job& job) {
  while (!queue_.is_empty()) {
    const std::size_t claimed = queue_.claim(worker, claim_size_);
    if (claimed > 0 && ++worker.claims % claims_per_look == 0) note_arrivals(now());
    if (claimed == 0) {
      // Nothing was left; or somebody was descheduled while he took the job that is in the way.
      if (worker.claimed.place() != nullptr || !queue_.take(job)) continue;
      queue_.tell_producers();
      return true;
    }
    if (take_claimed(worker, job)) return true;
  }
  return false;
}

bool PoolCore::steal(Worker& worker, Work& work) {
  const std::size_t count = workers_.size();
  worker.random = worker.random * 1664525 + 1013904223;
  const std::size_t first = (worker.random >> 8) % count;
  for (std::size_t i = 0; i < count; ++i) {
    Worker& victim = workers_[(first + i) % count];
    if (&victim == &worker) continue;
    while (!victim.joins.is_empty()) {  // Again, if another thief was faster.
      if ((work.join = victim.joins.steal()) != nullptr) return true;
    }
    if (take_claimed(victim, work.job)) {
      work.is_from_outside = true;
      return true;
    }
    if (!victim.local.is_empty() && victim.local.take(work.job)) return true;
    if (steal_coroutine(worker, victim, work)) return true;
  }
  return false;
}

bool PoolCore::has_work() const {
  if (!queue_.is_empty() || timers_->has_due() || !ready_.is_empty()) return true;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& each = workers_[i];
    if (!each.claimed.is_empty() || !each.local.is_empty() || !each.joins.is_empty() ||
        !each.ready.is_empty() || !each.newcomers.is_empty()) {
      return true;
    }
  }
  return false;
}

void PoolCore::run_found(Worker& worker, Work& work) {
  if (work.coroutine != nullptr) {
    Runnable& coroutine = *std::exchange(work.coroutine, nullptr);
    coroutine.run(coroutine);
  } else if (work.join != nullptr) {
    std::exchange(work.join, nullptr)->run_stolen(worker);
  } else if (work.timer != nullptr) {
    run_timer(worker, *std::exchange(work.timer, nullptr));
  } else {
    if (std::exchange(work.is_from_outside, false) && limiter_ && !wait_for_permit(work.job)) {
      return;
    }
    run(worker, work.job);
  }
}

// False if the pool ends meanwhile: the job is handed back.
bool PoolCore::wait_for_permit(Job& job) {
  if (limiter_->acquire({.stop = end_token_})) return true;
  SmallGuard guard(crew_lock_);
  unstarted_.push_back(std::move(job));
  return false;
}

namespace {
// What the worker runs, for reports.
class Running {
 public:
  Running(Worker& worker, const std::source_location& where)
      : worker_(worker), before_(worker.running.load(relaxed)) {
    worker_.running.store(where, relaxed);  // For people.
    if (worker_.nested++ > 0) nobodys_.emplace(nullptr);
  }
  ~Running() {
    --worker_.nested;
    worker_.running.store(before_, relaxed);  // For people.
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  Worker& worker_;
  const std::source_location before_;
  std::optional<AmbientHere> nobodys_;  // On top of another job: that one's scope is not its own.
};
}  // namespace

void PoolCore::run(Worker& worker, Job& job) {
  {
    Running running(worker, job.where());
    try {
      job(limits_.stop);
    } catch (...) {
      job_failed(worker, job.where());
    }
    job.reset();
  }
  Worker::count(worker.finished);
}

void PoolCore::run_timer(Worker& worker, TimerNode& node) {
  if (node.job) {
    timers_->count_run();
    Running running(worker, node.job.where());
    try {
      node.job(limits_.stop);
    } catch (...) {
      job_failed(worker, node.job.where());
    }
  }
  timers_->ran(node);
}

void PoolCore::run_awaited(Worker& worker, FutureCore& future) {
  Running running(worker, future.where());
  static_cast<void>(future.try_run(limits_.stop));
}

void PoolCore::job_failed(Worker& worker, const std::source_location& where) {
  Worker::count(worker.failed);
  const auto say = [&](std::string_view what, std::string_view who) {
    failures_.note(fmt::format("{}: {} handed in at {}:{} threw: {}", label(), who,
                               where.file_name(), where.line(), what));
  };
  const auto describe = [&](std::string_view who) {
    try {
      throw;
    } catch (const std::exception& error) {
      say(error.what(), who);
    } catch (...) {
      say("something that is no std::exception", who);
    }
  };
  if (!hooks_.on_error) return describe("a job");
  try {
    hooks_.on_error(std::current_exception(), where);
  } catch (...) {
    describe("on_error, for a job");
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
