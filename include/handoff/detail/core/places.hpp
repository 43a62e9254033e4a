// Places in the source, for people.
#pragma once

#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class PromiseBase;

// The chain of who awaits whom, from this coroutine up: the co_await each is at, and where each task was spawned.
std::vector<std::source_location> places_of(const PromiseBase& promise);

// "shop.cpp"
std::string_view file_of(const std::source_location& where);
// "serve": without its type, its arguments and what the compiler makes of a coroutine.
std::string_view function_of(const std::source_location& where);
// "shop.cpp:12 (serve)"
std::string to_string(const std::source_location& where);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
