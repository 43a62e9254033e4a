// What BlockingQueue<T> knows without knowing T: the two index locks, the two turnstiles, the counters.
//
// Invariants:
// - Items stand in [head index, tail index); tail index - head index <= capacity.
// - The tail lock guards filling, the head lock emptying. They are taken together only by an evicting push, the
//   tail first.
// - closed_ is set under the tail lock. A consumer that reads closed_ before the tail index, and finds both closed
//   and empty, knows that the tail is final.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <optional>
#include <string_view>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/queue/drop_log.hpp"
#include "handoff/detail/queue/index_lock.hpp"
#include "handoff/detail/queue/turnstile.hpp"
#include "handoff/refusal.hpp"
#include "handoff/stats.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct QueueOptions {
  std::size_t capacity;                  // Items held before put() waits. At least 1.
  std::string_view name = {};            // What waits() and snapshot() call it; copied.
  WhenFull when_full = WhenFull::block;  // What push() does when the queue is full.
};

// How far put_all() got. True if all went in.
struct PutAll {
  std::size_t accepted =
      0;  // The first so many are in; the rest are untouched, still the caller's.
  std::optional<Refusal> refusal = {};  // Why it ended early: `closed`, `timed_out` or `stopped`;
  std::exception_ptr error = {};        // or what an item's move constructor threw.
  explicit operator bool() const { return !refusal && !error; }
};

namespace detail {

// Returns `capacity`, or throws std::invalid_argument if it is 0 or so much memory cannot be addressed.
std::size_t checked_capacity(std::size_t capacity, std::size_t bytes_per_item);

enum class Tried : std::uint8_t { done, not_yet, closed };

class QueueCore : public Primitive {
 public:
  void close();
  bool is_closed() const { return closed_.load(acquire); }  // Pairs with the store in close().
  std::size_t capacity() const { return capacity_; }
  std::size_t size() const;
  Stats stats() const final;
  void report_waits(std::vector<WaitInfo>& waits) const final;

 protected:
  QueueCore(const QueueOptions& options, std::size_t item_size);
  ~QueueCore() { drops_.flush(); }

  // Adds that were refused, for the stats.
  std::unexpected<Refusal> refuse_add(Refusal refusal) {
    count_refused(1);
    return std::unexpected(refusal);
  }
  void count_refused(std::size_t count) { refused_.fetch_add(count, relaxed); }  // A counter only.

  // -- With the tail lock held -------------------------------------------------------------------

  bool closed_locked() const { return closed_.load(relaxed); }  // Written under the same lock.

  // How many more items fit. Looks at the head index only if the last look does not suffice.
  std::size_t room_locked(std::uint64_t tail) {
    if (tail - head_seen_ >= high_water_.load(relaxed)) [[unlikely]]
      head_seen_ = head_.index();
    return capacity_ - static_cast<std::size_t>(tail - head_seen_);
  }

  // Publishes `count` items filled in from the fill position on, and unlocks.
  void publish(std::uint64_t tail, std::size_t count = 1) {
    publish_index(tail, count);
    tell_consumers();
  }
  void publish_index(std::uint64_t tail, std::size_t count) {
    const std::uint64_t next = tail + count;
    // Only the holder of the tail lock writes it. If head_seen_ is old, the size is overestimated, but then it is
    // below the mark anyway: see room_locked().
    if (next - head_seen_ > high_water_.load(relaxed))
      high_water_.store(next - head_seen_, relaxed);
    fill_position_ = wrapped(fill_position_ + count);
    tail_.unlock(next);
  }
  void tell_consumers() {
    if (consumers_.someone_sleeps()) [[unlikely]]
      consumers_.notify();
  }

  // -- With the head lock held -------------------------------------------------------------------

  // Whether an item is there; if not, `closed` says whether one can still come.
  bool has_item_locked(std::uint64_t head, bool& closed) {
    if (head != tail_seen_) [[likely]]
      return true;
    closed = closed_.load(seq_cst);  // Before the tail: see the invariants.
    tail_seen_ = tail_.index();
    return head != tail_seen_;
  }

  // Gives back `count` slots emptied from the empty position on, and unlocks.
  void release_slots(std::uint64_t head, std::size_t count = 1) {
    release_index(head, count);
    tell_producers();
  }
  void release_index(std::uint64_t head, std::size_t count) {
    empty_position_ = wrapped(empty_position_ + count);
    head_.unlock(head + count);
  }
  void tell_producers() {
    if (producers_.someone_sleeps()) [[unlikely]]
      producers_.notify();
  }

  // The oldest item has been taken out by an evicting push, which holds the tail lock too. No
  // producer is woken: the room is spoken for.
  void release_evicted(std::uint64_t head) {
    evicted_.fetch_add(1, relaxed);  // A counter: nothing is published with it.
    empty_position_ = wrapped(empty_position_ + 1);
    head_seen_ = head + 1;
    // The tail: the queue was full. Left behind the head, it would promise items for ever.
    tail_seen_ = head + capacity_;
    head_.unlock(head + 1);
  }

  std::size_t wrapped(std::size_t position) const {
    return position < capacity_ ? position : position - capacity_;
  }

  const std::size_t capacity_;
  const WhenFull when_full_;

  // The producers' side. What stands below tail_ is guarded by it.
  alignas(cache_line) IndexLock tail_;
  std::uint64_t head_seen_ = 0;  // The head index at the last look; the head is never before it.
  std::size_t fill_position_ = 0;
  atomic<std::uint64_t> high_water_{0};
  atomic<bool> closed_{false};

  // The consumers' side. What stands below head_ is guarded by it.
  alignas(cache_line) IndexLock head_;
  std::uint64_t tail_seen_ = 0;  // The tail index at the last look; the tail is never before it.
  std::size_t empty_position_ = 0;

  Turnstile producers_;
  Turnstile consumers_;

  // What is written when an add is refused, apart from what is read by every operation.
  alignas(cache_line) DropLog drops_;
  atomic<std::uint64_t> refused_{0};
  atomic<std::uint64_t> evicted_{0};  // The part of the drops that had been accepted before.
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
