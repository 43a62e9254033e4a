// Who waits for one thing, first come, first served.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
struct WaitInfo;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Primitive;

// A waiter's place on one list. A waiter may stand on several lists at once (select), with one link on each.
struct Link {
  explicit Link(Waiter& owner) : waiter(&owner) {}
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;

  Waiter* waiter;
  void* cell = nullptr;      // Where an item is given to, or taken from, when the waiter is served.
  std::uint64_t ticket = 0;  // What the list's owner wants to remember of when it came.
  std::uint32_t lost_turns = 0;  // Times it was woken and found nothing.
  bool has_turn = false;         // It was this list that gave the waiter its turn.
  bool is_served = false;        // It was on this list that the operation was done for it.
  bool linked = false;
  TimePoint since{};
  Link* next = nullptr;
  Link* previous = nullptr;
};

// How long and how often somebody waited on a list.
struct WaitTotals {
  std::size_t waiting = 0;
  std::uint64_t waits = 0;
  Duration blocked{};
};

class WaitList {
 public:
  WaitList() = default;
  WaitList(const WaitList&) = delete;
  WaitList& operator=(const WaitList&) = delete;
  ~WaitList();

  SmallLock& lock() const { return lock_; }

  // All with the lock held.
  void push_back_locked(Link& link);
  void unlink_locked(Link& link);
  Link* front_locked() const { return front_; }
  bool is_empty_locked() const { return front_ == nullptr; }
  std::size_t size_locked() const { return size_; }

  WaitTotals totals() const;

  // Appends a line for each waiter, for waits(). `subject` is what they wait for.
  void report(const Primitive& subject, std::vector<WaitInfo>& waits) const;

 private:
  mutable SmallLock lock_;
  // Guarded by lock_.
  Link* front_ = nullptr;
  Link* back_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t waits_ = 0;
  Duration blocked_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
