// What DelayQueue<T> knows without knowing T: which item is due, and which of the waiting takers watches the time.
//
// `order` is the due time. Among the takers that wait, one is the watcher: it sleeps until the first item is due. The
// others stand in line on consumers_ and set no timer, so a moment at which an item becomes due wakes one thread.
//
//   comes, nothing due --nobody watches--> watcher            sleeps on watch_ until the first item is due
//                      --somebody does---> in line            sleeps on consumers_
//   in line  --the watch was given up, and it is its turn--> watcher
//   watcher  --item, closed, timed out, stopped, move threw--> gone; it gives up the watch and wakes the line's front
//
// Invariants:
// - watcher_ is guarded by the lock, and so is what another thread gives the watcher.
// - The watcher is never overtaken: whoever finds an item due while another taker watches gives it that item first.
//   Only a taker that has stood in line beyond the turnstile's limits goes before it.
// - While somebody stands in line there is a watcher, or somebody has been woken to become it.
// - The watcher sleeps no longer than until the first item is due: who puts an item in front wakes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/queue/ordered_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class DelayCore : public OrderedCore {
 public:
  void close();
  Stats stats() const final;
  void report_waits(std::vector<WaitInfo>& waits) const final;

 protected:
  // A taker that waits, in line or as the watcher.
  class Taker : public OrderedCore::Taker {
    friend class DelayCore;
    // Written by the taker's own thread only.
    bool watches_ = false;
    TimePoint until_ =
        TimePoint::max();  // When the first item was due, at the watcher's last look.
  };

  DelayCore(const QueueOptions& options, std::size_t item_size);

  std::optional<Refusal> wait_for_item(Taker& taker, const Wait& wait, WaitSite site);

  // -- With the lock held ------------------------------------------------------------------------

  bool is_ready_locked() const { return !order_.is_empty() && first_due_locked() <= now(); }
  bool may_go_on_locked() const { return watcher_ == nullptr || is_ready_locked(); }

  void accept_locked(Section& section, std::size_t slot, std::int64_t order);
  void forget_locked(Section& section, std::size_t slot);
  std::optional<std::size_t> victim_locked(std::int64_t) const { return order_.front().slot; }

  // The watcher, unless that is the caller: it is to be given the item that is due. It watches no more.
  Taker* call_first_taker_locked(Section& section, const Taker* caller);

  // `taker` has found nothing due. True if it has to wait in another place now, or less long.
  bool settle_locked(Taker& taker);

 private:
  class Stay;

  TimePoint first_due_locked() const { return TimePoint(Duration(order_.front().rank.major)); }
  std::optional<Refusal> sleep(Taker& taker, const Wait& wait, WaitSite site);
  bool leave(Taker& taker);

  Turnstile watch_;
  Taker* watcher_ = nullptr;  // Guarded by the lock.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
