// What a request is about: the path and the query of its target.
#include <cstddef>

#include "server/http/message.hpp"

namespace handoff::server {

namespace {

constexpr std::size_t longest_target = 8192;

std::optional<int> digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return std::nullopt;
}

// In a query a plus is a space.
std::optional<std::string> decode(std::string_view text, bool is_query) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = digit(text[i + 1]);
      const auto low = digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      decoded += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      decoded += is_query && text[i] == '+' ? ' ' : text[i];
    }
  }
  if (decoded.find('\0') != std::string::npos) return std::nullopt;
  return decoded;
}

// Calls `use` with each part; false if it says so.
template <typename Use>
bool split(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const auto end = text.find(separator);
    if (!use(text.substr(0, end))) return false;
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

std::optional<Target> parse_target(std::string_view target) {
  if (target.empty() || target.front() != '/' || target.size() > longest_target) {
    return std::nullopt;
  }
  target = target.substr(0, target.find('#'));
  const auto question = target.find('?');
  Target parsed{.path = std::string(target.substr(0, question)), .segments = {}, .query = {}};
  const bool has_path =
      split(std::string_view(parsed.path).substr(1), '/', [&](std::string_view part) {
        auto segment = decode(part, false);
        if (!segment || segment->empty() || *segment == "." || *segment == "..") return false;
        parsed.segments.push_back(*std::move(segment));
        return true;
      });
  if (!has_path) return std::nullopt;
  if (question == std::string_view::npos) return parsed;
  const bool has_query = split(target.substr(question + 1), '&', [&](std::string_view part) {
    if (part.empty()) return true;
    const auto equals = part.find('=');
    auto name = decode(part.substr(0, equals), true);
    auto value =
        equals == std::string_view::npos ? std::string() : decode(part.substr(equals + 1), true);
    if (!name || !value) return false;
    parsed.query.emplace_back(*std::move(name), *std::move(value));
    return true;
  });
  if (!has_query) return std::nullopt;
  return parsed;
}

std::string_view to_string(Method method) {
  switch (method) {
    case Method::get: return "GET";
    case Method::post: return "POST";
    case Method::put: return "PUT";
    case Method::del: return "DELETE";
    case Method::other: break;
  }
  return "other";
}

}  // namespace handoff::server
