// What Channel<T> knows without knowing T: the lock, the two lines, the state of the buffer, the counters.
//
// Invariants, all under lock_:
// - The buffer holds size_ items from head_ on; size_ <= capacity_.
// - Receivers wait only while the buffer is empty, senders only while it is full. With capacity 0 it is both, always.
//   So a peer that comes meets a waiter at once, and nobody overtakes those who wait: the order is strict.
// - Sender and receiver do not both wait, but for those who cannot be claimed: they are about to leave, or (a select) to
//   look again under this lock.
// - Whoever claims a waiter does the whole operation for it, then gives back the lock, then makes out the receipt. See
//   channel_line.hpp.
//
// Several channels' locks are held together only by select, in the order of their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/detail/channel/channel_line.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/queue/queue_core.hpp"
#include "handoff/refusal.hpp"
#include "handoff/stats.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct ChannelOptions {
  std::size_t capacity = 0;    // Items held before send() waits. 0: sender and receiver meet.
  std::string_view name = {};  // What waits() and snapshot() call it; copied.
};

namespace detail {

enum class ChannelSide : std::uint8_t { send, receive };

class ChannelCore : public Primitive {
 public:
  void close();
  bool is_closed() const { return closed_.load(acquire); }  // Pairs with the release in close().
  std::size_t capacity() const { return capacity_; }
  std::size_t size() const { return size_.load(relaxed); }
  Stats stats() const final;
  void report_waits(std::vector<WaitInfo>& waits) const final;

 protected:
  ChannelCore(const ChannelOptions& options, std::size_t item_size);
  ~ChannelCore() = default;

  // Sends that were refused, for the stats.
  std::unexpected<Refusal> refuse_send(Refusal refusal) {
    refused_.fetch_add(1, relaxed);  // A counter only.
    return std::unexpected(refusal);
  }

  // -- With the lock held ------------------------------------------------------------------------

  bool closed_locked() const { return closed_.load(relaxed); }  // Written under the same lock.
  std::size_t size_locked() const { return size_.load(relaxed); }
  // Where the next item goes to.
  std::size_t tail_locked() const { return wrapped(head_ + size_locked()); }
  void added_locked() {
    const auto size = size_locked() + 1;
    size_.store(size, relaxed);
    if (size > high_water_) high_water_ = size;
    ++puts_;
  }
  void removed_locked() {
    head_ = wrapped(head_ + 1);
    size_.store(size_locked() - 1, relaxed);
  }
  std::size_t wrapped(std::size_t position) const {
    return position < capacity_ ? position : position - capacity_;
  }

 private:
  friend class ChannelOperation;
  friend class ChannelCase;

  ChannelLine& line(ChannelSide side) { return side == ChannelSide::send ? senders_ : receivers_; }

 protected:
  // A look without the lock, for those who look again under it.
  bool may_go_on(ChannelSide side) const {
    if (closed_.load(relaxed)) return true;
    if (side == ChannelSide::send) {
      return receivers_.has_waiters() || size_.load(relaxed) < capacity_;
    }
    return size_.load(relaxed) > 0 || senders_.has_waiters();
  }

  const std::size_t capacity_;
  atomic<std::uint64_t> refused_{0};  // A counter only.

  // From here on guarded by lock_. What is atomic is read without it too.
  alignas(cache_line) mutable SmallLock lock_;
  atomic<bool> closed_{false};
  std::size_t head_ = 0;
  atomic<std::size_t> size_{0};
  std::size_t high_water_ = 0;
  std::uint64_t puts_ = 0;  // Those received are puts_ - size_.
  ChannelLine senders_;
  ChannelLine receivers_;
};

// A send or a receive, as a whole. See Channel for what the two are.
class ChannelOperation : public Steps {
 public:
  ChannelOperation(ChannelCore& core, ChannelSide side) : core_(core), side_(side) {}
  ChannelOperation(const ChannelOperation&) = delete;
  ChannelOperation& operator=(const ChannelOperation&) = delete;

  bool begin(Waiter& waiter) final;
  bool go_on(Waiter& waiter, WaitState outcome) final;

 protected:
  virtual Tried attempt_locked(Wakes& wakes) = 0;
  // The Parcel or the Landing.
  virtual void* cell() = 0;
  ~ChannelOperation() {}

  // True if that was the end of it.
  bool finish_attempt(Tried tried) {
    if (tried == Tried::closed) [[unlikely]]
      refusal_ = Refusal::closed;
    return tried != Tried::not_yet;
  }

  // Once finished: why it was refused.
  std::optional<Refusal> refusal_;

 private:
  // Its place in line.
  struct Stay {
    Receipt receipt;
    ChannelLink link;
  };
  static_assert(std::is_trivially_destructible_v<Stay>);

  ChannelCore& core_;
  const ChannelSide side_;
  // Most operations need not wait: made in begin(), for those that do.
  union {
    Stay stay_;
  };
};

// The same as one case of a select.
class ChannelCase : public SelectCase {
 public:
  ChannelCore& channel() const { return core_; }
  SmallLock& lock() const { return core_.lock_; }
  // Exact with the lock held, but for peers that are about to leave.
  bool may_happen() const { return core_.may_go_on(side_); }
  // True: it has happened, or the channel is closed.
  virtual bool attempt_locked(Wakes& wakes) = 0;

  // True if it is the first in its line.
  bool enlist_locked(Receipt& receipt, TimePoint now) {
    return core_.line(side_).push_back_locked(link_, receipt, now);
  }
  void leave(TimePoint now) {
    SmallGuard guard(core_.lock_);
    core_.line(side_).unlink_locked(link_, now);
  }
  bool stands_at(const ChannelLink* link) const { return &link_ == link; }
  void refuse() { is_closed_ = true; }

 protected:
  ChannelCase(ChannelCore& core, ChannelSide side, void* cell, std::source_location where)
      : SelectCase(Kind::exchange, where), core_(core), side_(side) {
    link_.cell = cell;
  }

  bool finish_attempt(Tried tried) {
    is_closed_ = tried == Tried::closed;
    return tried != Tried::not_yet;
  }
  // Once it has happened. The case can be used again afterwards.
  bool take_is_closed() { return std::exchange(is_closed_, false); }

 private:
  ChannelCore& core_;
  const ChannelSide side_;
  bool is_closed_ = false;
  ChannelLink link_;
};

// Whether a peer has served the waiter, whose wait ended with `outcome`. If not, none will any more: it may have been refused at the
// same moment.
bool was_served(Waiter& waiter, WaitState outcome);

// For a thread that stands in line and is about to sleep: waits for a few microseconds whether a peer comes first, if that has paid for
// this thread lately.
void spin_until_claimed(const Waiter& waiter);

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
