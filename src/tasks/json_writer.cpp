#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "handoff/detail/core/assert.hpp"
#include "handoff/tasks/json.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

std::unexpected<JsonError> refused(std::string message) {
  return std::unexpected(JsonError{{}, std::move(message)});
}

std::unexpected<JsonError> too_deep() {
  return refused(fmt::format("nested more than {} deep", Json::most_depth));
}

template <typename Number>
void append_number(std::string& text, Number number) {
  std::array<char, 32> digits;  // The longest double has 24.
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), written.ptr);
}

void append_escaped(std::string& text, char c) {
  switch (c) {
    case '"':
    case '\\':
      text += '\\';
      text += c;
      break;
    case '\n': text += "\\n"; break;
    case '\r': text += "\\r"; break;
    case '\t': text += "\\t"; break;
    default: text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  }
}

constexpr bool needs_escape(char c) { return (c >= 0 && c < ' ') || c == '"' || c == '\\'; }

void append_string(std::string& text, std::string_view value) {
  text += '"';
  std::size_t plain = 0;  // From here on nothing had to be escaped.
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!needs_escape(value[i])) continue;
    text.append(value, plain, i - plain);
    append_escaped(text, value[i]);
    plain = i + 1;
  }
  text.append(value, plain);
  text += '"';
}

}  // namespace

// A value ends with a quote, a digit, a letter or a closing bracket: anything else before it needs no comma.
void JsonWriter::separate() {
  if (!text_.empty() && text_.back() != '[' && text_.back() != '{' && text_.back() != ':')
    text_ += ',';
}

void JsonWriter::literal(std::string_view text) {
  separate();
  text_ += text;
}

void JsonWriter::integer(std::int64_t value) {
  separate();
  append_number(text_, value);
}

void JsonWriter::integer(std::uint64_t value) {
  separate();
  append_number(text_, value);
}

JsonWriter::Written JsonWriter::number(double value) {
  if (!std::isfinite(value)) return refused(fmt::format("JSON has no number for {}", value));
  separate();
  append_number(text_, value);
  return {};
}

JsonWriter::Written JsonWriter::string(std::string_view text) {
  if (const auto valid = valid_utf8_prefix(text); valid < text.size())
    return refused(fmt::format("must be UTF-8, which it is not at byte {}", valid));
  separate();
  append_string(text_, text);
  return {};
}

JsonWriter::Written JsonWriter::json(const Json& value) {
  if (depth_ + value.depth() > Json::most_depth) return too_deep();
  deepest_ = std::max(deepest_, depth_ + value.depth());
  literal(value.text());
  return {};
}

JsonWriter::Written JsonWriter::begin(char bracket) {
  if (depth_ == Json::most_depth) return too_deep();
  deepest_ = std::max(deepest_, ++depth_);
  separate();
  text_ += bracket;
  return {};
}

void JsonWriter::end(char bracket) {
  HANDOFF_ASSERT(depth_ > 0);
  --depth_;
  text_ += bracket;
}

JsonWriter::Written JsonWriter::key(std::string_view name) {
  if (auto written = string(name); !written)
    return refused("its name must be UTF-8, which it is not");
  text_ += ':';
  return {};
}

Json JsonWriter::finish() && {
  HANDOFF_ASSERT(depth_ == 0 && !text_.empty());
  return Json(std::move(text_), deepest_);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
