#include "handoff/clock.hpp"

#include <stdexcept>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/core/simulation.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace {
constinit detail::atomic<detail::ClockSource*> installed{nullptr};
}

TimePoint now() {
  if (auto* source = detail::installed_clock()) [[unlikely]]
    return source->now();
  if constexpr (detail::simulated_build) {
    if (detail::sim::is_simulated()) return detail::sim::now();
  }
  return std::chrono::steady_clock::now();
}

namespace detail {

ClockSource* installed_clock() {
  return installed.load(acquire);  // Pairs with the exchange in install_clock().
}

void install_clock(ClockSource* source) {
  if (source == nullptr) {
    installed.store(nullptr, seq_cst);
    return;
  }
  ClockSource* none = nullptr;
  if (!installed.compare_exchange_strong(none, source, seq_cst)) {
    throw std::logic_error("another clock is installed: one ManualClock may live at a time");
  }
}

Deadline deadline_after(Duration delay) {
  const auto start = now();
  // Each bound is looked at only where the subtraction itself cannot overflow.
  const bool after_epoch = start.time_since_epoch() > Duration::zero();
  if (after_epoch && delay > TimePoint::max() - start) return {};
  if (!after_epoch && delay < TimePoint::min() - start) return TimePoint::min();
  return start + delay;
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
