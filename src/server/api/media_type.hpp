// What a body is said to be: application/json, whatever its case and its parameters.
#pragma once

#include <algorithm>
#include <string_view>

namespace handoff::server {

inline bool is_media_type(std::string_view content_type, std::string_view wanted) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  while (!type.empty() && type.back() == ' ') type.remove_suffix(1);
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  return std::ranges::equal(type, wanted, {}, lower, lower);
}

}  // namespace handoff::server
