// The types that payloads may be made of, each with its way into JSON and back. What does not depend on the type is in json_codec.cpp.
#pragma once

#include <array>
#include <boost/describe/class.hpp>
#include <boost/describe/enumerators.hpp>
#include <boost/describe/members.hpp>
#include <boost/mp11/algorithm.hpp>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <expected>
#include <limits>
#include <optional>
#include <ratio>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/json.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

enum class UnknownFields : std::uint8_t { ignore, refuse };

struct ReadOptions {
  UnknownFields unknown_fields = UnknownFields::ignore;  // Of objects that structs are read from.
};

template <typename T>
struct JsonCodec;

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks

namespace handoff::inline HANDOFF_FLAVOUR::detail {

using tasks::Json;
using tasks::JsonCodec;
using tasks::JsonError;
using tasks::JsonKind;
using tasks::JsonView;
using tasks::JsonWriter;
using tasks::ReadOptions;
using tasks::UnknownFields;

using Written = JsonWriter::Written;
using Failed = std::unexpected<JsonError>;

// The error, seen from outside: in this member, in this element.
Failed in_member(std::string_view name, JsonError error);
Failed in_element(std::size_t index, JsonError error);

Failed expected_kind(std::string_view what, JsonView got);
Failed missing_member(std::string_view name);

std::expected<bool, JsonError> read_boolean(JsonView view);
std::expected<std::string, JsonError> read_string(JsonView view);
std::expected<double, JsonError> read_number(JsonView view, double most);
std::expected<std::int64_t, JsonError> read_signed(JsonView view, std::int64_t least,
                                                   std::int64_t most);
std::expected<std::uint64_t, JsonError> read_unsigned(JsonView view, std::uint64_t most);
// In units of so many milliseconds.
std::expected<std::int64_t, JsonError> read_duration(JsonView view, std::int64_t unit,
                                                     std::int64_t least, std::int64_t most);
Written write_duration(JsonWriter& writer, std::int64_t count, std::int64_t unit);
std::expected<tasks::Time, JsonError> read_time(JsonView view);
std::expected<tasks::TaskId, JsonError> read_id(JsonView view);
std::expected<Json, JsonError> read_any(JsonView view);

// The index of the name.
std::expected<std::size_t, JsonError> read_name(JsonView view,
                                                std::span<const std::string_view> names);
Failed nameless_enum(std::int64_t value);
std::expected<void, JsonError> refuse_unknown(JsonView object,
                                              std::span<const std::string_view> names);

template <typename T>
concept JsonOptional = std::same_as<T, std::optional<typename T::value_type>>;

template <typename T>
concept JsonSequence = requires(T& sequence, typename T::value_type value) {
  sequence.push_back(std::move(value));
  sequence.begin();
} && !std::same_as<T, std::string>;

template <typename T>
concept JsonMap =
    std::same_as<typename T::key_type, std::string> && requires { typename T::mapped_type; };

template <typename T>
concept JsonInteger = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                      !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                      !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <typename T>
concept JsonEnum = std::is_enum_v<T> && boost::describe::has_describe_enumerators<T>::value;

template <typename T>
concept JsonStruct = std::is_class_v<T> && boost::describe::has_describe_members<T>::value;

template <typename T>
struct JsonDurationUnit : std::false_type {};
template <std::signed_integral Rep, typename Period>
  requires(std::ratio_divide<Period, std::milli>::den == 1)
struct JsonDurationUnit<std::chrono::duration<Rep, Period>> : std::true_type {
  static constexpr std::int64_t milliseconds = std::ratio_divide<Period, std::milli>::num;
};
template <typename T>
concept JsonDuration = JsonDurationUnit<T>::value;

template <typename T>
inline constexpr bool no_json_for = false;

// All of them are public.
template <typename T>
using MembersOf = boost::describe::describe_members<T, boost::describe::mod_public |
                                                           boost::describe::mod_inherited>;

// Words of the language are written with a line below: `for_` is "for".
constexpr std::string_view json_name(std::string_view name) {
  return name.ends_with('_') ? name.substr(0, name.size() - 1) : name;
}

// The names of a description's entries.
template <typename... Entries>
constexpr auto names_in(boost::mp11::mp_list<Entries...>) {
  return std::array<std::string_view, sizeof...(Entries)>{json_name(Entries::name)...};
}
template <typename List>
constexpr auto names_of() {
  return names_in(boost::mp11::mp_rename<List, boost::mp11::mp_list>());
}

// Whether the member keeps its value if it is not there.
template <typename T>
constexpr bool may_be_missing(std::string_view name) {
  if constexpr (requires { T::optional_fields; })
    for (const std::string_view optional : T::optional_fields)
      if (optional == name) return true;
  return false;
}

// So that a misspelt one is noticed.
template <typename T>
constexpr bool optional_fields_exist() {
  if constexpr (requires { T::optional_fields; })
    for (const std::string_view optional : T::optional_fields) {
      bool exists = false;
      for (const auto name : names_of<MembersOf<T>>()) exists = exists || name == optional;
      if (!exists) return false;
    }
  return true;
}

template <typename T>
Written write_member(JsonWriter& writer, std::string_view name, const T& value) {
  if constexpr (JsonOptional<T>)
    if (!value) return {};
  auto written = writer.key(name);
  if (written) written = JsonCodec<T>::write(writer, value);
  if (!written) return in_member(name, std::move(written).error());
  return {};
}

template <typename T>
Written write_struct(JsonWriter& writer, const T& value) {
  auto written = writer.begin_object();
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    if (written) written = write_member(writer, json_name(member.name), value.*member.pointer);
  });
  if (written) writer.end_object();
  return written;
}

template <typename T>
Written write_sequence(JsonWriter& writer, const T& sequence) {
  if (auto begun = writer.begin_array(); !begun) return begun;
  std::size_t index = 0;
  for (const typename T::value_type& value : sequence) {
    auto written = JsonCodec<typename T::value_type>::write(writer, value);
    if (!written) return in_element(index, std::move(written).error());
    ++index;
  }
  writer.end_array();
  return {};
}

template <typename T>
Written write_map(JsonWriter& writer, const T& map) {
  if (auto begun = writer.begin_object(); !begun) return begun;
  for (const auto& [name, value] : map) {
    auto written = writer.key(name);
    if (written) written = JsonCodec<typename T::mapped_type>::write(writer, value);
    if (!written) return in_member(name, std::move(written).error());
  }
  writer.end_object();
  return {};
}

template <typename T>
Written write_enum(JsonWriter& writer, T value) {
  std::optional<std::string_view> name;
  boost::mp11::mp_for_each<boost::describe::describe_enumerators<T>>([&](auto entry) {
    if (entry.value == value && !name) name = json_name(entry.name);
  });
  if (!name) return nameless_enum(static_cast<std::int64_t>(value));
  return writer.string(*name);
}

template <typename T>
Written write_json(JsonWriter& writer, const T& value) {
  if constexpr (std::same_as<T, bool>) {
    writer.boolean(value);
  } else if constexpr (std::same_as<T, Json>) {
    return writer.json(value);
  } else if constexpr (std::same_as<T, std::string>) {
    return writer.string(value);
  } else if constexpr (std::same_as<T, tasks::Time>) {
    return writer.string(tasks::to_text(value));
  } else if constexpr (std::same_as<T, tasks::TaskId>) {
    return writer.string(value.to_string());
  } else if constexpr (JsonInteger<T>) {
    writer.integer(
        static_cast<std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>>(value));
  } else if constexpr (std::same_as<T, double> || std::same_as<T, float>) {
    return writer.number(value);
  } else if constexpr (JsonDuration<T>) {
    return write_duration(writer, value.count(), JsonDurationUnit<T>::milliseconds);
  } else if constexpr (JsonOptional<T>) {
    if (value) return JsonCodec<typename T::value_type>::write(writer, *value);
    writer.null();
  } else if constexpr (JsonEnum<T>) {
    return write_enum(writer, value);
  } else if constexpr (JsonMap<T>) {
    return write_map(writer, value);
  } else if constexpr (JsonSequence<T>) {
    return write_sequence(writer, value);
  } else if constexpr (JsonStruct<T>) {
    return write_struct(writer, value);
  } else {
    static_assert(
        no_json_for<T>,
        "this type has no JSON: describe it with BOOST_DESCRIBE_STRUCT, or specialise JsonCodec");
  }
  return {};
}

template <typename Owner, typename T>
std::expected<void, JsonError> read_member(JsonView object, std::string_view name, T& value,
                                           const ReadOptions& options) {
  const auto view = object.member(name);
  if (!view) {
    if (may_be_missing<Owner>(name)) return {};
    if constexpr (JsonOptional<T>) {
      value.reset();
      return {};
    } else {
      return missing_member(name);
    }
  }
  auto read = JsonCodec<T>::read(*view, options);
  if (!read) return in_member(name, std::move(read).error());
  value = std::move(*read);
  return {};
}

template <typename T>
std::expected<T, JsonError> read_struct(JsonView view, const ReadOptions& options) {
  static_assert(std::default_initializable<T>,
                "a struct is read into a new one: it must be default-constructible");
  static_assert(optional_fields_exist<T>(), "optional_fields names a member that is not described");
  if (view.kind() != JsonKind::object) return expected_kind("an object", view);
  T value{};
  std::expected<void, JsonError> read;
  boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) {
    if (read) read = read_member<T>(view, json_name(member.name), value.*member.pointer, options);
  });
  if (read && options.unknown_fields == UnknownFields::refuse) {
    static constexpr auto names = names_of<MembersOf<T>>();
    read = refuse_unknown(view, names);
  }
  if (!read) return Failed(std::move(read).error());
  return value;
}

template <typename T>
std::expected<T, JsonError> read_sequence(JsonView view, const ReadOptions& options) {
  if (view.kind() != JsonKind::array) return expected_kind("an array", view);
  T sequence;
  for (std::size_t i = 0; i < view.size(); ++i) {
    auto read = JsonCodec<typename T::value_type>::read(view.element(i), options);
    if (!read) return in_element(i, std::move(read).error());
    sequence.push_back(std::move(*read));
  }
  return sequence;
}

template <typename T>
std::expected<T, JsonError> read_map(JsonView view, const ReadOptions& options) {
  if (view.kind() != JsonKind::object) return expected_kind("an object", view);
  T map;
  for (std::size_t i = 0; i < view.size(); ++i) {
    const auto [name, member] = view.member_at(i);
    auto read = JsonCodec<typename T::mapped_type>::read(member, options);
    if (!read) return in_member(name, std::move(read).error());
    map.emplace(std::string(name), std::move(*read));
  }
  return map;
}

template <typename T>
std::expected<T, JsonError> read_enum(JsonView view) {
  using Entries = boost::describe::describe_enumerators<T>;
  static constexpr auto names = names_of<Entries>();
  const auto index = read_name(view, names);
  if (!index) return Failed(index.error());
  T value{};
  boost::mp11::mp_for_each<Entries>([&](auto entry) {
    if (json_name(entry.name) == names[*index]) value = entry.value;
  });
  return value;
}

// What was read as a wider type, and is known to fit.
template <typename T, typename Wide>
std::expected<T, JsonError> narrowed(const std::expected<Wide, JsonError>& read) {
  if (!read) return Failed(read.error());
  return static_cast<T>(*read);
}

template <typename T>
std::expected<T, JsonError> read_json(JsonView view, const ReadOptions& options) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::same_as<T, bool>) {
    return read_boolean(view);
  } else if constexpr (std::same_as<T, Json>) {
    return read_any(view);
  } else if constexpr (std::same_as<T, std::string>) {
    return read_string(view);
  } else if constexpr (std::same_as<T, tasks::Time>) {
    return read_time(view);
  } else if constexpr (std::same_as<T, tasks::TaskId>) {
    return read_id(view);
  } else if constexpr (JsonInteger<T> && std::is_signed_v<T>) {
    return narrowed<T>(read_signed(view, Limits::min(), Limits::max()));
  } else if constexpr (JsonInteger<T>) {
    return narrowed<T>(read_unsigned(view, Limits::max()));
  } else if constexpr (std::same_as<T, double> || std::same_as<T, float>) {
    return narrowed<T>(read_number(view, Limits::max()));
  } else if constexpr (JsonDuration<T>) {
    const auto count = read_duration(view, JsonDurationUnit<T>::milliseconds,
                                     std::numeric_limits<typename T::rep>::min(),
                                     std::numeric_limits<typename T::rep>::max());
    if (!count) return Failed(count.error());
    return T(static_cast<typename T::rep>(*count));
  } else if constexpr (JsonOptional<T>) {
    if (view.is_null()) return T();
    auto read = JsonCodec<typename T::value_type>::read(view, options);
    if (!read) return Failed(std::move(read).error());
    return T(std::move(*read));
  } else if constexpr (JsonEnum<T>) {
    return read_enum<T>(view);
  } else if constexpr (JsonMap<T>) {
    return read_map<T>(view, options);
  } else if constexpr (JsonSequence<T>) {
    return read_sequence<T>(view, options);
  } else if constexpr (JsonStruct<T>) {
    return read_struct<T>(view, options);
  } else {
    static_assert(
        no_json_for<T>,
        "this type has no JSON: describe it with BOOST_DESCRIBE_STRUCT, or specialise JsonCodec");
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
