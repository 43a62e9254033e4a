// What a server means by Retry-After: so many seconds, or a date.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::net {

// How long from `now`; 0 if that has passed. Nothing if it is neither.
std::optional<std::chrono::seconds> retry_after(const std::string& header,
                                                std::chrono::sys_seconds now);

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
