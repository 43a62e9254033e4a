// Invariant, under the line's lock: while somebody stands in line, the alarm is set, or one of them has been given the turn for a tick
// and has not left yet. Whoever leaves sets the alarm for the others, at once if the tick is due and was not taken.
#include <fmt/core.h>

#include <stdexcept>

#include "handoff/detail/core/timer_service.hpp"
#include "handoff/select.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

Ticker::Alarm::Alarm(Ticker& owner)
    : TimerEntry([](TimerEntry& entry) noexcept { static_cast<Alarm&>(entry).ticker.ring(); }),
      ticker(owner) {}

Ticker::Ticker(Duration period, std::string_view name)
    : Primitive("Ticker", name),
      period_(period),
      start_(now()),
      next_(period < TimePoint::max() - start_ ? start_ + period : TimePoint::max()),
      alarm_(*this) {
  if (period <= Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("a ticker's period must be positive, got {} ns", period.count()));
  }
  enter_if_named();
}

Ticker::~Ticker() {
  retire();
  TimerService::shared().cancel_and_wait(alarm_);
}

bool Ticker::try_tick() {
  SmallGuard guard(line_.lock());
  const auto time = now();
  if (time < next_) {
    set_alarm_locked();  // One who passed by may have taken the tick that it was set for.
    return false;
  }
  next_ = start_ + ((time - start_) / period_ + 1) * period_;  // Those missed are skipped.
  ++ticks_;
  return true;
}

bool Ticker::is_due() const {
  SmallGuard guard(line_.lock());
  return now() >= next_;
}

void Ticker::set_alarm_locked() {
  if (has_alarm_ || line_.is_empty_locked()) return;
  TimerService::shared().arm(alarm_, next_);
  has_alarm_ = true;
}

void Ticker::stand_in_line(Link& link) {
  enter_registry();
  SmallGuard guard(line_.lock());
  line_.push_back_locked(link);
  try {
    set_alarm_locked();
  } catch (...) {
    line_.unlink_locked(link);
    throw;
  }
}

void Ticker::leave(Link& link) {
  SmallGuard guard(line_.lock());
  line_.unlink_locked(link);
  set_alarm_locked();
}

// On the thread of the timer service.
void Ticker::ring() {
  Unpark unpark;
  {
    SmallGuard guard(line_.lock());
    has_alarm_ = false;
    // One that cannot be claimed has a turn elsewhere: it looks here too before it sleeps, or leaves.
    Link* link = line_.front_locked();
    while (link != nullptr && !link->waiter->give_turn(unpark)) link = link->next;
  }
  unpark();
}

Stats Ticker::stats() const {
  const auto totals = line_.totals();
  SmallGuard guard(line_.lock());
  Stats stats;
  stats.takes = ticks_;
  stats.waiting_consumers = totals.waiting;
  stats.consumer_waits = totals.waits;
  stats.consumers_blocked = totals.blocked;
  return stats;
}

void Ticker::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

}  // namespace handoff::inline HANDOFF_FLAVOUR
