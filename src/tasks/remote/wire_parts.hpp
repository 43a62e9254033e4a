// What the files of wire.hpp share.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/tasks/duration.hpp"
#include "handoff/tasks/payload.hpp"
#include "tasks/remote/wire.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire {

// "30s", or a number of seconds.
struct Span {
  Millis value{};
};

// Whatever there is, null too.
struct Anything {
  bool is_there = false;
  Json json{};
};

[[noreturn]] inline void throw_unreadable(std::string_view what) {
  throw StoreFailure({.code = TaskError::Code::internal,
                      .message = fmt::format("the answer of the server cannot be read ({}): is it "
                                             "a handoff server of this version?",
                                             what),
                      .field = {}});
}

template <typename T>
T read(std::string_view body) {
  auto value = from_json<T>(body);
  if (!value) throw_unreadable(value.error().to_string());
  return *std::move(value);
}

inline TaskState state_of(std::string_view text) {
  const auto state = parse_state(text);
  if (!state) throw_unreadable(fmt::format("state \"{}\"", text));
  return *state;
}

// What is written is checked before; a text that is not UTF-8 is a mistake of the caller's.
template <typename T>
std::string text_of(const T& value) {
  auto json = to_json(value);
  if (!json) {
    throw StoreFailure({.code = TaskError::Code::bad_request,
                        .message = json.error().to_string(),
                        .field = json.error().path});
  }
  return std::move(*json).text();
}

// An object, member by member; values are JSON already, or are written as such.
class Object {
 public:
  Object& raw(std::string_view name, std::string_view json) {
    text_ += fmt::format("{}\"{}\":{}", text_.empty() ? "" : ",", name, json);
    return *this;
  }
  template <typename T>
  Object& add(std::string_view name, const T& value) {
    return raw(name, text_of(value));
  }
  Object& add(std::string_view name, Millis time) {
    return raw(name, fmt::format("\"{}\"", to_text(time)));
  }
  // Only if there is something.
  Object& if_any(std::string_view name, const std::string& text) {
    return text.empty() ? *this : add(name, text);
  }
  Object& if_any(std::string_view name, Millis time) {
    return time == Millis(0) ? *this : add(name, time);
  }
  bool is_empty() const { return text_.empty(); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

inline std::string array_of(const std::vector<std::string>& items) {
  return fmt::format("[{}]", fmt::join(items, ","));
}

inline std::optional<std::int64_t> cursor_of(const std::optional<std::string>& text) {
  if (!text || text->empty()) return std::nullopt;
  auto number = from_json<std::int64_t>(*text);
  if (!number) throw_unreadable("next_cursor");
  return *number;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire

template <>
struct handoff::tasks::JsonCodec<handoff::tasks::remote::wire::Span> {
  using Span = handoff::tasks::remote::wire::Span;
  static JsonWriter::Written write(JsonWriter& writer, const Span& span) {
    return writer.string(to_text(span.value));
  }
  static std::expected<Span, JsonError> read(JsonView view, const ReadOptions&) {
    std::expected<std::chrono::milliseconds, std::string> time = std::unexpected("no duration");
    if (view.kind() == JsonKind::string) time = parse_duration(view.string());
    if (view.kind() == JsonKind::number) time = duration_from_seconds(view.number());
    if (!time) return std::unexpected(JsonError{.path = {}, .message = std::move(time.error())});
    return Span{*time};
  }
};

template <>
struct handoff::tasks::JsonCodec<handoff::tasks::remote::wire::Anything> {
  using Anything = handoff::tasks::remote::wire::Anything;
  static std::expected<Anything, JsonError> read(JsonView view, const ReadOptions&) {
    return Anything{.is_there = true, .json = view.json()};
  }
};
