#include "cli/escape.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "tasks/utf8.hpp"

namespace handoff::cli {

namespace {

struct Character {
  std::uint32_t code = 0;
  std::size_t size = 1;
  bool is_valid = true;
};

// The character at the front of what is not empty.
Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {.code = lead};
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || text.size() < size || !tasks::is_utf8(text.substr(0, size))) {
    return {.code = lead, .is_valid = false};
  }
  std::uint32_t code = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) code = code << 6 | (byte(i) & 0x3fu);
  return {.code = code, .size = size};
}

bool is_control(std::uint32_t code) { return code < 0x20 || (code >= 0x7f && code < 0xa0); }

bool turns_text(std::uint32_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

std::string escaped(const Character& character) {
  if (character.code == '\n') return "\\n";
  if (character.code == '\t') return "\\t";
  if (character.code == '\r') return "\\r";
  if (character.code < 0x100) return fmt::format("\\x{:02x}", character.code);
  return fmt::format("\\u{{{:04x}}}", character.code);
}

template <typename Keeps>
std::string shown_but(std::string_view text, Keeps keeps) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const Character next = first_of(text);
    const bool is_harmful = !next.is_valid || is_control(next.code) || turns_text(next.code);
    if (is_harmful && !keeps(next.code)) {
      result += escaped(next);
    } else {
      result += text.substr(0, next.size);
    }
    text.remove_prefix(next.size);
  }
  return result;
}

}  // namespace

std::string shown(std::string_view text) {
  return shown_but(text, [](std::uint32_t) { return false; });
}

std::string shown_lines(std::string_view text) {
  return shown_but(text, [](std::uint32_t code) { return code == '\n'; });
}

std::string one_line(std::string_view json) {
  std::string result;
  result.reserve(json.size());
  bool is_in_string = false;
  while (!json.empty()) {
    const Character next = first_of(json);
    const bool is_escape = is_in_string && next.code == '\\' && json.size() > 1;
    const std::size_t size = is_escape ? 2 : next.size;
    if (next.code == '"') is_in_string = !is_in_string;
    if (!is_in_string && next.code <= ' ') {
      // White space between the parts.
    } else if (next.code >= 0x7f && (is_control(next.code) || turns_text(next.code))) {
      result += fmt::format("\\u{:04x}", next.code);
    } else {
      result += json.substr(0, size);
    }
    json.remove_prefix(size);
  }
  return result;
}

std::size_t columns_of(std::string_view text) {
  std::size_t count = 0;
  for (const char each : text) count += (static_cast<unsigned char>(each) & 0xc0u) != 0x80u;
  return count;
}

std::string cut_to(std::string_view text, std::size_t columns) {
  constexpr std::string_view dots = "...";
  if (columns_of(text) <= columns) return std::string(text);
  const std::size_t kept = columns > dots.size() ? columns - dots.size() : columns;
  std::size_t end = 0;
  for (std::size_t i = 0; i < kept; ++i) end += first_of(text.substr(end)).size;
  return std::string(text.substr(0, end)) + (columns > dots.size() ? dots : "").data();
}

}  // namespace handoff::cli
