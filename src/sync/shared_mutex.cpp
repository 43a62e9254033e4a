// Invariants, where "waits" means: stands in line and has not been claimed by a stop or a deadline.
// - The word alone says who is inside. `in_line` is set whenever a line is not empty, and changes under the writers' lock.
// - While `in_line` is set, readers get in only by being let in: the one who lets them in counts them in the word and
//   takes them off the line, both under the writers' lock. So a reader that was taken off the line by another is inside.
// - If readers wait, then a writer is inside or waits. A writer lets them in when it unlocks, or when it leaves the line as
//   the last one (leave_line).
// - If writers wait, then somebody is inside, or the first of them has a turn. The last one inside gives it the turn or
//   makes it the owner; whoever leaves the line gives the turn on.
// - Only while nobody is inside may a writer that comes along take the lock past a line.
// - A holder that leaves while somebody waits holds the writers' lock while it changes the word, and may then simply store:
//   nobody else can change a word that says "one inside, somebody waits".
#include "handoff/shared_mutex.hpp"

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/spin.hpp"
#include "line.hpp"
#include "lock_steps.ipp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

namespace {

constexpr int spin_looks = 40;  // About a microsecond: a short critical section ends within it.

}  // namespace

SharedMutex::SharedMutex(SharedMutexOptions options) : Primitive("SharedMutex", options.name) {
  enter_if_named();
}

SharedMutex::~SharedMutex() {
  retire();
  if constexpr (checked_build) forget_lock(*this);
  HANDOFF_ASSERT(word_.load(relaxed) == 0);  // Destroyed while somebody holds it or waits for it.
}

// -- Writing ---------------------------------------------------------------------------------------

std::expected<std::unique_lock<SharedMutex>, Refusal> SharedMutex::acquire(const Wait& wait,
                                                                           Where where) {
  if (auto taken = lock_within(wait, where); !taken) return std::unexpected(taken.error());
  return std::unique_lock(*this, std::adopt_lock);
}

std::expected<void, Refusal> SharedMutex::lock_within(const Wait& wait, Where where) {
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

std::expected<void, Refusal> SharedMutex::lock_contended(const Wait& wait, Where where) {
  const ThreadId owner = this_thread_id();
  refuse_relocking(owner);
  if (take_by_spinning(owner)) return {};
  LockSteps<SharedMutex> steps(*this, owner);
  ThreadWaiter waiter(wait, {.operation = "lock", .where = where});
  take_steps(waiter, steps);
  return steps.result();
}

void SharedMutex::enter_line(Link& link) {
  SmallGuard guard(writers_.lock());
  writers_.push_back_locked(link);
  word_.fetch_or(in_line, relaxed);  // One word: whoever leaves it later sees this.
}

void SharedMutex::leave_line_as_owner(Link& link) {
  SmallGuard guard(writers_.lock());
  writers_.unlink_locked(link);
  clear_in_line_if_empty_locked();
}

// Free, perhaps with writers in line: the bounded overtaking that the header promises.
bool SharedMutex::take_if_free(ThreadId owner) {
  Word seen = word_.load(relaxed);  // A guess: the compare-and-swap decides.
  while ((seen & ~in_line) == 0) {
    const Word taken = seen | as_writer(owner);
    // Pairs with the releases in release_by(), release_shared() and release_locked().
    if (word_.compare_exchange_weak(seen, taken, detail::acquire, relaxed)) return true;
  }
  return false;
}

bool SharedMutex::take_or_was_given(ThreadId owner) {
  // Pairs with the release in release_to_writer_locked().
  return take_if_free(owner) || writer_of(word_.load(detail::acquire)) == owner;
}

bool SharedMutex::take_by_spinning(ThreadId owner) {
  if (take_or_was_given(owner)) return true;
  if (!spinning_pays()) return false;
  for (int i = 0; i < spin_looks; ++i) {
    cpu_relax();
    if (take_or_was_given(owner)) return true;
  }
  return false;
}

// For a writer whose wait is over. Returns true if it owns the lock all the same.
bool SharedMutex::leave_line(Link& link, ThreadId owner, Refusal refusal) {
  Unparks unparks;
  SmallGuard guard(writers_.lock());
  // It may have been handed over just now; and past a deadline, what needs no waiting is still done.
  bool is_mine = writer_of(word_.load(detail::acquire)) == owner;
  if (!is_mine && refusal == Refusal::timed_out) is_mine = take_if_free(owner);
  writers_.unlink_locked(link);
  if (!is_mine) {
    ++refused_;
    give_turn_on_locked(unparks);
  }
  clear_in_line_if_empty_locked();
  return is_mine;
}

// A writer has left the line: the turn may have been its own, and it may have been the one the readers waited for.
void SharedMutex::give_turn_on_locked(Unparks& unparks) {
  Link* const next = first_to_stay_locked(writers_.front_locked());
  if (next == nullptr) return open_to_readers_locked(unparks);
  Unpark unpark;
  // A guess: a turn too many is harmless, and who makes it free later gives one.
  const bool is_free = (word_.load(relaxed) & ~in_line) == 0;
  if (is_free && next->waiter->give_turn(unpark)) unparks.add(unpark);
}

void SharedMutex::refuse_relocking(ThreadId owner) const {
  if (holder() == owner) throw_relocked(*this, owner);
}

// -- Reading ---------------------------------------------------------------------------------------

std::expected<std::shared_lock<SharedMutex>, Refusal> SharedMutex::acquire_shared(const Wait& wait,
                                                                                  Where where) {
  if (auto taken = lock_shared_within(wait, where); !taken) return std::unexpected(taken.error());
  return std::shared_lock(*this, std::adopt_lock);
}

std::expected<void, Refusal> SharedMutex::lock_shared_within(const Wait& wait, Where where) {
  const sim::Operation here(*this, "lock_shared");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  if constexpr (checked_build) {
    if (wait.deadline.is_never()) about_to_lock(*this, where);
  }
  if (!take_shared_if_open()) {
    if (auto taken = lock_shared_contended(wait, where); !taken) return taken;
  }
  if constexpr (checked_build) locked(*this, where);
  return {};
}

std::expected<void, Refusal> SharedMutex::lock_shared_contended(const Wait& wait, Where where) {
  const ThreadId reader = this_thread_id();
  refuse_relocking(reader);
  if (take_shared_by_spinning()) return {};
  SharedLockSteps steps(*this, reader);
  ThreadWaiter waiter(wait, {.operation = "lock_shared", .where = where});
  take_steps(waiter, steps);
  return steps.result();
}

bool SharedMutex::take_shared_by_spinning() {
  if (!spinning_pays()) return false;
  for (int i = 0; i < spin_looks; ++i) {
    cpu_relax();
    if (take_shared_if_open()) return true;
  }
  return false;
}

// Returns true if it got in instead: there was no writer to wait for.
bool SharedMutex::enter_readers_line(Link& link) {
  SmallGuard guard(writers_.lock());
  Word seen = word_.fetch_or(in_line, relaxed) |
              in_line;  // One word: a writer that unlocks later sees this.
  const bool writers_wait = first_to_stay_locked(writers_.front_locked()) != nullptr;
  while (!writers_wait && writer_of(seen) == no_thread) {
    // Pairs with the release in release_by() and release_locked().
    if (!word_.compare_exchange_weak(seen, seen + one_reader, detail::acquire, relaxed)) continue;
    clear_in_line_if_empty_locked();
    return true;
  }
  SmallGuard own_guard(readers_.lock());
  readers_.push_back_locked(link);
  return false;
}

// Returns true if somebody has let it in.
bool SharedMutex::leave_readers_line(Link& link) {
  SmallGuard guard(writers_.lock());
  if (!link.linked) return true;
  {
    SmallGuard own_guard(readers_.lock());
    readers_.unlink_locked(link);
  }
  ++refused_;
  clear_in_line_if_empty_locked();
  return false;
}

namespace detail {

bool SharedLockSteps::begin(Waiter& waiter) {
  mutex_.enter_registry();
  waiter.act_as(reader_);
  if (mutex_.enter_readers_line(link_.emplace(waiter))) return true;
  try {
    waiter.arm();
  } catch (...) {  // There is no thread for its timer, so that nothing would end the wait in time.
    if (!mutex_.leave_readers_line(*link_)) throw;
    return true;
  }
  edge_.emplace(mutex_, waiter);
  if constexpr (checked_build) {
    WaitState outcome;
    if (!waiter.is_over(outcome)) edge_->about_to_park();
  }
  return false;
}

bool SharedLockSteps::go_on(Waiter&, WaitState outcome) {
  if (!mutex_.leave_readers_line(*link_)) {
    HANDOFF_ASSERT(is_refused(outcome));
    refusal_ = refusal_of(outcome);
  }
  edge_.reset();
  return true;
}

bool AsyncSharedLocking::ready(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    refusal_ = Refusal::stopped;
    return true;
  }
  if (mutex_.take_shared_if_open()) return true;
  mutex_.refuse_relocking(reader_);
  return false;
}

std::expected<AsyncReadLock, Refusal> AsyncSharedLocking::result() {
  if (refusal_) return std::unexpected(*refusal_);
  if constexpr (checked_build) locked_for(reader_, mutex_, where_);
  return AsyncReadLock(mutex_, reader_);
}

}  // namespace detail

// -- Leaving ---------------------------------------------------------------------------------------

void SharedMutex::unlock_contended(ThreadId owner) {
  Unparks unparks;
  SmallGuard guard(writers_.lock());
  HANDOFF_ASSERT(holder() == owner);  // Only the owner may unlock.
  release_locked(Next::readers, unparks);
}

void SharedMutex::unlock_shared_contended() {
  Unparks unparks;
  SmallGuard guard(writers_.lock());
  Word seen = word_.load(relaxed);        // A guess: the compare-and-swap decides.
  HANDOFF_ASSERT(readers_in(seen) != 0);  // Only a reader may leave as one.
  while (seen != (one_reader | in_line)) {
    // Others came or went meanwhile. Pairs with the acquire in take_if_idle().
    if (word_.compare_exchange_weak(seen, seen - one_reader, release, relaxed)) return;
  }
  // As the last reader: what those before did is passed on with the release below.
  word_.load(detail::acquire);
  release_locked(Next::writer, unparks);
}

// By the only one inside, while somebody stands in line.
void SharedMutex::release_locked(Next next, Unparks& unparks) {
  Link* const writer = first_to_stay_locked(writers_.front_locked());
  const bool readers_wait = !readers_.is_empty_locked();
  if (!readers_wait || (next == Next::writer && writer != nullptr)) {
    release_to_writer_locked(writer, unparks);
    return;
  }
  const Word entering = one_reader * readers_.size_locked();
  let_in_readers_locked(unparks);
  // For the readers, who look at their links only, the writers' lock does what this release does for later writers.
  word_.store(entering | (anybody_waits_locked() ? in_line : 0), release);
}

void SharedMutex::release_to_writer_locked(Link* writer, Unparks& unparks) {
  Word next_owner = 0;
  if (writer != nullptr && !may_be_overtaken_locked(*writer)) {
    writers_.unlink_locked(*writer);
    next_owner = as_writer(writer->waiter->thread());
  }
  // Pairs with the acquires in take_if_free() and take_or_was_given().
  word_.store(next_owner | (anybody_waits_locked() ? in_line : 0), release);
  Unpark unpark;
  // If the new owner was stopped this moment, it finds itself the owner all the same.
  if (writer != nullptr && writer->waiter->give_turn(unpark)) unparks.add(unpark);
}

// By one who is not inside: there is no writer left for the readers to wait for, unless one comes along just now.
void SharedMutex::open_to_readers_locked(Unparks& unparks) {
  const Word entering = one_reader * readers_.size_locked();
  Word seen = word_.load(relaxed);  // A guess: the compare-and-swap decides.
  while (entering != 0 && writer_of(seen) == no_thread) {
    // Pairs with the last writer's release; the readers see its work through the writers' lock.
    if (!word_.compare_exchange_weak(seen, seen + entering, acq_rel, relaxed)) continue;
    let_in_readers_locked(unparks);
    return;
  }
}

// Takes all readers off their line: they are counted in the word. Also those whose wait has just ended otherwise.
void SharedMutex::let_in_readers_locked(Unparks& unparks) {
  SmallGuard own_guard(readers_.lock());
  let_all_through_locked(readers_, unparks);
}

bool SharedMutex::anybody_waits_locked() const {
  return !writers_.is_empty_locked() || !readers_.is_empty_locked();
}

void SharedMutex::clear_in_line_if_empty_locked() {
  if (!anybody_waits_locked()) word_.fetch_and(~in_line, relaxed);  // Only the bit, under the lock.
}

// -- What can be seen --------------------------------------------------------------------------------

Stats SharedMutex::stats() const {
  const WaitTotals writers = writers_.totals();
  const WaitTotals readers = readers_.totals();
  const Word word = word_.load(relaxed);  // A snapshot.
  Stats stats;
  stats.size = writer_of(word) == no_thread ? readers_in(word) : 1;
  stats.takes = acquisitions_.load(relaxed);
  stats.waiting_consumers = writers.waiting + readers.waiting;
  stats.consumer_waits = writers.waits + readers.waits;
  stats.consumers_blocked = writers.blocked + readers.blocked;
  SmallGuard guard(writers_.lock());
  stats.refused = refused_;
  return stats;
}

void SharedMutex::report_waits(std::vector<WaitInfo>& waits) const {
  writers_.report(*this, waits);
  readers_.report(*this, waits);
}

template class detail::LockSteps<SharedMutex>;

}  // namespace handoff::inline HANDOFF_FLAVOUR
