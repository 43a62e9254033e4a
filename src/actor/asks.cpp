#include "handoff/detail/actor/asks.hpp"

#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/handler_task.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/core/timer_service.hpp"
#include "handoff/detail/core/unparks.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

Asks::Asks() : Primitive("Actor", {}) {
  alarm_.asks = this;
  alarm_.fire = [](TimerEntry& entry) noexcept {
    static_cast<Alarm&>(entry).asks->end_those_due();
  };
}

Asks::~Asks() {
  retire();
  TimerService::shared().cancel_and_wait(alarm_);
}

void Asks::add(Entry& entry, Deadline deadline) {
  enter_registry();
  SmallGuard guard(lock_);
  if (!deadline.is_never()) {
    if (deadline.when() < alarm_at_) set_alarm_locked(deadline.when());
    deadlines_.arm(entry, deadline.when());
  }
  entry.next = first_;
  if (first_ != nullptr) first_->previous = &entry;
  first_ = &entry;
  ++size_;
}

void Asks::remove(Entry& entry) {
  SmallGuard guard(lock_);
  deadlines_.cancel(entry);  // Unless it had none, or its time has come.
  (entry.previous == nullptr ? first_ : entry.previous->next) = entry.next;
  if (entry.next != nullptr) entry.next->previous = entry.previous;
  --size_;
}

// The service never calls with its lock held, so it may be asked with ours.
void Asks::set_alarm_locked(TimePoint due) {
  TimerService& timers = TimerService::shared();
  timers.cancel(alarm_);
  alarm_at_ = TimePoint::max();
  timers.arm(alarm_, due);
  alarm_at_ = due;
}

void Asks::end_those_due() {
  Unparks unparks;
  SmallGuard guard(lock_);
  alarm_at_ = TimePoint::max();
  const TimePoint at = now();
  while (true) {
    while (!deadlines_.advance(at)) {
    }
    TimerEntry* const due = deadlines_.take_due(at);
    if (due == nullptr) break;
    Unpark unpark;
    if (static_cast<Entry*>(due)->waiter->claim(WaitState::timed_out, unpark)) unparks.add(unpark);
  }
  const TimePoint next = deadlines_.next_due();
  if (next != TimePoint::max()) set_alarm_locked(next);  // Does not throw: there is a thread.
}

Stats Asks::stats() const {
  SmallGuard guard(lock_);
  Stats stats;
  stats.waiting_consumers = size_;
  return stats;
}

void Asks::report_waits(std::vector<WaitInfo>& waits) const {
  SmallGuard guard(lock_);
  for (const Entry* each = first_; each != nullptr; each = each->next) {
    const std::size_t before = waits.size();
    each->answer.waiters().report(*this, waits);
    for (std::size_t i = before; i < waits.size(); ++i) waits[i].name = each->asked.path();
  }
}

namespace {
// A handler's coroutine: its system does not end before it does.
bool is_handler_of(const SystemCore& system) {
  ActorCell* const cell = ActorCell::current();
  return cell != nullptr && &cell->system() == &system && HandlerTask::running_of(*cell) != nullptr;
}
}  // namespace

bool AnswerWait::begin(Waiter& waiter) {
  link_.emplace(waiter);
  if (!entry_.answer.stand_in_line(*link_)) return true;
  const auto leave = [this] {
    SmallGuard guard(entry_.answer.waiters().lock());
    if (link_->linked) entry_.answer.waiters().unlink_locked(*link_);
  };
  entry_.waiter = &waiter;
  SystemCore& system = entry_.asked.system();
  asks_ = system.asks().get();
  if (!is_handler_of(system)) keeps_asks_ = system.asks();
  try {
    asks_->add(entry_, deadline_);
  } catch (...) {
    leave();
    throw;
  }
  try {
    waiter.arm();
  } catch (...) {
    asks_->remove(entry_);
    leave();
    throw;
  }
  return false;
}

bool AnswerWait::go_on(Waiter&, WaitState outcome) {
  asks_->remove(entry_);
  // Who has answered took it off the list first, and touches it no more.
  if (outcome == WaitState::woken || outcome == WaitState::nudged) return true;
  SmallGuard guard(entry_.answer.waiters().lock());
  if (!link_->linked) return true;  // It was answered, also if its time came at the same moment.
  entry_.answer.waiters().unlink_locked(*link_);
  refusal_ = outcome == WaitState::stopped ? Refusal::stopped : Refusal::timed_out;
  return true;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
