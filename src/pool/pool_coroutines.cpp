// How coroutines run on a pool's workers.
//
// What a worker's coroutine makes ready goes on that worker as soon as this one is suspended, and is not offered to others
// at once: between two coroutines that talk to each other a switch then costs nanoseconds, where waking a thread costs
// microseconds. It may be left lying, though, if the worker is long at what it does. So while a worker has one next up, one
// idle worker, if there is any, looks every millisecond, and takes what no longer moves.
#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

std::optional<Refusal> PoolCore::begin_coroutine() {
  if (has_ended()) return refuse(Refusal::closed);
  if (coroutines_.fetch_add(1, seq_cst) < most_coroutines_) return std::nullopt;
  end_coroutine();
  return refuse(Refusal::full);
}

void PoolCore::end_coroutine() {
  // Sequentially consistent: workers that are about to sleep have looked at it, or are roused.
  if (coroutines_.fetch_sub(1, seq_cst) == 1 && (has_ended() || queue_.is_closed()))
    idle_.rouse_all();
}

void PoolCore::run_soon(Runnable& runnable) noexcept {
  Worker* const worker = this_worker;
  if (worker == nullptr || &worker->pool != this) {
    static_cast<void>(ready_.push(runnable, [this] { tell_workers(); }));
    return;
  }
  // One that waits inside a job may be long at it; and by a replaced clock nobody would watch.
  if (worker->blocked_depth > 0 || installed_clock() != nullptr) {
    static_cast<void>(worker->ready.push(runnable));
    tell_workers();
    return;
  }
  // Sequentially consistent, as the look at is_watched_: a worker that stops watching looks at next_up afterwards. Who takes it
  // sees what made it ready, and what was next up before is passed on with what made that ready.
  Runnable* const before = worker->next_up.exchange(&runnable, seq_cst);
  // One that waits here is the next but one, and not worth a wake-up: it is watched, too.
  const bool is_worth_it = before != nullptr && worker->ready.push(*before);
  if (is_worth_it || !is_watched_.load(seq_cst)) tell_workers();
}

// Those that have waited longest, also others': a worker that is long at something strands what it has made ready.
bool PoolCore::find_waiting_coroutine(Work& work) {
  work.coroutine = ready_.take();
  for (std::size_t i = 0; work.coroutine == nullptr && i < workers_.size(); ++i) {
    work.coroutine = workers_[i].ready.take();
  }
  return work.coroutine != nullptr;
}

bool PoolCore::find_coroutine(Worker& worker, Work& work) {
  if (worker.next_up.load(relaxed) != nullptr) {
    work.coroutine = worker.next_up.exchange(nullptr, acq_rel);
    if (work.coroutine != nullptr) return true;
  }
  work.coroutine = worker.ready.take();
  if (work.coroutine == nullptr) work.coroutine = ready_.take();
  return work.coroutine != nullptr;
}

bool PoolCore::find_any_coroutine(Worker& worker, Work& work) {
  return find_coroutine(worker, work) || find_waiting_coroutine(work);
}

bool PoolCore::someone_has_next_up() const {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].next_up.load(seq_cst) != nullptr) return true;
  }
  return false;
}

bool PoolCore::take_left_lying(Work& work) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& each = workers_[i];
    const auto ticks = each.ticks.load(relaxed);
    const bool gets_on = std::exchange(each.ticks_seen, ticks) != ticks;
    if (gets_on || each.next_up.load(relaxed) == nullptr) continue;
    work.coroutine = each.next_up.exchange(nullptr, acq_rel);
    if (work.coroutine != nullptr) return true;
  }
  return false;
}

void PoolCore::leave_next_up_to_others(Worker& worker) {
  if (worker.next_up.load(relaxed) == nullptr) return;
  if (Runnable* const left = worker.next_up.exchange(nullptr, acq_rel)) {
    static_cast<void>(worker.ready.push(*left));
    tell_workers();
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
