// A short, bounded busy wait: only where a hand-over is likely within microseconds.
#pragma once

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// False on a machine, or in a process, that has one core: spinning there only delays the other side.
bool spinning_pays();

// Tells the core that this is a spin loop.
inline void cpu_relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Burns about this many nanoseconds without touching shared memory.
void spin_for(Duration time);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
