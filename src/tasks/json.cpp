// Boost.JSON parses. Its own way with doubles is fast but up to an ulp off, so the handlers here read their digits once more.
#include "handoff/tasks/json.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value.hpp>
#include <boost/json/value_stack.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "handoff/detail/core/assert.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

namespace json = boost::json;
using json::error_code;
using Text = json::string_view;

// Looks at everything and keeps nothing but the depth.
struct Validator {
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_array_size = max_object_size;
  static constexpr std::size_t max_key_size = max_object_size;
  static constexpr std::size_t max_string_size = max_object_size;

  std::size_t depth = 0;
  std::size_t deepest = 0;

  bool begin() {
    deepest = std::max(deepest, ++depth);
    return true;
  }
  bool end() {
    --depth;
    return true;
  }
  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return begin(); }
  bool on_object_end(std::size_t, error_code&) { return end(); }
  bool on_array_begin(error_code&) { return begin(); }
  bool on_array_end(std::size_t, error_code&) { return end(); }
  bool on_key_part(Text, std::size_t, error_code&) { return true; }
  bool on_key(Text, std::size_t, error_code&) { return true; }
  bool on_string_part(Text, std::size_t, error_code&) { return true; }
  bool on_string(Text, std::size_t, error_code&) { return true; }
  bool on_number_part(Text, error_code&) { return true; }
  bool on_int64(std::int64_t, Text, error_code&) { return true; }
  bool on_uint64(std::uint64_t, Text, error_code&) { return true; }
  bool on_double(double rough, Text digits, error_code& error) {
    return exact(rough, digits, error).has_value();
  }
  bool on_bool(bool, error_code&) { return true; }
  bool on_null(error_code&) { return true; }
  bool on_comment_part(Text, error_code&) { return true; }
  bool on_comment(Text, error_code&) { return true; }

  // The nearest double to what Boost.JSON made `rough` of.
  static std::optional<double> exact(double rough, Text digits, error_code& error) {
    double value = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (read.ec == std::errc()) return value;
    if (std::abs(rough) < 1) return 0.0;  // Out of range, because it is too small.
    error = json::error::exponent_overflow;
    return std::nullopt;
  }
};

// Makes values of it, in that memory.
class Builder {
 public:
  explicit Builder(json::monotonic_resource& memory)
      : memory_(&memory), stack_({}, first_.data(), first_.size()) {}
  json::value release() { return stack_.release(); }

  static constexpr std::size_t max_object_size = json::object::max_size();
  static constexpr std::size_t max_array_size = json::array::max_size();
  static constexpr std::size_t max_key_size = json::string::max_size();
  static constexpr std::size_t max_string_size = json::string::max_size();

  bool on_document_begin(error_code&) {
    stack_.reset(memory_);
    return true;
  }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code&) { return true; }
  bool on_object_end(std::size_t size, error_code&) { return stack_.push_object(size), true; }
  bool on_array_begin(error_code&) { return true; }
  bool on_array_end(std::size_t size, error_code&) { return stack_.push_array(size), true; }
  bool on_key_part(Text text, std::size_t, error_code&) { return stack_.push_chars(text), true; }
  bool on_key(Text text, std::size_t, error_code&) { return stack_.push_key(text), true; }
  bool on_string_part(Text text, std::size_t, error_code&) { return stack_.push_chars(text), true; }
  bool on_string(Text text, std::size_t, error_code&) { return stack_.push_string(text), true; }
  bool on_number_part(Text, error_code&) { return true; }
  bool on_int64(std::int64_t value, Text, error_code&) { return stack_.push_int64(value), true; }
  bool on_uint64(std::uint64_t value, Text, error_code&) { return stack_.push_uint64(value), true; }
  bool on_double(double rough, Text digits, error_code& error) {
    const auto value = Validator::exact(rough, digits, error);
    if (value) stack_.push_double(*value);
    return value.has_value();
  }
  bool on_bool(bool value, error_code&) { return stack_.push_bool(value), true; }
  bool on_null(error_code&) { return stack_.push_null(), true; }
  bool on_comment_part(Text, error_code&) { return true; }
  bool on_comment(Text, error_code&) { return true; }

 private:
  const json::storage_ptr memory_;
  // What a task as it usually is needs while it is read.
  std::array<unsigned char, 1024> first_;
  json::value_stack stack_;
};

std::string describe(const error_code& error, std::size_t at) {
  if (error == json::error::too_deep)
    return fmt::format("nested more than {} deep, at byte {}", Json::most_depth, at);
  if (error == json::error::exponent_overflow)
    return fmt::format("a number is too large, at byte {}", at);
  if (error == json::error::incomplete) return "not JSON: it ends too early";
  return fmt::format("not JSON: {} at byte {}", error.message(), at);
}

template <typename Handler>
std::expected<void, JsonError> parse_with(json::basic_parser<Handler>& parser,
                                          std::string_view text) {
  error_code error;
  const std::size_t read = parser.write_some(false, text.data(), text.size(), error);
  if (!error && read < text.size()) error = json::error::extra_data;
  if (error) return std::unexpected(JsonError{{}, describe(error, read)});
  return {};
}

json::parse_options options() {
  json::parse_options options;
  options.max_depth = Json::most_depth;
  return options;
}

const json::value& get(const void* value) { return *static_cast<const json::value*>(value); }

// A whole number that was written as a double, or is one because it has too many digits. From 2^53 on it may not be what was written.
template <typename Integer>
std::optional<Integer> whole(double value) {
  constexpr double least = std::is_signed_v<Integer> ? -0x1p53 + 1 : 0;
  if (!(value >= least && value < 0x1p53) || std::trunc(value) != value) return std::nullopt;
  return static_cast<Integer>(value);
}

JsonWriter::Written write(JsonWriter& writer, const json::value& value);

JsonWriter::Written write(JsonWriter& writer, const json::array& array) {
  auto written = writer.begin_array();
  for (const auto& element : array)
    if (written) written = write(writer, element);
  if (written) writer.end_array();
  return written;
}

JsonWriter::Written write(JsonWriter& writer, const json::object& object) {
  auto written = writer.begin_object();
  for (const auto& member : object) {
    if (written) written = writer.key({member.key().data(), member.key().size()});
    if (written) written = write(writer, member.value());
  }
  if (written) writer.end_object();
  return written;
}

JsonWriter::Written write(JsonWriter& writer, const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: writer.null(); break;
    case json::kind::bool_: writer.boolean(value.get_bool()); break;
    case json::kind::int64: writer.integer(value.get_int64()); break;
    case json::kind::uint64: writer.integer(value.get_uint64()); break;
    case json::kind::double_: return writer.number(value.get_double());
    case json::kind::string:
      return writer.string({value.get_string().data(), value.get_string().size()});
    case json::kind::array: return write(writer, value.get_array());
    case json::kind::object: return write(writer, value.get_object());
  }
  return {};
}

}  // namespace

std::expected<Json, JsonError> Json::parse(std::string text) {
  json::basic_parser<Validator> parser(options());
  if (auto parsed = parse_with(parser, text); !parsed) return std::unexpected(parsed.error());
  return Json(std::move(text), parser.handler().deepest);
}

// All of it in few pieces of memory, which are given back at once.
struct JsonDocument::Data {
  std::array<unsigned char, 1024> first;
  json::monotonic_resource memory{first.data(), first.size()};
  std::optional<json::value> root{};
};

JsonDocument::JsonDocument(std::unique_ptr<const Data> data) : data_(std::move(data)) {}
JsonDocument::JsonDocument(JsonDocument&&) noexcept = default;
JsonDocument& JsonDocument::operator=(JsonDocument&&) noexcept = default;
JsonDocument::~JsonDocument() = default;

std::expected<JsonDocument, JsonError> JsonDocument::parse(std::string_view text) {
  auto data = std::make_unique<Data>();
  json::basic_parser<Builder> parser(options(), data->memory);
  if (auto parsed = parse_with(parser, text); !parsed) return std::unexpected(parsed.error());
  data->root.emplace(parser.handler().release());
  return JsonDocument(std::move(data));
}

JsonView JsonDocument::root() const { return JsonView(&*data_->root); }

std::string_view to_string(JsonKind kind) {
  switch (kind) {
    case JsonKind::null: return "null";
    case JsonKind::boolean: return "a boolean";
    case JsonKind::number: return "a number";
    case JsonKind::string: return "a string";
    case JsonKind::array: return "an array";
    case JsonKind::object: return "an object";
  }
  return "unknown";
}

JsonKind JsonView::kind() const {
  switch (get(value_).kind()) {
    case json::kind::null: return JsonKind::null;
    case json::kind::bool_: return JsonKind::boolean;
    case json::kind::int64:
    case json::kind::uint64:
    case json::kind::double_: return JsonKind::number;
    case json::kind::string: return JsonKind::string;
    case json::kind::array: return JsonKind::array;
    case json::kind::object: break;
  }
  return JsonKind::object;
}

bool JsonView::boolean() const {
  HANDOFF_ASSERT(kind() == JsonKind::boolean);
  return get(value_).get_bool();
}

std::string_view JsonView::string() const {
  HANDOFF_ASSERT(kind() == JsonKind::string);
  const auto& text = get(value_).get_string();
  return {text.data(), text.size()};
}

std::optional<std::int64_t> JsonView::signed_integer() const {
  HANDOFF_ASSERT(kind() == JsonKind::number);
  const auto& value = get(value_);
  if (value.is_int64()) return value.get_int64();
  if (value.is_uint64()) return std::nullopt;  // It is that only if it does not fit.
  return whole<std::int64_t>(value.get_double());
}

std::optional<std::uint64_t> JsonView::unsigned_integer() const {
  HANDOFF_ASSERT(kind() == JsonKind::number);
  const auto& value = get(value_);
  if (value.is_uint64()) return value.get_uint64();
  if (value.is_double()) return whole<std::uint64_t>(value.get_double());
  if (value.get_int64() < 0) return std::nullopt;
  return static_cast<std::uint64_t>(value.get_int64());
}

double JsonView::number() const {
  HANDOFF_ASSERT(kind() == JsonKind::number);
  return get(value_).to_number<double>();
}

std::size_t JsonView::size() const {
  HANDOFF_ASSERT(kind() == JsonKind::array || kind() == JsonKind::object);
  const auto& value = get(value_);
  return value.is_array() ? value.get_array().size() : value.get_object().size();
}

JsonView JsonView::element(std::size_t index) const {
  HANDOFF_ASSERT(kind() == JsonKind::array && index < size());
  return JsonView(&get(value_).get_array()[index]);
}

std::pair<std::string_view, JsonView> JsonView::member_at(std::size_t index) const {
  HANDOFF_ASSERT(kind() == JsonKind::object && index < size());
  const auto& member = get(value_).get_object().begin()[static_cast<std::ptrdiff_t>(index)];
  return {std::string_view(member.key().data(), member.key().size()), JsonView(&member.value())};
}

std::optional<JsonView> JsonView::member(std::string_view key) const {
  HANDOFF_ASSERT(kind() == JsonKind::object);
  const auto* const found = get(value_).get_object().if_contains({key.data(), key.size()});
  if (found == nullptr) return std::nullopt;
  return JsonView(found);
}

Json JsonView::json() const {
  JsonWriter writer;
  const auto written = write(writer, get(value_));
  HANDOFF_ASSERT(written);  // It was parsed from a text with the same limits.
  return std::move(writer).finish();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
