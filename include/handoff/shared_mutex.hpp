// A lock that many may hold to read, or one to write.
//
//   handoff::SharedMutex prices{{.name = "prices"}};
//   { auto reading = prices.hold_shared(); ... }         // together with other readers
//   { auto writing = prices.hold(); ... }                // alone
//
//            waits                      now or not        within a time                 deadline and stop_token   awaits
//   write    hold, lock                 try_lock          try_lock_for, _until          acquire                   async_lock
//   read     hold_shared, lock_shared   try_lock_shared   try_lock_shared_for, _until   acquire_shared            async_lock_shared
//
//   auto reading = co_await prices.async_lock_shared();  // in a coroutine: std::expected<AsyncReadLock, Refusal>
//
// The async forms are for coroutines, as Mutex::async_lock() is: the coroutine owns the lock, on whichever thread it goes on.
//
// Fairness: reading and writing take turns. While somebody waits, readers that come line up behind; so a writer waits
// for the readers inside, never for later ones. A writer that unlocks lets in all readers that wait; so a reader
// waits for at most one writer. The last reader to go lets in the writer that waits longest. Among writers the rule is
// that of Mutex: one that comes along may overtake the first in line within the bounds stated there.
//
// A thread or coroutine must not lock what it holds. To lock a lock for writing that one holds for writing throws std::system_error
// (resource_deadlock_would_occur); other cases deadlock, and a checked build reports them: see lock_order.hpp.
//
// Thread safety: any member, any thread, until the destructor begins. Only the one that locked may unlock.
// Visibility: all a writer did is seen by those who lock later, all a reader did by later writers.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <source_location>
#include <string_view>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/lock_steps.hpp"
#include "handoff/detail/sync/lock_tracking.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class SharedMutex;

// Hold a SharedMutex on behalf of a coroutine until the end of the scope, or until unlock(). Move-only.
using AsyncWriteLock = detail::AsyncGuard<SharedMutex, detail::LockSide::exclusive>;
using AsyncReadLock = detail::AsyncGuard<SharedMutex, detail::LockSide::shared>;

namespace detail {

// To wait for the lock as a reader.
class SharedLockSteps : public Steps {
 public:
  SharedLockSteps(SharedMutex& mutex, ThreadId reader) : mutex_(mutex), reader_(reader) {}
  bool begin(Waiter& waiter) final;
  bool go_on(Waiter& waiter, WaitState outcome) final;

  std::expected<void, Refusal> result() const {
    if (refusal_) return std::unexpected(*refusal_);
    return {};
  }

 protected:
  SharedMutex& mutex_;
  ThreadId reader_;
  std::optional<Refusal> refusal_;

 private:
  std::optional<Link> link_;
  std::optional<WaitEdge> edge_;
};

// What async_lock_shared() does.
class AsyncSharedLocking final : public SharedLockSteps {
 public:
  AsyncSharedLocking(SharedMutex& mutex, std::source_location where)
      : SharedLockSteps(mutex, no_thread), where_(where) {}
  void bind(PromiseBase& promise) { reader_ = promise.task().owner_id(); }
  bool ready(const std::stop_token& stop);
  std::expected<AsyncReadLock, Refusal> result();

 private:
  const std::source_location where_;
};

}  // namespace detail

struct SharedMutexOptions {
  std::string_view name = {};  // How waits(), snapshot() and reports call it; copied.
};

class SharedMutex final : public detail::Primitive {
  using Where = std::source_location;

 public:
  SharedMutex() : SharedMutex(SharedMutexOptions{}) {}
  explicit SharedMutex(SharedMutexOptions options);
  ~SharedMutex();

  // Locks it, waiting as long as it takes, until the guard goes out of scope.
  [[nodiscard]] std::unique_lock<SharedMutex> hold(Where where = Where::current()) {
    lock(where);
    return std::unique_lock(*this, std::adopt_lock);
  }
  [[nodiscard]] std::shared_lock<SharedMutex> hold_shared(Where where = Where::current()) {
    lock_shared(where);
    return std::shared_lock(*this, std::adopt_lock);
  }

  // The same within limits. Refused with `timed_out` or `stopped`.
  [[nodiscard]] std::expected<std::unique_lock<SharedMutex>, Refusal> acquire(
      const Wait& wait = {}, Where where = Where::current());
  [[nodiscard]] std::expected<std::shared_lock<SharedMutex>, Refusal> acquire_shared(
      const Wait& wait = {}, Where where = Where::current());

  // The same for a coroutine: co_await gives std::expected<AsyncWriteLock, Refusal>, or <AsyncReadLock, Refusal>.
  detail::Awaitable<detail::AsyncLocking<SharedMutex>> async_lock(Deadline deadline = {},
                                                                  Where where = Where::current()) {
    return detail::Awaitable<detail::AsyncLocking<SharedMutex>>(
        {.operation = "lock", .where = where}, deadline, *this, where);
  }
  detail::Awaitable<detail::AsyncSharedLocking> async_lock_shared(Deadline deadline = {},
                                                                  Where where = Where::current()) {
    return detail::Awaitable<detail::AsyncSharedLocking>(
        {.operation = "lock_shared", .where = where}, deadline, *this, where);
  }

  // What std::unique_lock and std::shared_lock want.
  void lock(Where where = Where::current());
  bool try_lock(Where where = Where::current());
  void unlock();
  void lock_shared(Where where = Where::current());
  // Refused also while somebody waits, so that trying again and again starves no writer.
  bool try_lock_shared(Where where = Where::current());
  void unlock_shared();

  template <typename Rep, typename Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time, Where where = Where::current()) {
    return lock_within({.deadline = within(time)}, where).has_value();
  }
  template <typename D>
  bool try_lock_until(std::chrono::time_point<std::chrono::steady_clock, D> deadline,
                      Where where = Where::current()) {
    return lock_within({.deadline = deadline}, where).has_value();
  }
  template <typename Rep, typename Period>
  bool try_lock_shared_for(std::chrono::duration<Rep, Period> time,
                           Where where = Where::current()) {
    return lock_shared_within({.deadline = within(time)}, where).has_value();
  }
  template <typename D>
  bool try_lock_shared_until(std::chrono::time_point<std::chrono::steady_clock, D> deadline,
                             Where where = Where::current()) {
    return lock_shared_within({.deadline = deadline}, where).has_value();
  }

  // size: readers inside, or 1 for a writer. takes: times it was locked for writing; reading is not counted, because
  // readers would have to share the counter. refused: acquisitions that were refused after waiting.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;
  // The writer; readers are not known one by one.
  detail::ThreadId holder() const override { return writer_of(word_.load(detail::relaxed)); }

 private:
  template <typename Lock>
  friend class detail::LockSteps;
  template <typename Lock>
  friend class detail::AsyncLocking;
  friend class detail::SharedLockSteps;
  friend class detail::AsyncSharedLocking;
  template <typename Lock, detail::LockSide side>
  friend class detail::AsyncGuard;

  // The word: the writer's number in the upper half; below, how many readers are inside and whether somebody waits.
  using Word = std::uint64_t;
  static constexpr Word in_line = 1;
  static constexpr Word one_reader = 2;
  static constexpr Word as_writer(detail::ThreadId thread) { return Word{thread} << 32; }
  static constexpr detail::ThreadId writer_of(Word word) {
    return static_cast<detail::ThreadId>(word >> 32);
  }
  static constexpr std::uint32_t readers_in(Word word) {
    return static_cast<std::uint32_t>(word) >> 1;
  }

  // For an owner: this thread, or a coroutine.
  bool take_if_idle(detail::ThreadId owner);
  bool take_if_free(detail::ThreadId owner);
  bool take_or_was_given(detail::ThreadId owner);
  bool take_by_spinning(detail::ThreadId owner);
  bool take_shared_if_open();
  bool take_shared_by_spinning();
  void count_acquisition();

  std::expected<void, Refusal> lock_within(const Wait& wait, Where where);
  std::expected<void, Refusal> lock_contended(const Wait& wait, Where where);
  std::expected<void, Refusal> lock_shared_within(const Wait& wait, Where where);
  std::expected<void, Refusal> lock_shared_contended(const Wait& wait, Where where);
  void enter_line(detail::Link& link);
  void leave_line_as_owner(detail::Link& link);
  bool leave_line(detail::Link& link, detail::ThreadId owner, Refusal refusal);
  bool enter_readers_line(detail::Link& link);
  bool leave_readers_line(detail::Link& link);
  void clear_in_line_if_empty_locked();
  void refuse_relocking(detail::ThreadId owner) const;

  enum class Next : bool { readers, writer };
  void release_by(detail::ThreadId owner);
  void release_shared();
  void unlock_contended(detail::ThreadId owner);
  void unlock_shared_contended();
  void release_locked(Next next, detail::Unparks& unparks);
  void release_to_writer_locked(detail::Link* writer, detail::Unparks& unparks);
  void open_to_readers_locked(detail::Unparks& unparks);
  void let_in_readers_locked(detail::Unparks& unparks);
  void give_turn_on_locked(detail::Unparks& unparks);
  bool anybody_waits_locked() const;

  detail::atomic<Word> word_{0};
  // Written by the writer only, read by stats().
  detail::atomic<std::uint64_t> acquisitions_{0};
  // The writers' lock guards both lines. To change the readers' line takes its own lock as well, for those who only
  // look at it.
  detail::WaitList writers_;
  detail::WaitList readers_;
  std::uint64_t refused_ = 0;
};

inline bool SharedMutex::take_if_idle(detail::ThreadId owner) {
  Word idle = 0;
  // Pairs with the releases in release_by(), release_shared() and release_locked().
  return word_.compare_exchange_strong(idle, as_writer(owner), detail::acquire, detail::relaxed);
}

inline bool SharedMutex::take_shared_if_open() {
  Word seen = word_.load(detail::relaxed);  // A guess: the compare-and-swap decides.
  while (writer_of(seen) == detail::no_thread && (seen & in_line) == 0) {
    // Pairs with the release in release_by() and release_locked().
    if (word_.compare_exchange_weak(seen, seen + one_reader, detail::acquire, detail::relaxed)) {
      return true;
    }
  }
  return false;
}

inline void SharedMutex::count_acquisition() {
  // Only the writer writes it, so that it needs no read-modify-write.
  acquisitions_.store(acquisitions_.load(detail::relaxed) + 1, detail::relaxed);
}

inline void SharedMutex::lock(Where where) {
  const detail::sim::Operation here(*this, "lock");
  if constexpr (detail::checked_build) detail::about_to_lock(*this, where);
  if (!take_if_idle(detail::this_thread_id())) [[unlikely]]
    (void)lock_contended({}, where);
  count_acquisition();
  if constexpr (detail::checked_build) detail::locked(*this, where);
}

inline bool SharedMutex::try_lock(Where where) {
  const detail::sim::Operation here(*this, "try_lock");
  if (detail::sim::refuses()) return false;
  const detail::ThreadId owner = detail::this_thread_id();
  if (!take_if_idle(owner) && !take_if_free(owner)) return false;
  count_acquisition();
  if constexpr (detail::checked_build) detail::locked(*this, where);
  return true;
}

inline void SharedMutex::unlock() {
  const detail::sim::Operation here(*this, "unlock");
  if constexpr (detail::checked_build) detail::about_to_unlock(*this);
  release_by(detail::this_thread_id());
}

inline void SharedMutex::release_by(detail::ThreadId owner) {
  Word mine = as_writer(owner);
  // Pairs with the acquires in take_if_idle() and take_shared_if_open(). Fails if somebody waits.
  if (word_.compare_exchange_strong(mine, 0, detail::release, detail::relaxed)) [[likely]]
    return;
  unlock_contended(owner);
}

inline void SharedMutex::lock_shared(Where where) {
  const detail::sim::Operation here(*this, "lock_shared");
  if constexpr (detail::checked_build) detail::about_to_lock(*this, where);
  if (!take_shared_if_open()) [[unlikely]]
    (void)lock_shared_contended({}, where);
  if constexpr (detail::checked_build) detail::locked(*this, where);
}

inline bool SharedMutex::try_lock_shared(Where where) {
  const detail::sim::Operation here(*this, "try_lock_shared");
  if (detail::sim::refuses()) return false;
  if (!take_shared_if_open()) return false;
  if constexpr (detail::checked_build) detail::locked(*this, where);
  return true;
}

inline void SharedMutex::unlock_shared() {
  const detail::sim::Operation here(*this, "unlock_shared");
  if constexpr (detail::checked_build) detail::about_to_unlock(*this);
  release_shared();
}

inline void SharedMutex::release_shared() {
  Word seen = word_.load(detail::relaxed);  // A guess: the compare-and-swap decides.
  // The last reader must not let go before it holds the line's lock: the next owner might destroy the mutex.
  while (seen != (one_reader | in_line) && readers_in(seen) != 0) {
    // Pairs with the acquire in take_if_idle() and in release_locked().
    if (word_.compare_exchange_weak(seen, seen - one_reader, detail::release, detail::relaxed)) {
      return;
    }
  }
  unlock_shared_contended();
}

extern template class detail::LockSteps<SharedMutex>;

}  // namespace handoff::inline HANDOFF_FLAVOUR
