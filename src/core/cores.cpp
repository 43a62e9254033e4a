#include "handoff/detail/core/cores.hpp"

#include <algorithm>
#include <thread>

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

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
