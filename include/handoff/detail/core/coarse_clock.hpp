// A quicker look at the time, for statistics of waits that are often shorter than reading the clock takes.
#pragma once

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// The time of the system's last tick: behind now() by some milliseconds at most, never ahead of it. Many short times measured
// with it add up to the right sum. Exactly now() while a clock is installed.
TimePoint coarse_now();

// The deadline `patience` from now. If that is long, by the quicker look: never early, and late by some milliseconds at most.
Deadline coarse_deadline(Duration patience);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
