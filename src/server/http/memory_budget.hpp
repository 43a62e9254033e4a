// How much memory all connections together may hold for one purpose.
//
//   HeldMemory held(budget);
//   if (!held.hold(body.size())) return busy();   // It is used up. What was held before still is.
//   ...                                           // Given back by release(), or at the end.
//
// Thread safety: the budget any thread; what is held, one at a time.
#pragma once

#include <cstddef>
#include <utility>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::server {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::size_t most) : most_(most) {}

  bool take(std::size_t bytes) {
    // A count on its own.
    if (taken_.fetch_add(bytes, detail::relaxed) + bytes <= most_) return true;
    give_back(bytes);
    return false;
  }
  void take_anyway(std::size_t bytes) { taken_.fetch_add(bytes, detail::relaxed); }
  void give_back(std::size_t bytes) { taken_.fetch_sub(bytes, detail::relaxed); }

 private:
  const std::size_t most_;
  detail::atomic<std::size_t> taken_{0};
};

class HeldMemory {
 public:
  explicit HeldMemory(MemoryBudget& budget) : budget_(budget) {}
  ~HeldMemory() { release(); }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  // That much altogether. Less than there is already is no reason to give some back.
  bool hold(std::size_t bytes) {
    if (bytes <= bytes_) return true;
    if (!budget_.take(bytes - bytes_)) return false;
    bytes_ = bytes;
    return true;
  }
  // For what may not be refused: counted, even past the end of the budget.
  void hold_anyway(std::size_t bytes) {
    if (bytes <= bytes_) return;
    budget_.take_anyway(bytes - bytes_);
    bytes_ = bytes;
  }
  void release() {
    if (bytes_ > 0) budget_.give_back(std::exchange(bytes_, 0));
  }

 private:
  MemoryBudget& budget_;
  std::size_t bytes_ = 0;
};

}  // namespace handoff::server
