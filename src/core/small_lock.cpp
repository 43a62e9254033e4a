#include "handoff/detail/core/small_lock.hpp"

#include "handoff/detail/core/futex.hpp"
#include "handoff/detail/core/spin.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constexpr int looks_before_sleep =
    150;  // A few microseconds: less than to sleep and to be woken costs.
}

void SmallLock::lock_contended() {
  if (spinning_pays()) {
    for (int i = 0; i < looks_before_sleep; ++i) {
      cpu_relax();
      if (word_.load(relaxed) == free && try_lock()) return;  // A guess: try_lock() decides.
    }
  }
  // Whoever has slept takes the lock as "with sleepers": others may still sleep. Pairs with the release in unlock().
  while (word_.exchange(held_with_sleepers, acquire) != free) {
    futex_wait(word_, held_with_sleepers, TimePoint::max());
  }
}

void SmallLock::wake_sleeper() { futex_wake_one(&word_); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
