// What somebody sent, in an error message: in quotes, without surprises, and short.
#pragma once

#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// In double quotes. Control characters, quotes, backslashes and what is no ASCII are shown as \xNN; past `most` bytes it is cut off with "...".
std::string quoted(std::string_view text, std::size_t most = 40);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
