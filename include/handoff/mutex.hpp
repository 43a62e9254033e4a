// A lock for short critical sections, with a name, an owner and waits that can be ended.
//
//   handoff::Mutex accounts{{.name = "accounts"}};
//   {
//     auto held = accounts.hold();                       // or std::scoped_lock, std::unique_lock, ...
//     balance += cents;
//   }
//   auto held = accounts.acquire({.deadline = handoff::within(1s), .stop = stop});
//   if (!held) return held.error();                      // timed_out or stopped
//
//            waits         now or not    within a time            deadline and stop_token    awaits
//   lock     hold, lock    try_lock      try_lock_for, _until     acquire                    async_lock
//
//   auto held = co_await accounts.async_lock();          // in a coroutine: std::expected<AsyncLock, Refusal>
//   if (!held) co_return held.error();                   // stopped
//
// async_lock() suspends the coroutine instead of its thread, and the coroutine owns the lock, on whichever thread it goes on:
// its AsyncLock may be held across a co_await. Its stop_token is that of the running task; a deadline is given as such:
// async_lock(within(1s)). Where coroutines hold a lock across a co_await, threads of the pool that runs them should
// not block on it: the owner may need that very thread to go on.
//
// Fairness: who waits, waits first in, first out. A free lock may still go to a thread that comes along, because a
// sleeper takes long to get up; but only until the first in line has once got up in vain, or for 1 ms after the
// lock was first free for it, or 1000 times. After that the next unlock() makes it the owner. So nobody starves.
//
// Not recursive: a thread or coroutine that locks what it holds gets std::system_error (resource_deadlock_would_occur). Only the
// owner may unlock; anything else stops the program. In a checked build every acquisition by a thread is also checked for
// its order: see lock_order.hpp.
//
// hold() and acquire() rather than lock() through std::scoped_lock: waits() then names the line of the caller, and not
// one in the standard library.
// Thread safety: any member, any thread, until the destructor begins. Like a std::mutex it may be destroyed by the
// thread that unlocked it last.
// Visibility: all an owner did before unlock() is seen by the one that locks next.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <mutex>
#include <source_location>
#include <string_view>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/lock_steps.hpp"
#include "handoff/detail/sync/lock_tracking.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
class Monitor;
class Mutex;

// Holds a Mutex on behalf of a coroutine until the end of the scope, or until unlock(). Move-only.
using AsyncLock = detail::AsyncGuard<Mutex, detail::LockSide::exclusive>;

struct MutexOptions {
  std::string_view name = {};  // How waits(), snapshot() and reports call it; copied.
};

class Mutex final : public detail::Primitive {
 public:
  Mutex() : Mutex(MutexOptions{}) {}
  explicit Mutex(MutexOptions options) : Mutex("Mutex", options.name) {}
  ~Mutex();

  // Locks it, waiting as long as it takes, until the guard goes out of scope.
  [[nodiscard]] std::unique_lock<Mutex> hold(
      std::source_location where = std::source_location::current()) {
    lock(where);
    return std::unique_lock(*this, std::adopt_lock);
  }

  // The same within limits. Refused with `timed_out` or `stopped`.
  [[nodiscard]] std::expected<std::unique_lock<Mutex>, Refusal> acquire(
      const Wait& wait = {}, std::source_location where = std::source_location::current());

  // The same for a coroutine: co_await gives std::expected<AsyncLock, Refusal>.
  detail::Awaitable<detail::AsyncLocking<Mutex>> async_lock(
      Deadline deadline = {}, std::source_location where = std::source_location::current()) {
    return detail::Awaitable<detail::AsyncLocking<Mutex>>({.operation = "lock", .where = where},
                                                          deadline, *this, where);
  }

  // What std::scoped_lock, std::unique_lock and std::lock want.
  void lock(std::source_location where = std::source_location::current());
  bool try_lock(std::source_location where = std::source_location::current());
  void unlock();

  template <typename Rep, typename Period>
  bool try_lock_for(std::chrono::duration<Rep, Period> time,
                    std::source_location where = std::source_location::current()) {
    return lock_within({.deadline = within(time)}, where).has_value();
  }
  template <typename D>
  bool try_lock_until(std::chrono::time_point<std::chrono::steady_clock, D> deadline,
                      std::source_location where = std::source_location::current()) {
    return lock_within({.deadline = deadline}, where).has_value();
  }

  // size: 1 while it is locked. takes: times it was locked. refused: acquisitions that were refused after waiting.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;
  detail::ThreadId holder() const override { return owner_of(word_.load(detail::relaxed)); }

  // How long, and how often, the first in line may be overtaken.
  static constexpr Duration max_overtaking_time = std::chrono::milliseconds(1);
  static constexpr std::uint32_t max_overtakings = 1000;

 private:
  template <typename T>
  friend class Monitor;
  template <typename Lock>
  friend class detail::LockSteps;
  template <typename Lock>
  friend class detail::AsyncLocking;
  template <typename Lock, detail::LockSide side>
  friend class detail::AsyncGuard;

  // The word: the owner's number in the upper half, and whether somebody stands in line.
  using Word = std::uint64_t;
  static constexpr Word in_line = 1;
  static constexpr Word as_owner(detail::ThreadId thread) { return Word{thread} << 32; }
  static constexpr detail::ThreadId owner_of(Word word) {
    return static_cast<detail::ThreadId>(word >> 32);
  }

  Mutex(const char* kind, std::string_view name);

  // All for an owner: this thread, or a coroutine.
  bool take_if_idle(detail::ThreadId owner);
  bool take_if_free(detail::ThreadId owner);
  bool take_by_spinning(detail::ThreadId owner);
  bool take_or_was_given(detail::ThreadId owner);
  void count_acquisition();

  std::expected<void, Refusal> lock_within(const Wait& wait, std::source_location where);
  std::expected<void, Refusal> lock_contended(const Wait& wait, std::source_location where);
  void enter_line(detail::Link& link);
  void leave_line_as_owner(detail::Link& link);
  bool leave_line(detail::Link& link, detail::ThreadId owner, Refusal refusal);
  void refuse_relocking(detail::ThreadId owner) const;

  void release_by(detail::ThreadId owner);
  void unlock_contended(detail::ThreadId owner);
  void release_locked(detail::Unpark& unpark);
  void hand_over_locked(detail::Link& next, detail::Unpark& unpark);

  detail::atomic<Word> word_{0};
  // Written by the owner only, read by stats().
  detail::atomic<std::uint64_t> acquisitions_{0};
  detail::WaitList line_;
  // Guarded by line_.lock().
  std::uint64_t refused_ = 0;
};

inline bool Mutex::take_if_idle(detail::ThreadId owner) {
  Word idle = 0;
  // Pairs with the release in release_by() and in release_locked().
  return word_.compare_exchange_strong(idle, as_owner(owner), detail::acquire, detail::relaxed);
}

inline void Mutex::count_acquisition() {
  // Only the owner writes it, so that it needs no read-modify-write.
  acquisitions_.store(acquisitions_.load(detail::relaxed) + 1, detail::relaxed);
}

inline void Mutex::lock(std::source_location where) {
  const detail::sim::Operation here(*this, "lock");
  if constexpr (detail::checked_build) detail::about_to_lock(*this, where);
  if (!take_if_idle(detail::this_thread_id())) [[unlikely]]
    (void)lock_contended({}, where);
  count_acquisition();
  if constexpr (detail::checked_build) detail::locked(*this, where);
}

inline bool Mutex::try_lock(std::source_location where) {
  const detail::sim::Operation here(*this, "try_lock");
  if (detail::sim::refuses()) return false;
  const detail::ThreadId owner = detail::this_thread_id();
  if (!take_if_idle(owner) && !take_if_free(owner)) return false;
  count_acquisition();
  if constexpr (detail::checked_build) detail::locked(*this, where);
  return true;
}

inline void Mutex::unlock() {
  const detail::sim::Operation here(*this, "unlock");
  if constexpr (detail::checked_build) detail::about_to_unlock(*this);
  release_by(detail::this_thread_id());
}

inline void Mutex::release_by(detail::ThreadId owner) {
  Word mine = as_owner(owner);
  // Pairs with the acquire in take_if_idle(). Fails if somebody stands in line.
  if (word_.compare_exchange_strong(mine, 0, detail::release, detail::relaxed)) [[likely]]
    return;
  unlock_contended(owner);
}

extern template class detail::LockSteps<Mutex>;

}  // namespace handoff::inline HANDOFF_FLAVOUR
