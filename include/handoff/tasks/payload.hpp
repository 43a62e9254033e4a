// Payloads: C++ structs as JSON, and back.
//
//   struct Item { std::string sku; std::int64_t cents; };
//   BOOST_DESCRIBE_STRUCT(Item, (), (sku, cents))
//   struct Order { std::string customer; std::vector<Item> items; std::optional<std::string> note; };
//   BOOST_DESCRIBE_STRUCT(Order, (), (customer, items, note))
//
//   auto json = to_json(order);             // std::expected<Json, JsonError>: {"customer":"c7","items":[{"sku":"a","cents":5}]}
//   auto again = from_json<Order>(text);    // std::expected<Order, JsonError>; error: items[3].cents: expected a whole number, got a string
//
//   C++                                          JSON
//   bool, std::string                            the same; a string must be UTF-8
//   integers, float, double                      a number; when read, it must fit. 3.0 is a whole number, 3.5 is not
//   an enum with BOOST_DESCRIBE_ENUM             its name
//   std::chrono durations from milliseconds up   a whole number of milliseconds
//   Time, TaskId                                 a string, as to_text() and to_string() write it
//   std::optional<T>                             T, or null; as a member it is left out if it is empty
//   std::vector, std::deque, std::list           an array
//   std::map, std::unordered_map, of strings     an object
//   a struct with BOOST_DESCRIBE_STRUCT          an object of its public members, those of its bases included
//   Json                                         whatever there is
//   a member or an enumerator like `for_`        its name without the line below: "for" is a word of the language
//   anything else                                as a specialisation of JsonCodec writes it
//
// Versions. Tasks outlive programs, so that a struct meets payloads of its older and newer selves:
// - A member that the struct does not know is ignored, unless the options say otherwise.
// - A member that is not there is an error, so that a misspelt one is not taken for 0. But a std::optional is then empty, and those named in
//   `optional_fields` keep the value they have in a new object:
//
//     struct Order {
//       std::string customer;
//       int priority = 3;                                                               // Came with version 2.
//       static constexpr auto optional_fields = std::to_array<std::string_view>({"priority"});
//     };
//
// - null is a value: only optionals and Json take it.
// - A change that cannot be forgiven is another kind: "resize/2" beside "resize/1", see worker.hpp.
//
// What is read must be default-constructible. Nesting is limited as in json.hpp.
#pragma once

#include <boost/describe/class.hpp>
#include <boost/describe/enum.hpp>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/config.hpp"
#include "handoff/detail/tasks/json_codec.hpp"
#include "handoff/tasks/json.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// How values of a type are written and read. To be specialised for types of your own that are no described structs:
//
//   template <>
//   struct handoff::tasks::JsonCodec<Money> {
//     static JsonWriter::Written write(JsonWriter& writer, const Money& money) { return writer.string(money.to_string()); }
//     static std::expected<Money, JsonError> read(JsonView view, const ReadOptions& options);
//   };
template <typename T>
struct JsonCodec {
  static JsonWriter::Written write(JsonWriter& writer, const T& value) {
    return detail::write_json(writer, value);
  }
  static std::expected<T, JsonError> read(JsonView view, const ReadOptions& options) {
    return detail::read_json<T>(view, options);
  }
};

// Fails if a number is infinite or none, a string is not UTF-8, an enum has no name, or it is nested too deep.
template <typename T>
std::expected<Json, JsonError> to_json(const T& value) {
  JsonWriter writer;
  if (auto written = JsonCodec<T>::write(writer, value); !written)
    return std::unexpected(std::move(written).error());
  return std::move(writer).finish();
}

template <typename T>
std::expected<T, JsonError> from_json(std::string_view text, const ReadOptions& options = {}) {
  if constexpr (std::is_same_v<T, Json>) {
    return Json::parse(std::string(text));  // To the letter.
  } else {
    const auto document = JsonDocument::parse(text);
    if (!document) return std::unexpected(document.error());
    return JsonCodec<T>::read(document->root(), options);
  }
}

template <typename T>
std::expected<T, JsonError> from_json(const Json& json, const ReadOptions& options = {}) {
  return from_json<T>(std::string_view(json.text()), options);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
