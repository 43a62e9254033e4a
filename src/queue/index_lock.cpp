#include "handoff/detail/queue/index_lock.hpp"

#include "handoff/detail/core/futex.hpp"
#include "handoff/detail/core/spin.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constexpr int spins_before_sleep = 60;  // About a microsecond; a holder that runs needs far less.
}

std::uint64_t IndexLock::lock_contended() {
  int spins = spinning_pays() ? spins_before_sleep : 0;
  std::uint64_t slept = 0;
  // Guesses, here and below: the acquiring exchange decides.
  std::uint64_t seen = word_.load(relaxed);
  while (true) {
    if ((seen & locked) == 0) {
      // Whoever has slept keeps the sleepers bit: others may still sleep. Pairs with unlock().
      if (word_.compare_exchange_weak(seen, seen | locked | slept, acquire, relaxed)) {
        return seen >> index_shift;
      }
      continue;
    }
    if (spins > 0) {
      --spins;
      cpu_relax();
      seen = word_.load(relaxed);
      continue;
    }
    // Only the bit, in the same word that unlock() exchanges.
    if ((seen & sleepers) == 0 &&
        !word_.compare_exchange_weak(seen, seen | sleepers, relaxed, relaxed)) {
      continue;
    }
    // The bits that say "locked, with sleepers" are in the half the kernel compares: if it puts us to sleep, the
    // holder's unlock() has yet to come and will wake us.
    futex_wait(word_, seen | sleepers);
    slept = sleepers;
    seen = word_.load(relaxed);
  }
}

void IndexLock::wake_sleeper() { futex_wake_one(word_); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
