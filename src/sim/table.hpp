// What happened in a run, for people: a column per thread, a line per step.
#pragma once

#include <string>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

class Scheduler;

// At most `lines`, the last ones.
std::string table_of(const Scheduler& run, std::size_t lines);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
