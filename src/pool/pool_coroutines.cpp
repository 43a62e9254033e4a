// How coroutines run on a pool's workers.
//
// What a worker's coroutine makes ready goes on that worker when this one is suspended: between two coroutines that talk to each
// other a switch then costs tens of nanoseconds, where waking a thread costs microseconds, and so does what has to move to
// another core's cache. Others take
// - nothing from a worker that gets on, unless many wait there;
// - what is left lying: the worker does not get through what waits there within some microseconds.
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

// How many looks of a worker that is busy there are to one at those that may be blocked.
constexpr std::size_t looks_per_watch = 8;

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
  const auto taken = [&] { return worker.ready.taken() + worker.newcomers.taken(); };
  const auto waiting = [&] { return worker.ready.size() + worker.newcomers.size(); };
  const auto at_first = taken() + waiting();
  for (int look = 0; look < looks; ++look) {
    if (waiting() == 0 || taken() >= at_first) return true;
    if (!spinning_pays()) return false;
    spin_for(moment / looks);
  }
  return false;
}

// Who was told has come.
void note_told(Worker& worker, bool in_vain) {
  if (!worker.has_told.load(relaxed)) return;  // Hints: see is_worth_telling().
  worker.has_told.store(false, relaxed);
  const auto before = worker.told_in_vain.load(relaxed);
  worker.told_in_vain.store(in_vain ? std::min(before + 1, most_told_in_vain) : 0, relaxed);
}

}  // namespace

// -- How many there are ---------------------------------------------------------------------------
//
// One number for all workers would be fought over by them, with every coroutine. So each worker counts for itself. To keep to the limit it
// has permits to begin some more: a share of those that are left, which is taken back before anybody is refused.

namespace {
constexpr std::uint64_t most_permits = 64;
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
  std::uint64_t permits = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    permits += workers_[i].coroutine_permits.load(relaxed);
  }
  return coroutines() + permits;
}

// It has been counted in already. False if that is one too many.
bool PoolCore::may_begin_locked(Worker* worker) {
  auto allowed = coroutines_allowed_locked();
  if (allowed > most_coroutines_) {
    // What some may begin and have not must not be missed by the others.
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].coroutine_permits.store(0, seq_cst);
    }
    allowed = coroutines_allowed_locked();
    if (allowed > most_coroutines_) return false;
  }
  if (worker != nullptr) {
    const auto share = (most_coroutines_ - allowed) / (4 * (workers_.size() + 1));
    worker->coroutine_permits.store(std::min<std::uint64_t>(share, most_permits), seq_cst);
  }
  return true;
}

std::optional<Refusal> PoolCore::begin_coroutine() {
  if (has_ended()) return refuse(Refusal::closed);
  Worker* const worker =
      this_worker != nullptr && &this_worker->pool == this ? this_worker : nullptr;
  if (worker == nullptr) {
    begun_outside_.fetch_add(1, seq_cst);
  } else {
    // Counted before the permit is taken: who adds up both may count it twice, but never not at all.
    worker->coroutines_begun.store(worker->coroutines_begun.load(relaxed) + 1, seq_cst);
    auto permits = worker->coroutine_permits.load(relaxed);
    while (permits > 0) {
      if (worker->coroutine_permits.compare_exchange_weak(permits, permits - 1, seq_cst)) {
        return std::nullopt;
      }
    }
  }
  {
    SmallGuard guard(coroutines_lock_);
    if (may_begin_locked(worker)) return std::nullopt;
    // Under the lock: the next who asks must not count it.
    if (worker == nullptr) {
      begun_outside_.fetch_sub(1, seq_cst);
    } else {
      worker->coroutines_begun.store(worker->coroutines_begun.load(relaxed) - 1, seq_cst);
    }
  }
  rouse_if_none_is_left();
  return refuse(Refusal::full);
}

void PoolCore::end_coroutine() {
  if (this_worker != nullptr && &this_worker->pool == this) {
    auto& ended = this_worker->coroutines_ended;
    ended.store(ended.load(relaxed) + 1, seq_cst);  // Written by this thread alone.
  } else {
    ended_outside_.fetch_add(1, seq_cst);
  }
  rouse_if_none_is_left();
}

// Sequentially consistent, as the counting before it: workers that are about to sleep have looked at the numbers, or are roused.
void PoolCore::rouse_if_none_is_left() {
  if ((ended_.load(seq_cst) || queue_.is_closed()) && coroutines() == 0) idle_.rouse_all();
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

// What an actor has spawned. One branch after the other: see newcomers.hpp.
void PoolCore::run_newcomer(Runnable& runnable) noexcept {
  Worker* const worker = worker_for_ready();
  if (worker == nullptr) return leave_to_all(runnable);
  const std::size_t waiting = worker->newcomers.push(runnable);
  const bool is_worth_it = waiting > 0 && is_worth_telling(*worker, waiting);
  if (is_worth_it || !is_watched_.load(seq_cst)) tell_workers();
}

void PoolCore::leave_to_all(Runnable& runnable) noexcept {
  static_cast<void>(ready_.push(runnable, [this] { tell_workers(); }));
}

// Those that wait anywhere, of each list in its turn: also of those that wait behind two that wake each other, or at a worker that
// is long at something.
bool PoolCore::find_waiting_coroutine(const Worker& worker, Work& work) {
  const std::size_t lists = workers_.size() + 1;
  const std::size_t first = worker.ticks.load(relaxed) / look_period;
  // Nobody may be idle, and so watch, while one is blocked by something the pool knows nothing of.
  if (first % looks_per_watch == 0 && take_left_lying(work)) return true;
  for (std::size_t i = 0; work.coroutine == nullptr && i < lists; ++i) {
    const std::size_t list = (first + i) % lists;
    if (list == workers_.size()) {
      work.coroutine = ready_.take();
    } else {
      work.coroutine = workers_[list].ready.take();
      if (work.coroutine == nullptr) work.coroutine = workers_[list].newcomers.take_oldest();
    }
  }
  return work.coroutine != nullptr;
}

bool PoolCore::find_coroutine(Worker& worker, Work& work) {
  // A guess; the exchange pairs with the one that put it there.
  if (worker.next_up.load(relaxed) != nullptr) {
    work.coroutine = worker.next_up.exchange(nullptr, acq_rel);
    if (work.coroutine != nullptr) return true;
  }
  // In turns, as neither is to keep the other waiting.
  const bool newcomer_first = worker.ticks.load(relaxed) % 2 == 0;
  if (newcomer_first) work.coroutine = worker.newcomers.take_newest();
  if (work.coroutine == nullptr) work.coroutine = worker.ready.take();
  if (work.coroutine == nullptr) work.coroutine = worker.newcomers.take_newest();
  if (work.coroutine == nullptr) work.coroutine = ready_.take();
  return work.coroutine != nullptr;
}

// For a pool that has ended, which runs nothing else any more.
bool PoolCore::find_any_coroutine(Worker& worker, Work& work) {
  if (worker.next_tick() % look_period == 0 && find_waiting_coroutine(worker, work)) return true;
  return find_coroutine(worker, work) || find_waiting_coroutine(worker, work);
}

bool PoolCore::steal_coroutine(Worker& worker, Worker& victim, Work& work) {
  if (victim.ready.size() >= many) {
    work.coroutine = victim.ready.take_half(worker.ready, most_stolen);
    // For a moment the others were on no list: who looked then may have gone to sleep.
    if (work.coroutine != nullptr && !worker.ready.is_empty()) tell_workers();
    if (work.coroutine != nullptr) return true;
  }
  if (victim.newcomers.size() >= many) {
    work.coroutine = victim.newcomers.take_half(worker.newcomers, most_stolen);
    if (work.coroutine != nullptr && !worker.newcomers.is_empty()) tell_workers();  // As above.
    if (work.coroutine != nullptr) return true;
  }
  const bool gets_on = will_soon_run_all(victim);
  note_told(victim, gets_on);
  if (!gets_on) {
    work.coroutine = victim.ready.take();
    if (work.coroutine == nullptr) work.coroutine = victim.newcomers.take_oldest();
  }
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
    const auto ticks = each.ticks.load(relaxed);  // Hints: the exchange, or the list, decides.
    const bool gets_on = each.ticks_seen.load(relaxed) != ticks;
    each.ticks_seen.store(ticks, relaxed);
    if (gets_on) continue;
    if (each.next_up.load(relaxed) != nullptr) {
      work.coroutine = each.next_up.exchange(nullptr, acq_rel);
    }
    if (work.coroutine == nullptr) work.coroutine = each.ready.take();
    if (work.coroutine == nullptr) work.coroutine = each.newcomers.take_oldest();
    if (work.coroutine != nullptr) return true;
  }
  return false;
}

void PoolCore::leave_ready_to_others(Worker& worker) {
  // A guess; the exchange pairs with the one that put it there.
  if (worker.next_up.load(relaxed) != nullptr) {
    if (Runnable* const left = worker.next_up.exchange(nullptr, acq_rel)) leave_to_all(*left);
  }
  if (worker.ready.is_empty() && worker.newcomers.is_empty()) return;
  worker.ready.move_all_to(ready_);
  worker.newcomers.move_all_to(ready_);
  tell_workers();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
