#include "messages.hpp"

#include <algorithm>

namespace chat {

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= longest_name && std::ranges::all_of(text, [](char each) {
    return (each >= 'a' && each <= 'z') || (each >= 'A' && each <= 'Z') ||
           (each >= '0' && each <= '9') || each == '-' || each == '_';
  });
}

bool is_text(std::string_view text) {
  return !text.empty() && text.size() <= longest_text && std::ranges::all_of(text, [](char each) {
    return static_cast<unsigned char>(each) >= 0x20 && each != 0x7f;
  });
}

std::optional<std::string_view> after(std::string_view line, std::string_view word) {
  if (!line.starts_with(word) || line.size() <= word.size() || line[word.size()] != ' ') {
    return std::nullopt;
  }
  return line.substr(word.size() + 1);
}

}  // namespace chat
