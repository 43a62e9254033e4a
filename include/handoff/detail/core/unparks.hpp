// Those to be woken once a lock is given back.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Wakes them when it goes out of scope: made before the guard of a lock, it does so after the lock is given back. Holds a
// few; more are woken at once, which is right as well, only not as quick.
class Unparks {
 public:
  Unparks() = default;
  Unparks(Unparks&& other) noexcept
      : unparks_(other.unparks_), count_(std::exchange(other.count_, 0)) {}
  Unparks& operator=(Unparks&&) = delete;
  ~Unparks() { run(); }

  void add(Unpark unpark) {
    if (count_ == capacity) return unpark();
    unparks_[count_++] = unpark;
  }
  void run() {
    for (std::size_t i = 0; i < count_; ++i) unparks_[i]();
    count_ = 0;
  }

 private:
  static constexpr std::size_t capacity = 4;

  std::array<Unpark, capacity> unparks_;
  std::size_t count_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
