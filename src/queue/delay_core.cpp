#include "handoff/detail/queue/delay_core.hpp"

#include <algorithm>
#include <utility>

#include "handoff/detail/core/timer_service.hpp"

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
    : OrderedCore("DelayQueue", options, item_size), watch_(*this), alarm_(*this) {}

DelayCore::~DelayCore() {
  // Cancelled it is, but it may be ringing still.
  if (had_alarm_) TimerService::shared().cancel_and_wait(alarm_);
}

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
  if (alarm_watches_locked()) section.tend_line();
  if (!is_over_locked()) return;
  // The last item is gone, and no other can come: who waits for a due time need wait no longer.
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
  if (watcher_ != &taker && (watcher_ != nullptr || alarm_watches_locked())) return false;
  if (!taker.may_watch_) return false;
  watcher_ = &taker;
  const bool is_new = !std::exchange(taker.watches_, true);
  const auto due = order_.is_empty() ? TimePoint::max() : first_due_locked();
  const auto until = std::exchange(taker.until_, due);
  return is_new || due < until;
}

std::optional<Refusal> DelayCore::wait_for_item(Taker& taker, const Wait& wait, WaitSite site) {
  Stay stay(*this, taker);
  taker.may_watch_ = true;
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
  if (alarm_watches_locked()) {
    serve_takers_locked(section);
  } else if (watcher_ == nullptr) {
    section.wake_one(consumers_);
  }
  return taker.is_finished_locked();
}

// -- The alarm ------------------------------------------------------------------------------------

DelayCore::Alarm::Alarm(DelayCore& owner)
    : TimerEntry([](TimerEntry& entry) noexcept { static_cast<Alarm&>(entry).core.ring(); }),
      core(owner) {}

// On the thread of the timer service.
void DelayCore::ring() {
  Section section(*this);
  // Nobody needs it any more: not even the clock may be looked at then.
  if (awaiting_ == 0) return;
  alarm_at_ = TimePoint::max();
  serve_takers_locked(section);
}

void DelayCore::serve_takers_locked(Section& section) {
  if (!alarm_watches_locked()) return;
  // For the rest the alarm rings again: others may have the lock in between.
  if (serve_line_locked(section)) set_alarm_locked(first_due_locked());
  section.tend_line();
}

void DelayCore::tend_line_locked(Section& section) {
  if (!alarm_watches_locked() || order_.is_empty()) return;
  const auto due = first_due_locked();
  if (alarm_at_ <= due) return;  // It is about to ring, if not set for later.
  if (due <= now()) {
    section.wake_one(consumers_);  // The front could not be served: it is up, or leaves.
  } else {
    set_alarm_locked(due);
  }
}

// Moves it, also while it rings: then it rings once more.
void DelayCore::set_alarm_locked(TimePoint due) {
  auto& timers = TimerService::shared();
  timers.cancel(alarm_);
  timers.arm(alarm_, due);
  alarm_at_ = due;
}

void DelayCore::enter_line() {
  static_cast<void>(TimerService::shared());  // It enters the registry: not under the lock.
  Section section(*this);
  if (awaiting_ == 0) {
    // For never, and here: if the service cannot start, that is known before anybody depends on it.
    set_alarm_locked(TimePoint::max());
    had_alarm_ = true;
  }
  ++awaiting_;
  section.tend_line();
}

void DelayCore::leave_line() {
  Section section(*this);
  if (--awaiting_ > 0) return;
  TimerService::shared().cancel(alarm_);
  alarm_at_ = TimePoint::max();
  if (watcher_ == nullptr) section.wake_one(consumers_);  // A thread, to take over the watch.
}

// -- Coroutines and selects -----------------------------------------------------------------------

// Leaves, unless the stay goes on; also when a look throws.
class DelayCore::TakerVisit::LeaveAtEnd {
 public:
  explicit LeaveAtEnd(TakerVisit& visit) : visit_(visit) {}
  ~LeaveAtEnd() {
    if (!goes_on_) visit_.leave();
  }
  LeaveAtEnd(const LeaveAtEnd&) = delete;
  LeaveAtEnd& operator=(const LeaveAtEnd&) = delete;

  bool go_on() {
    goes_on_ = true;
    return false;
  }

 private:
  TakerVisit& visit_;
  bool goes_on_ = false;
};

bool DelayCore::TakerVisit::begin(Waiter& waiter) {
  LeaveAtEnd at_end(*this);
  core_.enter_line();
  is_in_line_ = true;
  return visit_.begin(waiter) || at_end.go_on();
}

bool DelayCore::TakerVisit::go_on(Waiter& waiter, WaitState outcome) {
  LeaveAtEnd at_end(*this);
  if (!visit_.go_on(waiter, outcome)) return at_end.go_on();
  // As for a thread: past a deadline, too, what is due is taken.
  if (visit_.refusal() == Refusal::timed_out) took_at_deadline_ = taker_.attempt();
  return true;
}

std::optional<Refusal> DelayCore::TakerVisit::refusal() const {
  if (took_at_deadline_) return std::nullopt;
  return visit_.refusal();
}

void DelayCore::TakerVisit::stand_in_line(Waiter& waiter) {
  core_.enter_line();
  is_in_line_ = true;
  visit_.stand_in_line(waiter);
}

void DelayCore::TakerVisit::leave() {
  visit_.leave();
  if (std::exchange(is_in_line_, false)) core_.leave_line();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
