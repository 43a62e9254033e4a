// Where a lock was taken: the calls that led there. For reports of a checked build.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class CallStack {
 public:
  // The stack of the calling thread, without the library's own frames as far as they are known.
  static CallStack here();

  // One indented line per call: its function if the program exports it, else module and offset.
  std::string to_string() const;

 private:
  static constexpr std::size_t capacity = 20;

  std::array<void*, capacity> frames_{};
  std::size_t size_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
