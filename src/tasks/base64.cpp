// RFC 4648, with padding.
#include <array>
#include <cstdint>

#include "tasks/encoding.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t none = 255;

constexpr auto values = [] {
  std::array<std::uint8_t, 256> all{};
  all.fill(none);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    all[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  }
  return all;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const auto byte = [&](std::size_t i) {
      return at + i < bytes.size() ? std::uint32_t{static_cast<unsigned char>(bytes[at + i])} : 0;
    };
    const std::uint32_t three = byte(0) << 16 | byte(1) << 8 | byte(2);
    const std::size_t left = bytes.size() - at;
    text += digits[three >> 18];
    text += digits[three >> 12 & 63];
    text += left > 1 ? digits[three >> 6 & 63] : '=';
    text += left > 2 ? digits[three & 63] : '=';
  }
  return text;
}

std::expected<std::string, std::string> from_base64(std::string_view text) {
  const auto damaged = std::unexpected(std::string("what is stored is damaged: it is no base64"));
  if (text.size() % 4 != 0) return damaged;
  std::size_t padding = 0;
  while (padding < 2 && text.ends_with('=')) {
    text.remove_suffix(1);
    ++padding;
  }
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t bits = 0;
  int count = 0;
  for (const char each : text) {
    const std::uint8_t value = values[static_cast<unsigned char>(each)];
    if (value == none) return damaged;
    bits = (bits << 6 | value) & 0xfff;  // What is left of the last one, and this.
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xff);
  }
  return bytes;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
