#include "handoff/detail/core/spin.hpp"

#include <algorithm>
#include <thread>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"
#if defined(__linux__)
#include <sched.h>
#endif

namespace handoff::inline HANDOFF_FLAVOUR::detail {

unsigned usable_cores() {
#if defined(__linux__)
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    return static_cast<unsigned>(CPU_COUNT(&allowed));
  }
#endif
  return std::max(1U, std::thread::hardware_concurrency());  // 0 if it cannot be known.
}

bool spinning_pays() {
  if constexpr (simulated_build) return false;
  static const bool pays = usable_cores() > 1;
  return pays;
}

void spin_for(Duration time) {
  if constexpr (simulated_build) {
    if (sim::is_simulated()) return sim::point(nullptr, sim::Access::other);
  }
  // The real clock: a manual one would never get there.
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < 8; ++i) cpu_relax();
  } while (std::chrono::steady_clock::now() < end);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
