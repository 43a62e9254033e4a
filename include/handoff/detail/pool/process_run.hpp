// One run of a command that has a place: from its start to its result.
#pragma once

#include <expected>

#include "handoff/process_pool.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::process {

// Refused with `timed_out` or `stopped` if the wait ended it.
std::expected<ProcessResult, Refusal> run_to_the_end(const ProcessCommand& command,
                                                     const Wait& wait);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::process
