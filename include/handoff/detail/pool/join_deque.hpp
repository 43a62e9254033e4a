// The forked halves a worker has not come to yet: it pushes and pops at one end, thieves steal at the other (Chase
// and Lev). Strictly nested: what the owner pops is what it pushed last, or it has been stolen.
//
// Sequentially consistent operations instead of fences, which ThreadSanitizer does not understand. The order that matters:
// the owner lowers `bottom_` and then reads `top_`; a thief reads `top_` and then `bottom_`. So for the last task at least one
// of them sees the other, and the compare-and-swap on `top_` decides.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class JoinTask;

class JoinDeque {
 public:
  static constexpr std::int64_t places = 256;

  // Owner. False if it is full: the caller then does the work itself.
  bool push(JoinTask& task) {
    const std::int64_t bottom = bottom_.load(relaxed);  // Written by this thread alone.
    if (bottom - top_seen_ >= places) {
      top_seen_ = top_.load(seq_cst);
      if (bottom - top_seen_ >= places) return false;
    }
    tasks_[index(bottom)].store(&task, relaxed);  // Published by the next line.
    bottom_.store(bottom + 1, seq_cst);  // Also the store half of the handshake with a sleeper.
    return true;
  }

  // Owner. True if the task pushed last is still there: it is the owner's again. False: it was stolen.
  bool pop() {
    const std::int64_t bottom = bottom_.load(relaxed) - 1;
    bottom_.store(bottom, seq_cst);
    std::int64_t top = top_.load(seq_cst);
    if (top < bottom) return true;
    // The last one, or none.
    const bool mine = top == bottom && top_.compare_exchange_strong(top, top + 1, seq_cst);
    bottom_.store(bottom + 1, seq_cst);
    return mine;
  }

  // Anybody else. Null if there is nothing, or if another was faster.
  JoinTask* steal() {
    return steal_if([] { return true; });
  }
  // The same, if `still_wanted()` says so once it is known what there is: what came later is not stolen.
  template <typename Question>
  JoinTask* steal_if(Question still_wanted) {
    std::int64_t top = top_.load(seq_cst);
    if (top >= bottom_.load(seq_cst) || !still_wanted()) return nullptr;
    // A place is written again only after `top_` has moved past it: the exchange then fails.
    JoinTask* const task = tasks_[index(top)].load(relaxed);
    return top_.compare_exchange_strong(top, top + 1, seq_cst) ? task : nullptr;
  }

  bool is_empty() const {
    const std::int64_t top = top_.load(seq_cst);
    return top >= bottom_.load(seq_cst);
  }

 private:
  static std::size_t index(std::int64_t position) {
    return static_cast<std::size_t>(position) % static_cast<std::size_t>(places);
  }

  alignas(cache_line) atomic<std::int64_t> top_{0};
  alignas(cache_line) atomic<std::int64_t> bottom_{0};
  std::int64_t top_seen_ = 0;  // The owner's: `top_` at its last look, never ahead of it.
  std::array<atomic<JoinTask*>, static_cast<std::size_t>(places)> tasks_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
