// Ends a sleep at a moment that may be another one for every sleep of the same wait, where a waiter's deadline is one for all.
#pragma once

#include <variant>

#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// For the waiter's owner, without a lock. The waiter itself must have no deadline: what it goes by is `limits`, if it is a
// thread's.
class Alarm {
 public:
  Alarm() = default;
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;
  ~Alarm() { stop(); }

  // For the waiter of a thread: by the real clock it sleeps until this deadline, which changes with the alarm.
  Wait limits;

  // Claims the waiter as timed out then. Only while it is not set.
  void set(Waiter& waiter, Deadline when);
  // Afterwards the waiter may be destroyed, or the alarm set again.
  void stop();

 private:
  // For a thread under a replaced clock.
  struct ClockTimer : Timer {
    explicit ClockTimer(Waiter& owner) : waiter(owner) {}
    Waiter& waiter;
  };
  // For a coroutine.
  struct ServiceTimer : TimerEntry {
    explicit ServiceTimer(Waiter& owner);
    Waiter& waiter;
  };
  static void ring(Waiter& waiter);

  ClockSource* clock_ = nullptr;  // The replaced clock that it is set on, if any.
  std::variant<std::monostate, ClockTimer, ServiceTimer> timer_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
