// Which kind of task a payload is for.
#pragma once

#include <string>

#include "handoff/detail/actor/message_view.hpp"
#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// The type's name without namespaces, or T::kind if it has one.
template <typename T>
std::string kind_of() {
  if constexpr (requires { std::string(T::kind); }) {
    return std::string(T::kind);
  } else {
    return std::string(
        handoff::detail::without_namespaces(handoff::detail::name_from_compiler<T>()));
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
