// Who waits at one side of a channel, first come, first served. Like WaitList, but leaner, and under the channel's own lock.
//
// A peer does everything for a waiter: claims it, takes it off the line, hands over the item, gives back the lock, and only then makes out
// the receipt. Without it the waiter does not go on, and with it neither of them touches the channel again on behalf of the other: so
// whichever has what it came for may destroy the channel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

struct ChannelLink;

// What a peer leaves for the one it has served. One for each waiter, which may stand in several lines.
class Receipt {
 public:
  Receipt() = default;
  Receipt(const Receipt&) = delete;
  Receipt& operator=(const Receipt&) = delete;

  // Before it stands in line, and not while it does.
  void begin(Waiter& waiter) {
    waiter_ = &waiter;
    state_.store(open, relaxed);  // Published with the link, by the channel's lock.
    link_ = nullptr;
    is_closed_ = false;
  }

  // For the owner, once it knows that it was served: waits for the peer to be done, which takes a moment.
  void await() {
    if (state_.load(acquire) != made_out) await_slowly();  // Pairs with Wakes::make_out().
  }
  // Then: where it was served, and whether because the channel was closed.
  ChannelLink* link() const { return link_; }
  bool is_closed() const { return is_closed_; }

  Waiter& waiter() const { return *waiter_; }

 private:
  friend class ChannelLine;
  friend class Wakes;
  static constexpr std::uint32_t open = 0;
  static constexpr std::uint32_t awaited = 1;  // The owner sleeps.
  static constexpr std::uint32_t made_out = 2;

  void await_slowly();

  Waiter* waiter_ = nullptr;
  ChannelLink* link_ = nullptr;
  Receipt* next_ = nullptr;  // Of those served under one lock.
  Unpark unpark_;
  atomic<std::uint32_t> state_{open};
  bool is_closed_ = false;
};

// A waiter's place on one side of one channel.
struct ChannelLink {
  ChannelLink() = default;
  ChannelLink(const ChannelLink&) = delete;
  ChannelLink& operator=(const ChannelLink&) = delete;

  Receipt* receipt = nullptr;
  void* cell = nullptr;  // Of a sender: its Parcel. Of a receiver: its Landing.
  ChannelLink* next = nullptr;
  ChannelLink* previous = nullptr;
  TimePoint since{};
  bool linked = false;
};

// Those who were served: they get their receipts, and are unparked, when it goes out of scope. Make it before the guard of the lock.
class Wakes {
 public:
  Wakes() = default;
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;
  ~Wakes() {
    if (first_ != nullptr) [[unlikely]]
      make_out();
  }
  void add(Receipt& receipt) {
    receipt.next_ = first_;
    first_ = &receipt;
  }

 private:
  void make_out();

  Receipt* first_ = nullptr;
};

class ChannelLine {
 public:
  ChannelLine() = default;
  ChannelLine(const ChannelLine&) = delete;
  ChannelLine& operator=(const ChannelLine&) = delete;
  ~ChannelLine();

  // A look from outside, true or false only for a moment; exact with the lock held.
  bool has_waiters() const { return front_.load(relaxed) != nullptr; }

  // All with the channel's lock held. `now`: see coarse_now().
  // True if it is the first in line.
  bool push_back_locked(ChannelLink& link, Receipt& receipt, TimePoint now);
  void unlink_locked(ChannelLink& link, TimePoint now);
  // Takes the first off the line who still wants to be served; the caller hands over. Null if there is none. Whoever cannot be
  // claimed stays: it is about to leave by itself, or (a select) to look again under the lock.
  ChannelLink* claim_first_locked(Wakes& wakes);
  void refuse_all_locked(Wakes& wakes);

  WaitTotals totals_locked() const {
    return {.waiting = size_, .waits = waits_, .blocked = blocked_};
  }
  void report_locked(const Primitive& subject, std::vector<WaitInfo>& waits) const;

 private:
  atomic<ChannelLink*> front_{nullptr};  // Written under the lock.
  ChannelLink* back_ = nullptr;
  std::size_t size_ = 0;
  std::uint64_t waits_ = 0;
  Duration blocked_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
