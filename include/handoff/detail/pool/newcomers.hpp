// What has never run, of one worker: the last goes first, so that of a tree that grows one branch is finished before the next
// is begun. Breadth first, all of it would be alive at a time. Takes no memory: they are linked through themselves.
//
// Nobody is left at the bottom for ever: now and then somebody takes the oldest. To get at it, all are turned over once.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/pool/ready_list.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Newcomers {
 public:
  // How many were there before it.
  std::size_t push(Runnable& runnable) {
    SmallGuard guard(lock_);
    runnable.next = newest_;
    newest_ = &runnable;
    const std::size_t before = size_.load(relaxed);
    // Sequentially consistent, as a worker that is about to sleep says so and then looks here.
    size_.store(before + 1, seq_cst);
    return before;
  }

  // Null if there is none.
  Runnable* take_newest() {
    if (is_empty()) return nullptr;
    SmallGuard guard(lock_);
    return take_locked(newest_ != nullptr ? newest_ : oldest_);
  }
  Runnable* take_oldest() {
    if (is_empty()) return nullptr;
    SmallGuard guard(lock_);
    turn_over_locked();
    return take_locked(oldest_);
  }

  // Takes half of them, the oldest, but no more than `most`: returns the first, and gives the others to `into`, as its oldest.
  Runnable* take_half(Newcomers& into, std::size_t most) {
    Runnable* first = nullptr;
    Runnable* last = nullptr;
    std::size_t count = 0;
    {
      SmallGuard guard(lock_);
      turn_over_locked();
      if (oldest_ == nullptr) return nullptr;
      const std::size_t size = size_.load(relaxed);
      const std::size_t wanted = std::min((size + 1) / 2, most);
      first = last = oldest_;
      for (count = 1; count < wanted && last->next != nullptr; ++count) last = last->next;
      oldest_ = std::exchange(last->next, nullptr);
      size_.store(size - count, relaxed);
    }
    if (count > 1) into.append_old(*first->next, *last, count - 1);
    return first;
  }

  void move_all_to(ReadyList& other) {
    while (Runnable* const each = take_oldest()) static_cast<void>(other.push(*each));
  }

  // How many were taken so far, one by one. Others see by it that they are being worked on.
  std::uint64_t taken() const { return taken_.load(relaxed); }
  std::size_t size() const { return size_.load(seq_cst); }
  bool is_empty() const { return size() == 0; }

 private:
  Runnable* take_locked(Runnable*& from) {
    if (from == nullptr) return nullptr;
    Runnable* const taken = from;
    from = taken->next;
    size_.store(size_.load(relaxed) - 1, relaxed);
    taken_.store(taken_.load(relaxed) + 1, relaxed);
    return taken;
  }

  // Each is turned over once at most.
  void turn_over_locked() {
    if (oldest_ != nullptr) return;
    while (newest_ != nullptr) {
      Runnable* const each = std::exchange(newest_, newest_->next);
      each->next = oldest_;
      oldest_ = each;
    }
  }

  void append_old(Runnable& first, Runnable& last, std::size_t count) {
    SmallGuard guard(lock_);
    last.next = oldest_;
    oldest_ = &first;
    size_.store(size_.load(relaxed) + count, seq_cst);
  }

  SmallLock lock_;
  // Relaxed under the lock, which orders it; what makes it grow is seq_cst, for those who look without.
  atomic<std::size_t> size_{0};     // Written under the lock.
  atomic<std::uint64_t> taken_{0};  // The same.
  // Guarded by lock_.
  Runnable* newest_ = nullptr;  // Last in, first out.
  Runnable* oldest_ = nullptr;  // Those that were there when last turned over; first in, first out.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
