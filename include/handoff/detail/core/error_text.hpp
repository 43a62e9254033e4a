// What an exception says, for people.
#pragma once

#include <exception>
#include <string>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

inline std::string text_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
