#include "tasks/utf8.hpp"

#include <cstdint>
#include <cstring>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

constexpr unsigned byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

constexpr bool is_continuation(unsigned byte) { return (byte & 0xc0) == 0x80; }

// Eight bytes at once, since most text is ASCII.
bool next_eight_are_ascii(std::string_view text, std::size_t at) {
  if (text.size() - at < 8) return false;
  std::uint64_t eight;
  std::memcpy(&eight, text.data() + at, 8);
  return (eight & 0x8080'8080'8080'8080) == 0;
}

// Bytes of the character at `at`; 0 if it is not a valid one.
std::size_t character_size(std::string_view text, std::size_t at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) return 1;
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (first < 0xc2 || first > 0xf4 || text.size() - at < size) return 0;
  for (std::size_t i = 1; i < size; ++i)
    if (!is_continuation(byte_at(text, at + i))) return 0;
  const unsigned second = byte_at(text, at + 1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool surrogate = first == 0xed && second > 0x9f;
  const bool too_large = first == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_large ? 0 : size;
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    if (next_eight_are_ascii(text, at)) {
      at += 8;
      continue;
    }
    const std::size_t size = character_size(text, at);
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::string_view cut_utf8(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  while (most > 0 && is_continuation(byte_at(text, most))) --most;
  return text.substr(0, most);
}

std::string readable_utf8(std::string_view text, std::size_t most) {
  std::string all;
  text = cut_utf8(text, most);
  while (!text.empty()) {
    const std::size_t good = valid_utf8_prefix(text);
    all += text.substr(0, good);
    text.remove_prefix(good);
    if (text.empty()) break;
    all += '?';
    text.remove_prefix(1);
  }
  return all;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
