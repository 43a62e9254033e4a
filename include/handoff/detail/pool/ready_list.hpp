// Coroutines that are ready to go on, first in, first out. Takes no memory: they are linked through themselves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ReadyList {
 public:
  // How many were there before it.
  std::size_t push(Runnable& runnable) {
    return push(runnable, [] {});
  }
  // Calls tell() before anybody can take it: afterwards the list, and all around it, may be gone.
  template <typename Tell>
  std::size_t push(Runnable& runnable, Tell tell) {
    runnable.next = nullptr;
    SmallGuard guard(lock_);
    (back_ == nullptr ? front_ : back_->next) = &runnable;
    back_ = &runnable;
    const std::size_t before = size_.load(relaxed);
    // Sequentially consistent, as a worker that is about to sleep says so and then looks here.
    size_.store(before + 1, seq_cst);
    tell();
    return before;
  }

  // Null if there is none.
  Runnable* take() {
    if (is_empty()) return nullptr;
    SmallGuard guard(lock_);
    Runnable* const first = front_;
    if (first == nullptr) return nullptr;
    front_ = first->next;
    if (front_ == nullptr) back_ = nullptr;
    size_.store(size_.load(relaxed) - 1, relaxed);
    taken_.store(taken_.load(relaxed) + 1, relaxed);
    return first;
  }

  // Takes half of them, but no more than `most`: returns the first, and puts the others on `into`.
  Runnable* take_half(ReadyList& into, std::size_t most) {
    Runnable* first = nullptr;
    Runnable* last = nullptr;
    std::size_t count = 0;
    {
      SmallGuard guard(lock_);
      if (front_ == nullptr) return nullptr;
      const std::size_t size = size_.load(relaxed);
      count = std::min((size + 1) / 2, most);
      first = last = front_;
      for (std::size_t i = 1; i < count; ++i) last = last->next;
      front_ = std::exchange(last->next, nullptr);
      if (front_ == nullptr) back_ = nullptr;
      size_.store(size - count, relaxed);
    }
    if (count > 1) into.append(*first->next, *last, count - 1);
    return first;
  }

  void move_all_to(ReadyList& other) {
    Runnable* first = nullptr;
    Runnable* last = nullptr;
    std::size_t count = 0;
    {
      SmallGuard guard(lock_);
      first = std::exchange(front_, nullptr);
      last = std::exchange(back_, nullptr);
      count = size_.load(relaxed);
      size_.store(0, relaxed);
    }
    if (first != nullptr) other.append(*first, *last, count);
  }

  // How many were taken so far, one by one. Others see by it that the list is being worked on.
  std::uint64_t taken() const { return taken_.load(relaxed); }
  std::size_t size() const { return size_.load(seq_cst); }
  bool is_empty() const { return size() == 0; }

 private:
  void append(Runnable& first, Runnable& last, std::size_t count) {
    SmallGuard guard(lock_);
    (back_ == nullptr ? front_ : back_->next) = &first;
    back_ = &last;
    size_.store(size_.load(relaxed) + count, seq_cst);
  }

  SmallLock lock_;
  // Relaxed under the lock, which orders it; what makes it grow is seq_cst, for those who look without.
  atomic<std::size_t> size_{0};     // Written under the lock.
  atomic<std::uint64_t> taken_{0};  // The same.
  // Guarded by lock_.
  Runnable* front_ = nullptr;
  Runnable* back_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
