#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "handoff/detail/pool/future_core.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "handoff/lock_order.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// A worker that stands by until it is called.
class PoolCore::ReserveTurn final : public Turnstile::Turn {
 public:
  explicit ReserveTurn(PoolCore& pool) : pool_(pool) {}

  bool attempt() override {
    SmallGuard guard(pool_.crew_lock_);
    if (pool_.calls_ > 0) {
      --pool_.calls_;
    } else if (!pool_.has_ended() && !pool_.quiet_.load(acquire)) {  // Pairs with quiet_down().
      return false;
    }
    --pool_.reserved_;
    return true;
  }
  bool is_ready() const override {
    SmallGuard guard(pool_.crew_lock_);
    return pool_.calls_ > 0;
  }
  std::uint64_t position() const override { return 0; }

 private:
  PoolCore& pool_;
};

void PoolCore::refresh_excess_locked() {
  const std::size_t active = active_locked();
  excess_.store(active > target_ ? active - target_ : 0, seq_cst);
}

// Counts a worker in, if one is needed and can be had.
PoolCore::BringIn PoolCore::bring_in_locked() {
  BringIn how = BringIn::nothing;
  if (active_locked() < target_ && !has_left() &&
      !quiet_.load(acquire)) {  // Pairs with quiet_down().
    if (reserved_ > calls_) {
      ++calls_;
      how = BringIn::call;
    } else if (alive_ < target_ + most_spares_) {
      ++alive_;
      spares_made_ = std::max(spares_made_, alive_ > target_ ? alive_ - target_ : 0);
      how = BringIn::start;
    } else {
      how = BringIn::impossible;
    }
  }
  refresh_excess_locked();
  return how;
}

void PoolCore::bring_in(BringIn how) {
  if (how == BringIn::call && reserve_.someone_sleeps()) reserve_.notify();
  if (how == BringIn::start) start_worker();
}

Worker& PoolCore::take_record_locked() {
  if (free_records_.empty()) {
    const std::size_t size = workers_.size() + 1;
    if (size > Roster::most_workers)
      throw std::length_error("too many threads are on their way out");
    threads_.resize(size);
    free_records_.reserve(size);  // So that leave() need not allocate.
    return workers_.add_locked(*this);
  }
  Worker& worker = *free_records_.back();
  free_records_.pop_back();
  worker.begin_to_look();
  return worker;
}

// It has been counted already. Throws, and counts it out, if there is no thread or no memory to be had.
void PoolCore::start_worker() {
  Worker* worker = nullptr;
  Thread
      ended;  // Of the one that had the record before; it has left, and is joined without the lock.
  try {
    // Under the lock, so that the handle is in its place before the thread can leave the record to another.
    SmallGuard guard(crew_lock_);
    worker = &take_record_locked();
    ended = std::move(threads_[worker->number]);
    threads_[worker->number] = Thread([this, worker] { work(*worker); });
  } catch (...) {
    {
      SmallGuard guard(crew_lock_);
      --alive_;
      if (worker != nullptr) {
        worker->found_nothing();
        free_records_.push_back(worker);
      }
      refresh_excess_locked();
    }
    if (queue_.is_closed() && is_quiet()) quiet_down();  // As in rest().
    throw;
  }
}

// The worker has nothing in hand and looks for nothing: it may have been the last.
void PoolCore::rest(Worker& worker) {
  worker.found_nothing();
  if (queue_.is_closed() && is_quiet()) quiet_down();
}

void PoolCore::leave(Worker& worker) {
  rest(worker);
  // For reports and stats; this thread alone writes them.
  worker.thread.store(no_thread, relaxed);
  worker.busy.store(worker.busy.load(relaxed) + now().time_since_epoch().count() -
                        worker.busy_since.load(relaxed),
                    relaxed);
  worker.busy_since.store(0, relaxed);
  bool is_last = false;
  {
    SmallGuard guard(crew_lock_);
    if (!std::exchange(worker.is_leaving, false)) --alive_;
    is_last = alive_ == 0;
    free_records_.push_back(&worker);
    refresh_excess_locked();
    if (is_last) all_gone_.set();
  }
}

// One worker too many: this one waits in the reserve, or ends. False if it should end.
bool PoolCore::step_aside(Worker& worker) {
  bool stays = false;
  {
    SmallGuard guard(crew_lock_);
    refresh_excess_locked();
    if (excess_.load(relaxed) == 0) return true;  // Written under the same lock.
    stays = alive_ <= target_ + spares_made_;
    if (stays) {
      ++reserved_;
    } else {
      worker.is_leaving = true;
      --alive_;
    }
    refresh_excess_locked();
  }
  leave_ready_to_others(worker);
  tell_workers();  // What it has claimed is for the others now.
  if (!stays) return false;
  rest(worker);
  ReserveTurn turn(*this);
  static_cast<void>(
      reserve_.wait(turn, {}, {.operation = "stand by", .where = std::source_location::current()}));
  worker.begin_to_look();
  return true;
}

void PoolCore::resize(std::size_t workers) {
  if (workers < 1 || workers > most_workers) {
    throw std::invalid_argument(
        fmt::format("a pool has from 1 to {} workers, got {}", most_workers, workers));
  }
  {
    SmallGuard guard(crew_lock_);
    if (queue_.is_closed()) return;
    target_ = workers;
    refresh_excess_locked();
  }
  while (true) {
    BringIn how = BringIn::nothing;
    {
      SmallGuard guard(crew_lock_);
      how = bring_in_locked();
    }
    if (how == BringIn::nothing || how == BringIn::impossible) break;
    bring_in(how);
  }
  idle_.rouse_all();  // Those who are too many find out.
}

void PoolCore::enter_blocked(Worker& worker, FutureCore* awaited) {
  leave_ready_to_others(worker);
  BringIn how = BringIn::nothing;
  bool is_starved = false;
  {
    SmallGuard guard(crew_lock_);
    if (worker.blocked_depth++ > 0) return;  // blocking() inside blocking().
    worker.awaited = awaited;
    ++blocked_;
    how = bring_in_locked();
    if (how == BringIn::impossible) {
      ++limit_hits_;
      is_starved = is_starved_locked();
    }
  }
  try {
    bring_in(how);
  } catch (...) {  // No thread to be had: the job waits all the same.
    SmallGuard guard(crew_lock_);
    ++limit_hits_;
    is_starved = is_starved_locked();
    how = BringIn::impossible;
  }
  if (how == BringIn::impossible) report_shortage(is_starved);
}

void PoolCore::leave_blocked(Worker& worker) {
  SmallGuard guard(crew_lock_);
  if (--worker.blocked_depth > 0) return;
  worker.awaited = nullptr;
  --blocked_;
  refresh_excess_locked();
}

// True if every worker waits, without a deadline, for a job that nobody has begun, or that one of them runs: then none of them
// will ever go on by itself.
bool PoolCore::is_starved_locked() const {
  if (has_ended() || blocked_ < alive_ - (reserved_ - calls_)) return false;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& each = workers_[i];
    if (each.blocked_depth == 0) continue;
    if (each.awaited == nullptr) return false;
    if (each.awaited->needs_a_worker_of(*this)) continue;
    const ThreadId runner = each.awaited->runner_now();
    bool runs_here = false;
    for (std::size_t j = 0; runner != no_thread && j < workers_.size(); ++j) {
      // A guess about others, made again whenever somebody blocks.
      runs_here = runs_here || workers_[j].thread.load(relaxed) == runner;
    }
    if (!runs_here) return false;
  }
  return true;
}

void PoolCore::report_shortage(bool is_starved) noexcept try {
  const std::string what = shortage();
  if (!is_starved) {
    shortages_.note(fmt::format("{}: {}", label(), what));
    return;
  }
  report_lock_problem(
      {.kind = LockProblem::Kind::deadlock,
       .locks = {label()},
       .report = fmt::format("deadlock: every worker of {} waits for a job of the same pool that "
                             "has no worker to run it ({})\n",
                             label(), what)});
} catch (...) {
  // Without the memory to say it, nothing is said: the wait goes on all the same.
}

std::string PoolCore::shortage() const {
  SmallGuard guard(crew_lock_);
  if (active_locked() >= target_ || alive_ < target_ + most_spares_) return {};
  return fmt::format(
      "no free worker: {} of {} wait inside jobs, and the limit of {} spares is reached", blocked_,
      alive_ - reserved_, most_spares_);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
