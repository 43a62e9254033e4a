// HANDOFF_ASSERT: an invariant of ours. On in every build: a broken invariant stops the program
// with the condition and its place, before it can lose or corrupt an item.
#pragma once

#include <source_location>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

[[noreturn]] void assertion_failed(const char* condition, std::source_location where);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#define HANDOFF_ASSERT(condition)     \
  ((condition) ? static_cast<void>(0) \
               : ::handoff::detail::assertion_failed(#condition, std::source_location::current()))
