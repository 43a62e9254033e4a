// Coroutines that are ready to go on, first in, first out. Takes no memory: they are linked through themselves.
#pragma once

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/task.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ReadyList {
 public:
  // True if there were others before it.
  bool push(Runnable& runnable) {
    return push(runnable, [] {});
  }
  // Calls tell() before anybody can take it: afterwards the list, and all around it, may be gone.
  template <typename Tell>
  bool push(Runnable& runnable, Tell tell) {
    runnable.next = nullptr;
    SmallGuard guard(lock_);
    const bool has_others = front_ != nullptr;
    (back_ == nullptr ? front_ : back_->next) = &runnable;
    back_ = &runnable;
    // Sequentially consistent, as a worker that is about to sleep says so and then looks here.
    is_empty_.store(false, seq_cst);
    tell();
    return has_others;
  }

  // Null if there is none.
  Runnable* take() {
    if (is_empty()) return nullptr;
    SmallGuard guard(lock_);
    Runnable* const first = front_;
    if (first == nullptr) return nullptr;
    front_ = first->next;
    if (front_ == nullptr) {
      back_ = nullptr;
      is_empty_.store(true, relaxed);
    }
    return first;
  }

  bool is_empty() const { return is_empty_.load(seq_cst); }

 private:
  SmallLock lock_;
  atomic<bool> is_empty_{true};  // Written under the lock.
  // Guarded by lock_.
  Runnable* front_ = nullptr;
  Runnable* back_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
