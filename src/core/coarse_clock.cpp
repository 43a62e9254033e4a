#include "handoff/detail/core/coarse_clock.hpp"

#include <ctime>

#include "handoff/detail/core/clock_source.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

#if defined(CLOCK_MONOTONIC_COARSE) && !(defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED)
#define HANDOFF_HAS_COARSE_CLOCK 1
#else
#define HANDOFF_HAS_COARSE_CLOCK 0
#endif

TimePoint coarse_now() {
#if HANDOFF_HAS_COARSE_CLOCK
  if (installed_clock() == nullptr) [[likely]] {
    timespec time;  // The clock of std::chrono::steady_clock, as of its last tick.
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0) {
      return TimePoint(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
    }
  }
#endif
  return now();
}

namespace {
constexpr Duration a_tick = std::chrono::milliseconds(10);  // The longest a kernel is built with.
constexpr Duration long_patience = 100 * a_tick;
constexpr Duration longest_patience = std::chrono::hours(24 * 365);  // Far from what overflows.
}  // namespace

Deadline coarse_deadline(Duration patience) {
  const bool is_exact = !HANDOFF_HAS_COARSE_CLOCK || installed_clock() != nullptr;
  if (is_exact || patience < long_patience || patience > longest_patience) {
    return deadline_after(patience);
  }
  return coarse_now() + a_tick + patience;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
