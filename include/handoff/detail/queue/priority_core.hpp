// What PriorityBlockingQueue<T> knows without knowing T: how priority, ageing and arrival make a rank, and who is
// evicted.
//
// `order` is the negated priority, so that the smaller one comes first.
//
// Ageing: after waiting w, an item counts as priority + w / ageing. All items age equally fast, so which of two comes first
// never changes while they wait, and the rank can be fixed on arrival at time t: it compares
// t - priority * ageing, split into whole steps and a rest so that nothing overflows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/queue/ordered_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct PriorityQueueOptions {
  std::size_t capacity;                  // Items held before put() waits. At least 1.
  std::string_view name = {};            // What waits() and snapshot() call it; copied.
  WhenFull when_full = WhenFull::block;  // What push() does when the queue is full.
  Duration ageing = {};  // An item gains one step of priority per this time. 0: never.
};

namespace detail {

class PriorityCore : public OrderedCore {
 public:
  Stats stats() const final { return stats_with(consumers_.totals()); }
  void report_waits(std::vector<WaitInfo>& waits) const final;

 protected:
  // Throws std::invalid_argument if the ageing is negative or the capacity is unusable.
  PriorityCore(const PriorityQueueOptions& options, std::size_t item_size);

  std::optional<Refusal> wait_for_item(Taker& taker, const Wait& wait, WaitSite site) {
    return consumers_.wait(taker, wait, site);
  }
  using TakerVisit = Turnstile::Visit;
  Turnstile& place_of_takers() { return consumers_; }

  // -- With the lock held ------------------------------------------------------------------------

  bool is_ready_locked() const { return !order_.is_empty(); }
  bool may_go_on_locked() const { return is_ready_locked(); }

  void accept_locked(Section& section, std::size_t slot, std::int64_t order);
  void forget_locked(Section& section, std::size_t slot);

  // Whom an item of this order pushes out of the full queue: the oldest of the lowest priority, and nobody if its own
  // priority is lower still.
  std::optional<std::size_t> victim_locked(std::int64_t order) const;

  // No taker goes before the others here. See DelayCore.
  Taker* call_first_taker_locked(Section&, const Taker*) { return nullptr; }
  bool settle_locked(Taker&) { return false; }
  static constexpr bool alarm_watches_locked() { return false; }
  void serve_takers_locked(Section&) {}

 private:
  Rank rank_locked(std::int64_t order) const;

  const Duration ageing_;
  RankHeap victims_;  // Guarded by the lock. Empty, without memory, unless push() evicts.
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
