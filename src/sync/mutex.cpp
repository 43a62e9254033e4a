// Invariants of the mutex:
// - The word alone says who owns it. It goes from no owner to an owner by compare-and-swap, and from one owner to the
//   next, without being free in between, by a store of the owner under the line's lock (hand_over_locked).
// - `in_line` is set and cleared under the line's lock only, and is set whenever the line is not empty. So an unlock()
//   either sees it, or came before the waiter's look at the word that follows enter_line().
// - A free lock with somebody in line has given a turn to the first of them that is not on its way out. Whoever leaves
//   the line without the lock gives that turn on (leave_line).
// - Who took the lock from the line, or unlocks past a line, has held the line's lock after everybody before: only
//   therefore may the last owner destroy the mutex.
#include "handoff/mutex.hpp"

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/spin.hpp"
#include "line.hpp"
#include "lock_steps.ipp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

Mutex::Mutex(const char* kind, std::string_view name) : Primitive(kind, name) { enter_if_named(); }

Mutex::~Mutex() {
  retire();
  if constexpr (checked_build) forget_lock(*this);
  HANDOFF_ASSERT(word_.load(relaxed) == 0);  // Destroyed while somebody holds it or waits for it.
}

std::expected<std::unique_lock<Mutex>, Refusal> Mutex::acquire(const Wait& wait,
                                                               std::source_location where) {
  if (auto locked = lock_within(wait, where); !locked) return std::unexpected(locked.error());
  return std::unique_lock(*this, std::adopt_lock);
}

std::expected<void, Refusal> Mutex::lock_within(const Wait& wait, std::source_location where) {
  const sim::Operation here(*this, "lock");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  if constexpr (checked_build) {
    // What ends by itself cannot deadlock, and may be taken in any order.
    if (wait.deadline.is_never()) about_to_lock(*this, where);
  }
  if (!take_if_idle(this_thread_id())) {
    if (auto taken = lock_contended(wait, where); !taken) return taken;
  }
  count_acquisition();
  if constexpr (checked_build) locked(*this, where);
  return {};
}

std::expected<void, Refusal> Mutex::lock_contended(const Wait& wait, std::source_location where) {
  const ThreadId owner = this_thread_id();
  refuse_relocking(owner);
  if (take_by_spinning(owner)) return {};
  LockSteps<Mutex> steps(*this, owner);
  ThreadWaiter waiter(wait, {.operation = "lock", .where = where});
  take_steps(waiter, steps);
  return steps.result();
}

// Free, perhaps with others in line: the bounded overtaking that the header promises.
bool Mutex::take_if_free(ThreadId owner) {
  Word seen = word_.load(relaxed);  // A guess: the compare-and-swap decides.
  while (owner_of(seen) == no_thread) {
    const Word taken = seen | as_owner(owner);
    // Pairs with the release in release_by() and in release_locked().
    if (word_.compare_exchange_weak(seen, taken, detail::acquire, relaxed)) return true;
  }
  return false;
}

bool Mutex::take_or_was_given(ThreadId owner) {
  // Pairs with the release in hand_over_locked().
  return take_if_free(owner) || owner_of(word_.load(detail::acquire)) == owner;
}

bool Mutex::take_by_spinning(ThreadId owner) {
  constexpr int looks = 40;  // About a microsecond: a short critical section ends within it.
  if (take_or_was_given(owner)) return true;
  if (!spinning_pays()) return false;
  for (int i = 0; i < looks; ++i) {
    cpu_relax();
    if (take_or_was_given(owner)) return true;
  }
  return false;
}

void Mutex::enter_line(Link& link) {
  SmallGuard guard(line_.lock());
  line_.push_back_locked(link);
  word_.fetch_or(in_line, relaxed);  // One word: an unlock() that comes later sees it.
}

void Mutex::leave_line_as_owner(Link& link) {
  SmallGuard guard(line_.lock());
  line_.unlink_locked(link);
  if (line_.is_empty_locked()) word_.fetch_and(~in_line, relaxed);  // Only the bit, under the lock.
}

// For one whose wait is over. Returns true if it owns the lock all the same.
bool Mutex::leave_line(Link& link, ThreadId owner, Refusal refusal) {
  Unpark unpark;
  {
    SmallGuard guard(line_.lock());
    // It may have been handed over just now; and past a deadline, what needs no waiting is still done.
    bool is_owner = owner_of(word_.load(detail::acquire)) == owner;
    if (!is_owner && refusal == Refusal::timed_out) is_owner = take_if_free(owner);
    line_.unlink_locked(link);
    if (line_.is_empty_locked())
      word_.fetch_and(~in_line, relaxed);  // Only the bit, under the lock.
    if (is_owner) return true;

    ++refused_;
    Link* next = first_to_stay_locked(line_.front_locked());
    // The turn may have been this one's.
    if (next != nullptr && owner_of(word_.load(relaxed)) == no_thread) {
      next->waiter->give_turn(unpark);
    }
  }
  unpark();
  return false;
}

void Mutex::refuse_relocking(ThreadId owner) const {
  if (holder() == owner) throw_relocked(*this, owner);
}

void Mutex::unlock_contended(ThreadId owner) {
  Unpark unpark;
  {
    SmallGuard guard(line_.lock());
    HANDOFF_ASSERT(holder() == owner);  // Only the owner may unlock.
    release_locked(unpark);
  }
  unpark();
}

void Mutex::release_locked(Unpark& unpark) {
  Link* next = first_to_stay_locked(line_.front_locked());
  if (next != nullptr && !may_be_overtaken_locked(*next)) {
    hand_over_locked(*next, unpark);
    return;
  }
  word_.fetch_and(in_line, release);  // Pairs with the acquire in take_if_free().
  if (next != nullptr) next->waiter->give_turn(unpark);
}

void Mutex::hand_over_locked(Link& next, Unpark& unpark) {
  line_.unlink_locked(next);
  const Word rest = line_.is_empty_locked() ? 0 : in_line;
  // A plain store: others change the word only when it is free, or under the line's lock. Pairs with the acquire in
  // take_or_was_given() and leave_line().
  word_.store(as_owner(next.waiter->thread()) | rest, release);
  // If it was stopped or timed out this moment, it finds itself the owner all the same.
  next.waiter->give_turn(unpark);
}

Stats Mutex::stats() const {
  Stats stats = stats_of(line_);
  stats.size = holder() == no_thread ? 0 : 1;
  stats.capacity = 1;
  stats.takes = acquisitions_.load(relaxed);  // A counter only.
  SmallGuard guard(line_.lock());
  stats.refused = refused_;
  return stats;
}

void Mutex::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

template class detail::LockSteps<Mutex>;

}  // namespace handoff::inline HANDOFF_FLAVOUR
