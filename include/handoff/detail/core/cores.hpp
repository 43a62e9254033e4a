// How many cores there are to use.
#pragma once

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// That this process may run on, at least 1: it may be held to fewer than the machine has.
unsigned usable_cores();

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
