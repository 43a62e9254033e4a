// JSON: a text known to be valid, a document to look into, and a writer. What payloads are made with; see payload.hpp for structs.
//
//   auto json = Json::parse(text);                       // std::expected<Json, JsonError>: checked, and kept as it is
//   auto document = JsonDocument::parse(text);           // the same to look into
//   if (auto to = document->root().member("to")) send(to->string());
//
// Nesting is limited to `Json::most_depth`, texts must be UTF-8, and numbers must fit into a double; then a text that is JSON by RFC 8259 is
// taken, and no other. Numbers are exact: integers to 64 bits, and the nearest double otherwise. If a key comes twice the last one counts.
// Thread safety: values. Views are good as long as their document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// What is wrong, and where: `items[3].price: expected a number, got a string`.
struct JsonError {
  std::string path;  // Empty for the whole.
  std::string message;

  std::string to_string() const { return path.empty() ? message : path + ": " + message; }
  friend bool operator==(const JsonError&, const JsonError&) = default;
};

// A text that is valid JSON. In a struct it stands for whatever there is.
class Json {
 public:
  static constexpr std::size_t most_depth = 64;

  Json() = default;  // null
  static std::expected<Json, JsonError> parse(std::string text);

  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }
  std::size_t depth() const {
    return depth_;
  }  // How deep arrays and objects are nested; 0 without any.

  friend bool operator==(const Json&, const Json&) = default;  // To the letter.

 private:
  friend class JsonWriter;
  Json(std::string text, std::size_t depth) : text_(std::move(text)), depth_(depth) {}

  std::string text_ = "null";
  std::size_t depth_ = 0;
};

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

// With its article: "an array".
std::string_view to_string(JsonKind kind);

// A value in a document. Asking for what it is not stops the program: look at kind() first.
class JsonView {
 public:
  JsonKind kind() const;
  bool is_null() const { return kind() == JsonKind::null; }

  bool boolean() const;
  std::string_view string() const;
  // A number that is whole and fits. So are 3.0 and 1e3, but no such number from 2^53 on, which may have been rounded.
  std::optional<std::int64_t> signed_integer() const;
  std::optional<std::uint64_t> unsigned_integer() const;
  double number() const;

  std::size_t size() const;  // Of an array or an object.
  JsonView element(std::size_t index) const;
  std::pair<std::string_view, JsonView> member_at(std::size_t index) const;
  std::optional<JsonView> member(std::string_view key) const;

  Json json() const;  // A copy of it, written anew.

 private:
  friend class JsonDocument;
  explicit JsonView(const void* value) : value_(value) {}

  const void* value_;  // Of Boost.JSON, which is not for headers.
};

class JsonDocument {
 public:
  static std::expected<JsonDocument, JsonError> parse(std::string_view text);
  JsonDocument(JsonDocument&&) noexcept;
  JsonDocument& operator=(JsonDocument&&) noexcept;
  ~JsonDocument();

  JsonView root() const;

 private:
  struct Data;
  explicit JsonDocument(std::unique_ptr<const Data> data);

  std::unique_ptr<const Data> data_;
};

// Puts commas where they belong; what is written between begin and end, and in which order, is the caller's. What returns an error has written
// something that is no JSON: give up then.
class JsonWriter {
 public:
  using Written = std::expected<void, JsonError>;

  void null() { literal("null"); }
  void boolean(bool value) { literal(value ? "true" : "false"); }
  void integer(std::int64_t value);
  void integer(std::uint64_t value);
  [[nodiscard]] Written number(double value);           // Infinite, or not a number: refused.
  [[nodiscard]] Written string(std::string_view text);  // Not UTF-8: refused.
  [[nodiscard]] Written json(
      const Json& value);  // Nested too deep together with what is around it: refused.

  [[nodiscard]] Written begin_array() { return begin('['); }
  void end_array() { end(']'); }
  [[nodiscard]] Written begin_object() { return begin('{'); }
  [[nodiscard]] Written key(std::string_view name);
  void end_object() { end('}'); }

  // What was written: one value, all of whose arrays and objects were ended.
  Json finish() &&;

 private:
  void separate();
  void literal(std::string_view text);
  Written begin(char bracket);
  void end(char bracket);

  std::string text_;
  std::size_t depth_ = 0;
  std::size_t deepest_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
