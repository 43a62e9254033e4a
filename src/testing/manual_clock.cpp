#include "handoff/testing/manual_clock.hpp"

#include <fmt/core.h>

#include <chrono>
#include <stdexcept>

#include "handoff/detail/core/assert.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

ManualClock::ManualClock() : now_(std::chrono::steady_clock::now().time_since_epoch().count()) {
  detail::install_clock(this);
}

ManualClock::~ManualClock() {
  detail::install_clock(nullptr);
  // Somebody still waits by this clock, and would wait for ever.
  HANDOFF_ASSERT(waiting() == 0);
}

TimePoint ManualClock::now() const { return TimePoint(Duration(now_.load())); }

void ManualClock::advance(Duration step) {
  if (step < Duration::zero()) {
    throw std::invalid_argument(fmt::format("time cannot go back, got {} ns", step.count()));
  }
  detail::SmallGuard guard(lock_);
  const TimePoint at = TimePoint(Duration(now_.fetch_add(step.count()) + step.count()));
  for (detail::Timer* timer = front_; timer != nullptr;) {
    detail::Timer& each = *timer;
    timer = each.next;
    if (each.due > at) continue;
    unlink_locked(each);
    each.fire(each);
  }
}

std::size_t ManualClock::waiting() const {
  detail::SmallGuard guard(lock_);
  return armed_;
}

void ManualClock::arm(detail::Timer& timer) {
  detail::SmallGuard guard(lock_);
  if (timer.due <= now()) {  // advance() came between the caller's look at the time and this.
    timer.fire(timer);
    return;
  }
  timer.previous = nullptr;
  timer.next = front_;
  if (front_ != nullptr) front_->previous = &timer;
  front_ = &timer;
  timer.armed = true;
  ++armed_;
}

void ManualClock::disarm(detail::Timer& timer) {
  detail::SmallGuard guard(lock_);
  if (timer.armed) unlink_locked(timer);
}

void ManualClock::unlink_locked(detail::Timer& timer) {
  (timer.previous == nullptr ? front_ : timer.previous->next) = timer.next;
  if (timer.next != nullptr) timer.next->previous = timer.previous;
  timer.armed = false;
  --armed_;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
