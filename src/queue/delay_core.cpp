#include "handoff/detail/queue/delay_core.hpp"

#include <algorithm>
#include <utility>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// However a taker's stay ends, also by a throwing move, the watch is given up.
class DelayCore::Stay {
 public:
  Stay(DelayCore& core, Taker& taker) : core_(core), taker_(taker) {}
  ~Stay() { core_.leave(taker_); }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

 private:
  DelayCore& core_;
  Taker& taker_;
};

DelayCore::DelayCore(const QueueOptions& options, std::size_t item_size)
    : OrderedCore("DelayQueue", options, item_size), watch_(*this) {}

void DelayCore::close() {
  OrderedCore::close();
  watch_.rouse_all();
}

Stats DelayCore::stats() const {
  auto takers = consumers_.totals();
  const auto watchers = watch_.totals();
  takers.waiting += watchers.waiting;
  takers.waits += watchers.waits;
  takers.blocked += watchers.blocked;
  return stats_with(takers);
}

void DelayCore::report_waits(std::vector<WaitInfo>& waits) const {
  report_producers(waits);
  watch_.report(waits);
  consumers_.report(waits);
}

void DelayCore::accept_locked(Section& section, std::size_t slot, std::int64_t order) {
  add_locked(slot, {.major = order, .sequence = next_sequence_locked()});
  // An item behind the first changes nothing for the watcher.
  if (watcher_ != nullptr && order_.front().slot == slot) section.wake_all(watch_);
}

void DelayCore::forget_locked(Section& section, std::size_t) {
  if (!closed_locked() || order_.size() > 1) return;
  // The last item goes, and no other can come: who waits for a due time need wait no longer.
  section.wake_all(watch_);
  section.wake_all(consumers_);
}

DelayCore::Taker* DelayCore::call_first_taker_locked(Section& section, const Taker* caller) {
  if (watcher_ == nullptr || watcher_ == caller) return nullptr;
  if (watcher_->is_finished_locked()) return nullptr;  // It has its item and is about to leave.
  section.wake_all(watch_);  // The watcher, and at most one that is about to follow it.
  return std::exchange(watcher_, nullptr);
}

bool DelayCore::settle_locked(Taker& taker) {
  if (watcher_ != nullptr && watcher_ != &taker) return false;
  watcher_ = &taker;
  const bool is_new = !std::exchange(taker.watches_, true);
  const auto due = order_.is_empty() ? TimePoint::max() : first_due_locked();
  const auto until = std::exchange(taker.until_, due);
  return is_new || due < until;
}

std::optional<Refusal> DelayCore::wait_for_item(Taker& taker, const Wait& wait, WaitSite site) {
  Stay stay(*this, taker);
  while (!taker.look()) {
    auto refusal = sleep(taker, wait, site);
    if (!refusal) continue;
    if (*refusal == Refusal::timed_out) {
      // It may have been only the item whose time has come; past a deadline, too, what is there is taken.
      if (!wait.deadline.has_passed()) continue;
      if (taker.look()) return std::nullopt;
    }
    if (!leave(taker)) return refusal;
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<Refusal> DelayCore::sleep(Taker& taker, const Wait& wait, WaitSite site) {
  if (!taker.watches_) return consumers_.wait(taker, wait, site);
  const Wait until{.deadline = std::min(wait.deadline.when(), taker.until_), .stop = wait.stop};
  return watch_.wait(taker, until, site);
}

// Gives up the watch. True if the taker has been given an item meanwhile, and must not be refused.
bool DelayCore::leave(Taker& taker) {
  Section section(*this);
  if (watcher_ == &taker) watcher_ = nullptr;
  if (watcher_ == nullptr) section.wake_one(consumers_);
  return taker.is_finished_locked();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
