// Whether what a user's function returns has to be awaited.
#pragma once

#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T>
inline constexpr bool is_lazy = false;
template <typename T>
inline constexpr bool is_lazy<Lazy<T>> = true;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
