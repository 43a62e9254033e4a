// What the queues that are not first in, first out share without knowing T: one lock, the order, the counters and
// the two turnstiles. PriorityCore and DelayCore add what sets them apart; OrderedQueue<T, Core> adds the items.
//
// Invariants:
// - lock_ guards everything below it. It may be taken under a registry shard's lock, and a wait list's lock
//   under it; never the other way round. User code other than T's move constructor and destructor never runs under it.
// - Every slot in the order holds an item, every other slot holds none.
// - Nobody sleeps who could go on: whoever changes something under the lock tells those concerned after it (Section),
//   and a waiter announces itself on its turnstile before its last look under the lock. Whichever of
//   the two critical sections comes second sees the other, or what was written before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/queue/drop_log.hpp"
#include "handoff/detail/queue/queue_core.hpp"
#include "handoff/detail/queue/rank_heap.hpp"
#include "handoff/detail/queue/turnstile.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class OrderedCore : public Primitive {
 public:
  void close();
  bool is_closed() const { return closed_.load(acquire); }  // Pairs with the store in close().
  std::size_t capacity() const { return capacity_; }
  std::size_t size() const;

 protected:
  class Section;

  // A taker that has to wait.
  class Taker : public Turnstile::Turn {
   public:
    // Takes an item, or else settles down to wait as the core wants it. True if there is no more to wait for.
    virtual bool look() = 0;
    // Whether it has an item or knows that none will come.
    virtual bool is_finished_locked() const = 0;
  };

  OrderedCore(const char* kind, const QueueOptions& options, std::size_t item_size);
  ~OrderedCore();

  // Adds that were refused, for the stats.
  std::unexpected<Refusal> refuse_add(Refusal refusal) {
    count_refused(1);
    return std::unexpected(refusal);
  }
  void count_refused(std::size_t count) { refused_.fetch_add(count, relaxed); }  // A counter only.

  Stats stats_with(const WaitTotals& consumers) const;
  void report_producers(std::vector<WaitInfo>& waits) const { producers_.report(waits); }
  std::uint64_t puts() const;
  std::uint64_t takes() const;
  bool has_room() const;

  // -- With the lock held ------------------------------------------------------------------------

  // Gives what is ready to those who stand in line, first come, first served, some at a time. True if it could go on.
  virtual bool serve_line_locked(Section& section) = 0;
  // At the end of a section that asked for it: whatever has changed, those in line are told in time.
  virtual void tend_line_locked(Section&) {}

  bool closed_locked() const { return closed_.load(relaxed); }  // Written under the same lock.
  bool has_room_locked() const { return !order_.is_full(); }
  bool is_over_locked() const { return closed_locked() && order_.is_empty(); }

  // The item in `slot`, a free one until now, is accepted.
  void add_locked(std::size_t slot, Rank rank);
  // The item in `slot` has been taken, or evicted.
  void remove_taken_locked(Section& section, std::size_t slot);
  void remove_evicted_locked(Section& section, std::size_t slot);
  std::uint64_t next_sequence_locked() const { return puts_; }

  const std::size_t capacity_;
  const WhenFull when_full_;
  DropLog drops_;
  atomic<std::uint64_t> refused_{0};
  Turnstile producers_;
  Turnstile consumers_;

  alignas(cache_line) mutable SmallLock lock_;
  atomic<bool> closed_{false};
  RankHeap order_;
  std::uint64_t puts_ = 0;
  std::uint64_t takes_ = 0;
  std::size_t high_water_ = 0;
};

// A critical section, and who is to be told about it once the lock is released.
class [[nodiscard]] OrderedCore::Section {
 public:
  explicit Section(OrderedCore& core) : core_(core) { core_.lock_.lock(); }
  ~Section();
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  void made_room() { made_room_ = true; }
  void tend_line() { tend_line_ = true; }
  void wake_one(Turnstile& turnstile) { wake_one_ = &turnstile; }
  void wake_all(Turnstile& turnstile) {
    const bool is_first = wake_all_ == nullptr || wake_all_ == &turnstile;
    (is_first ? wake_all_ : wake_all_too_) = &turnstile;
  }

 private:
  OrderedCore& core_;
  bool made_room_ = false;
  bool tend_line_ = false;
  Turnstile* wake_one_ = nullptr;
  Turnstile* wake_all_ = nullptr;
  Turnstile* wake_all_too_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
