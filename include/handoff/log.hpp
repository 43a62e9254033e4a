// The few lines the library itself has to say, such as how many items a full queue has dropped.
//
//   handoff::set_log([](std::string_view line) { spdlog::warn("{}", line); });
//
// By default they go to standard error. Every kind of line is bounded in rate by whoever writes it.
#pragma once

#include <functional>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using LogSink = std::function<void(std::string_view line)>;

// Replaces the sink; an empty one restores standard error. Returns the one before. The sink may be
// called from any thread, from several at once, and never under a lock of the library. What it throws is lost.
LogSink set_log(LogSink sink);

namespace detail {
void log_line(std::string_view line) noexcept;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
