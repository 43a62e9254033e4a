// Time as Handoff sees it: steady, and replaceable in tests.
//
//   auto deadline = handoff::within(100ms);              // from now on
//   auto next = orders.take({.deadline = deadline});     // gives up at that moment
//
// All waiting in the library ends by this clock. In production it is std::chrono::steady_clock; a
// test puts handoff::testing::ManualClock in its place and moves time by hand.
#pragma once

#include <chrono>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using Duration = std::chrono::nanoseconds;
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

// The current time: steady_clock's, or that of the clock a test has put in its place.
TimePoint now();

// The moment at which a wait gives up. Never, unless given.
class Deadline {
 public:
  constexpr Deadline() = default;  // Never.
  template <typename D>
  constexpr Deadline(
      std::chrono::time_point<std::chrono::steady_clock, D> when)  // NOLINT: implicit
      : when_(std::chrono::time_point_cast<Duration>(when)) {}

  constexpr TimePoint when() const { return when_; }
  constexpr bool is_never() const { return when_ == TimePoint::max(); }
  bool has_passed() const { return !is_never() && now() >= when_; }

  friend constexpr bool operator==(Deadline, Deadline) = default;

 private:
  TimePoint when_ = TimePoint::max();
};

namespace detail {
Deadline deadline_after(Duration delay);

template <typename Rep, typename Period>
constexpr Duration saturated(std::chrono::duration<Rep, Period> delay) {
  using Wide = std::chrono::duration<double, std::nano>;
  if (Wide(delay) >= Wide(Duration::max())) return Duration::max();
  if (Wide(delay) <= Wide(Duration::min())) return Duration::min();
  return std::chrono::duration_cast<Duration>(delay);
}
}  // namespace detail

// The deadline `delay` from now. A delay too long to be represented means never.
template <typename Rep, typename Period>
Deadline within(std::chrono::duration<Rep, Period> delay) {
  return detail::deadline_after(detail::saturated(delay));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
