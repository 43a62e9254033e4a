// How coroutines run on a pool's workers.
//
// What a worker's coroutine makes ready goes on that worker when this one is suspended: between two coroutines that talk to each
// other a switch then costs tens of nanoseconds, where waking a thread costs microseconds, and so does what has to move to
// another core's cache. Others take
// - nothing from a worker that gets on, unless many wait there;
// - what is left lying: the worker has been at one thing for a microsecond, or for longer.
// A worker tells the others when there is more than one to take. If they come in vain, because it gets on, it tells them ever more
// seldom. Meanwhile one idle worker, if there is any, looks every millisecond for what no longer moves.
#include <algorithm>

#include "handoff/detail/core/spin.hpp"
#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

// So many are worth what it costs to move half of them.
constexpr std::size_t many = 16;
constexpr std::size_t most_stolen = 64;

// How long a worker may be at one thing before what it has made ready is taken from it by one who has nothing to do.
constexpr Duration moment = std::chrono::microseconds(10);
constexpr int looks = 10;

constexpr std::uint32_t most_told_in_vain = 10;  // 1,023 tells are skipped then.

bool is_worth_telling(Worker& worker, std::size_t waiting) {
  if (waiting >= many) return true;
  if (worker.tells_to_skip > 0) {
    --worker.tells_to_skip;
    return false;
  }
  worker.tells_to_skip = (1U << worker.told_in_vain.load(relaxed)) - 1;
  worker.has_told.store(true, relaxed);  // Hints, all of them: nothing is published with them.
  return true;
}

// Looks for a moment whether the worker is about to run what it has made ready itself.
bool will_soon_run_all(const Worker& worker) {
  const auto ticks = worker.ticks.load(relaxed);
  const std::size_t waiting = worker.ready.size();
  for (int look = 0; look < looks; ++look) {
    if (worker.ready.is_empty() || worker.ticks.load(relaxed) - ticks > waiting) return true;
    spin_for(moment / looks);
  }
  return false;
}

// Who was told has come.
void note_told(Worker& worker, bool in_vain) {
  if (!worker.has_told.load(relaxed)) return;
  worker.has_told.store(false, relaxed);
  const auto before = worker.told_in_vain.load(relaxed);
  worker.told_in_vain.store(in_vain ? std::min(before + 1, most_told_in_vain) : 0, relaxed);
}

}  // namespace

// -- How many there are ---------------------------------------------------------------------------
//
// One number for all workers would be fought over by them, with every coroutine. So each worker counts for itself. To keep to the limit it
// is allowed some at a time: a share of those that are left, so that what one does not use is not missed by the others; near
// the limit it is one at a time.

namespace {
constexpr std::uint64_t most_allowed_at_a_time = 64;
}

// Never less than there are: who has ended had begun before. And not more, if nothing happens meanwhile.
std::size_t PoolCore::coroutines() const {
  std::uint64_t ended = ended_outside_.load(seq_cst);
  const std::size_t workers = workers_.size();
  for (std::size_t i = 0; i < workers; ++i) ended += workers_[i].coroutines_ended.load(seq_cst);
  std::uint64_t begun = begun_outside_.load(seq_cst);
  // A worker that came meanwhile may have begun some whose end was counted above.
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    begun += workers_[i].coroutines_begun.load(seq_cst);
  }
  return begun - ended;
}

// As coroutines(), with those that workers may begin without asking.
std::uint64_t PoolCore::coroutines_allowed_locked() const {
  std::uint64_t ended = ended_outside_.load(acquire);
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    ended += workers_[i].coroutines_ended.load(acquire);
  }
  std::uint64_t allowed = begun_outside_.load(relaxed);  // Written under the lock, as the others.
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    allowed += workers_[i].coroutines_allowed.load(relaxed);
  }
  return allowed - ended;
}

std::optional<Refusal> PoolCore::begin_coroutine() {
  if (has_ended()) return refuse(Refusal::closed);
  Worker* const worker =
      this_worker != nullptr && &this_worker->pool == this ? this_worker : nullptr;
  const auto begun = worker == nullptr ? 0 : worker->coroutines_begun.load(relaxed);
  if (worker == nullptr || worker->coroutines_allowed.load(relaxed) == begun) {
    SmallGuard guard(coroutines_lock_);
    const auto allowed = coroutines_allowed_locked();
    if (allowed >= most_coroutines_) return refuse(Refusal::full);
    if (worker == nullptr) {
      begun_outside_.fetch_add(1, seq_cst);
      return std::nullopt;
    }
    const auto share = (most_coroutines_ - allowed) / (4 * (workers_.size() + 1));
    const auto more = std::clamp<std::uint64_t>(share, 1, most_allowed_at_a_time);
    worker->coroutines_allowed.store(begun + more, relaxed);
  }
  // Release, as others' looks at the end of those that are begun here must see it, and what they did sees to that.
  worker->coroutines_begun.store(begun + 1, release);
  return std::nullopt;
}

void PoolCore::end_coroutine() {
  // Sequentially consistent: workers that are about to sleep have looked at it, or are roused.
  if (this_worker != nullptr && &this_worker->pool == this) {
    auto& ended = this_worker->coroutines_ended;
    ended.store(ended.load(relaxed) + 1, seq_cst);
  } else {
    ended_outside_.fetch_add(1, seq_cst);
  }
  if ((has_ended() || queue_.is_closed()) && coroutines() == 0) idle_.rouse_all();
}

// -- Where they run -------------------------------------------------------------------------------

// The worker that goes on with what it has made ready itself; null if that is left to all.
Worker* PoolCore::worker_for_ready() {
  Worker* const worker = this_worker;
  if (worker == nullptr || &worker->pool != this) return nullptr;
  // One that waits inside a job may be long at it; and by a replaced clock nobody would watch.
  return worker->blocked_depth > 0 || installed_clock() != nullptr ? nullptr : worker;
}

void PoolCore::run_soon(Runnable& runnable) noexcept {
  Worker* const worker = worker_for_ready();
  if (worker == nullptr) return leave_to_all(runnable);
  // Sequentially consistent, as the look at is_watched_: a worker that stops watching looks at next_up afterwards. Who takes it
  // sees what made it ready, and what was next up before is passed on with what made that ready.
  Runnable* const before = worker->next_up.exchange(&runnable, seq_cst);
  // The first that waits here is the next but one, and not worth a wake-up.
  const std::size_t waiting = before == nullptr ? 0 : worker->ready.push(*before);
  const bool is_worth_it = waiting > 0 && is_worth_telling(*worker, waiting);
  if (is_worth_it || !is_watched_.load(seq_cst)) tell_workers();
}

void PoolCore::run_later(Runnable& runnable) noexcept {
  Worker* const worker = worker_for_ready();
  if (worker == nullptr) return leave_to_all(runnable);
  const std::size_t waiting = worker->ready.push(runnable);
  const bool is_worth_it = waiting > 0 && is_worth_telling(*worker, waiting);
  if (is_worth_it || !is_watched_.load(seq_cst)) tell_workers();
}

void PoolCore::leave_to_all(Runnable& runnable) noexcept {
  static_cast<void>(ready_.push(runnable, [this] { tell_workers(); }));
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

bool PoolCore::steal_coroutine(Worker& worker, Worker& victim, Work& work) {
  if (victim.ready.size() >= many) {
    work.coroutine = victim.ready.take_half(worker.ready, most_stolen);
    if (work.coroutine != nullptr) return true;
  }
  const bool gets_on = will_soon_run_all(victim);
  note_told(victim, gets_on);
  if (!gets_on) work.coroutine = victim.ready.take();
  return work.coroutine != nullptr;
}

bool PoolCore::someone_has_coroutines() const {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (workers_[i].has_coroutines()) return true;
  }
  return false;
}

bool PoolCore::take_left_lying(Work& work) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    Worker& each = workers_[i];
    const auto ticks = each.ticks.load(relaxed);
    const bool gets_on = std::exchange(each.ticks_seen, ticks) != ticks;
    if (gets_on) continue;
    if (each.next_up.load(relaxed) != nullptr) {
      work.coroutine = each.next_up.exchange(nullptr, acq_rel);
    }
    if (work.coroutine == nullptr) work.coroutine = each.ready.take();
    if (work.coroutine != nullptr) return true;
  }
  return false;
}

void PoolCore::leave_next_up_to_others(Worker& worker) {
  if (worker.next_up.load(relaxed) == nullptr) return;
  if (Runnable* const left = worker.next_up.exchange(nullptr, acq_rel)) {
    leave_to_all(*left);
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
