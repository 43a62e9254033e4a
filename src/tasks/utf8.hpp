// Whether bytes are UTF-8. What is not cannot be written as JSON, and other stores than SQLite refuse it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// How many bytes at the front are whole characters of valid UTF-8: no overlong forms, no surrogates, nothing past U+10FFFF.
std::size_t valid_utf8_prefix(std::string_view text);

inline bool is_utf8(std::string_view text) { return valid_utf8_prefix(text) == text.size(); }

// The text, or as much of its front as fits into `most` bytes without cutting a character in two.
std::string_view cut_utf8(std::string_view text, std::size_t most);

// For what others have written, and people are to read: cut like that, with a question mark for each byte that is no UTF-8.
std::string readable_utf8(std::string_view text, std::size_t most);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
