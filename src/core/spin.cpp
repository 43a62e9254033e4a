#include "handoff/detail/core/spin.hpp"

#include "handoff/detail/core/cores.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

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
