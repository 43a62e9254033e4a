// A four-byte lock for critical sections of a few dozen instructions: wait lists, registry shards.
//
// Uncontended it is one compare-and-swap each way. Under contention it spins for a few microseconds and then
// sleeps, because its holder may have been descheduled. Not fair, not named, not for users.
#pragma once

#include <cstdint>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class SmallLock {
 public:
  void lock() {
    std::uint32_t expected = free;
    // Pairs with the release in unlock().
    if (!word_.compare_exchange_strong(expected, held, acquire, relaxed)) lock_contended();
  }
  bool try_lock() {
    std::uint32_t expected = free;
    // Pairs with the release in unlock().
    return word_.compare_exchange_strong(expected, held, acquire, relaxed);
  }
  void unlock() {
    // Pairs with the acquires in lock(), try_lock() and lock_contended().
    if (word_.exchange(free, release) == held_with_sleepers) wake_sleeper();
  }

 private:
  static constexpr std::uint32_t free = 0;
  static constexpr std::uint32_t held = 1;
  static constexpr std::uint32_t held_with_sleepers = 2;

  void lock_contended();
  void wake_sleeper();

  atomic<std::uint32_t> word_{free};
};

class [[nodiscard]] SmallGuard {
 public:
  explicit SmallGuard(SmallLock& lock) : lock_(lock) { lock_.lock(); }
  ~SmallGuard() { lock_.unlock(); }
  SmallGuard(const SmallGuard&) = delete;
  SmallGuard& operator=(const SmallGuard&) = delete;

 private:
  SmallLock& lock_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
