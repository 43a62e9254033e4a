// The floor for waking a thread: one slot and one futex, for one producer and one consumer.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "contender.hpp"

namespace bench {

class RawFutexSlot {
 public:
  explicit RawFutexSlot(std::size_t /*capacity*/) {}

  // The caller must know that the slot is empty.
  void put(std::uint64_t item) {
    item_.store(item, std::memory_order_relaxed);
    full_.store(1, std::memory_order_release);  // Pairs with the acquire in take().
    syscall(SYS_futex, &full_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

  std::optional<std::uint64_t> take() {
    while (full_.load(std::memory_order_acquire) == 0) {  // Pairs with the release in put().
      syscall(SYS_futex, &full_, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
    }
    const std::uint64_t item = item_.load(std::memory_order_relaxed);
    full_.store(0, std::memory_order_relaxed);
    return item == end_of_items ? std::nullopt : std::optional{item};
  }

  void finish(std::size_t /*consumers*/) { put(end_of_items); }

  static std::string version() { return "floor"; }

 private:
  std::atomic<std::uint64_t> item_ = end_of_items;
  std::atomic<int> full_ = 0;
};

}  // namespace bench
