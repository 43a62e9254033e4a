// An index and the lock that guards it, in one word: index << 2 | sleepers | locked.
//
// Publishing a new index, unlocking, and the store half of the sleep/wake handshake are one
// sequentially consistent exchange. So there is never a slot that is claimed but not yet published:
// whoever reads the index sees only finished work, and the holder may be descheduled at any point
// without the others seeing anything but a lock that is held.
#pragma once

#include <cstdint>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class IndexLock {
 public:
  // Returns the index; it moves only by unlock().
  std::uint64_t lock() {
    std::uint64_t seen = word_.load(relaxed);
    // Pairs with the exchange in unlock().
    if ((seen & locked) == 0 &&
        word_.compare_exchange_strong(seen, seen | locked, acquire, relaxed)) [[likely]] {
      return seen >> index_shift;
    }
    return lock_contended();
  }

  // Publishes `index` and unlocks.
  void unlock(std::uint64_t index) {
    if ((word_.exchange(index << index_shift, seq_cst) & sleepers) != 0) [[unlikely]]
      wake_sleeper();
  }

  // The published index. Sequentially consistent: the load half of the handshake.
  std::uint64_t index() const { return word_.load(seq_cst) >> index_shift; }

 private:
  static constexpr std::uint64_t locked = 1;
  static constexpr std::uint64_t sleepers = 2;
  static constexpr int index_shift = 2;

  std::uint64_t lock_contended();
  void wake_sleeper();

  atomic<std::uint64_t> word_{0};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
