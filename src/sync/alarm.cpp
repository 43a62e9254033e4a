#include "handoff/detail/sync/alarm.hpp"

#include <utility>

#include "handoff/detail/core/timer_service.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

Alarm::ServiceTimer::ServiceTimer(Waiter& owner)
    : TimerEntry(
          [](TimerEntry& entry) noexcept { ring(static_cast<ServiceTimer&>(entry).waiter); }),
      waiter(owner) {}

void Alarm::ring(Waiter& waiter) {
  Unpark unpark;
  if (waiter.claim(WaitState::timed_out, unpark)) unpark();
}

void Alarm::set(Waiter& waiter, Deadline when) {
  if (when.is_never()) return;
  if (waiter.coroutine() != nullptr) {
    TimerService::shared().arm(timer_.emplace<ServiceTimer>(waiter), when.when());
  } else if (clock_ = installed_clock(); clock_ != nullptr) {
    auto& timer = timer_.emplace<ClockTimer>(waiter);
    timer.due = when.when();
    timer.fire = [](Timer& due) { ring(static_cast<ClockTimer&>(due).waiter); };
    clock_->arm(timer);
  } else {
    limits.deadline = when;
  }
}

void Alarm::stop() {
  limits.deadline = {};
  if (auto* const timer = std::get_if<ServiceTimer>(&timer_)) {
    TimerService::shared().cancel_and_wait(*timer);
  } else if (clock_ != nullptr) {
    std::exchange(clock_, nullptr)->disarm(std::get<ClockTimer>(timer_));
  }
  timer_.emplace<std::monostate>();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
