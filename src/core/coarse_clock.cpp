#include "handoff/detail/core/coarse_clock.hpp"

#include <ctime>

#include "handoff/detail/core/clock_source.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

TimePoint coarse_now() {
#if defined(CLOCK_MONOTONIC_COARSE) && !(defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED)
  if (installed_clock() == nullptr) [[likely]] {
    timespec time;  // The clock of std::chrono::steady_clock, as of its last tick.
    if (clock_gettime(CLOCK_MONOTONIC_COARSE, &time) == 0) {
      return TimePoint(std::chrono::seconds(time.tv_sec) + Duration(time.tv_nsec));
    }
  }
#endif
  return now();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
