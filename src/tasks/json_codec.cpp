#include "handoff/detail/tasks/json_codec.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "tasks/ascii.hpp"
#include "tasks/nearest.hpp"
#include "tasks/quoted.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {
namespace {

Failed failed(std::string message) { return Failed(JsonError{{}, std::move(message)}); }

bool is_identifier(std::string_view name) {
  const auto fits = [](char c) {
    return tasks::is_letter(c) || tasks::is_digit(c) || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::ranges::all_of(name, fits);
}

// What a number looks like in a message.
std::string shown(JsonView number) {
  if (const auto whole = number.signed_integer()) return fmt::format("{}", *whole);
  if (const auto whole = number.unsigned_integer()) return fmt::format("{}", *whole);
  return fmt::format("{}", number.number());
}

Failed not_in_range(JsonView got, std::int64_t least, std::uint64_t most) {
  return failed(
      fmt::format("expected a whole number from {} to {}, got {}", least, most, shown(got)));
}

}  // namespace

Failed in_member(std::string_view name, JsonError error) {
  const bool joins = error.path.empty() || error.path.starts_with('[');
  const std::string shown =
      is_identifier(name) ? std::string(name) : fmt::format("[{}]", tasks::quoted(name));
  error.path = fmt::format("{}{}{}", shown, joins ? "" : ".", error.path);
  return Failed(std::move(error));
}

Failed in_element(std::size_t index, JsonError error) {
  const bool joins = error.path.empty() || error.path.starts_with('[');
  error.path = fmt::format("[{}]{}{}", index, joins ? "" : ".", error.path);
  return Failed(std::move(error));
}

Failed expected_kind(std::string_view what, JsonView got) {
  return failed(fmt::format("expected {}, got {}", what, to_string(got.kind())));
}

Failed missing_member(std::string_view name) {
  return Failed(JsonError{std::string(name), "is missing"});
}

std::expected<bool, JsonError> read_boolean(JsonView view) {
  if (view.kind() != JsonKind::boolean) return expected_kind("true or false", view);
  return view.boolean();
}

std::expected<std::string, JsonError> read_string(JsonView view) {
  if (view.kind() != JsonKind::string) return expected_kind("a string", view);
  return std::string(view.string());
}

std::expected<double, JsonError> read_number(JsonView view, double most) {
  if (view.kind() != JsonKind::number) return expected_kind("a number", view);
  const double number = view.number();
  if (std::abs(number) > most)
    return failed(fmt::format("expected a number from {} to {}, got {}", -most, most, number));
  return number;
}

std::expected<std::int64_t, JsonError> read_signed(JsonView view, std::int64_t least,
                                                   std::int64_t most) {
  if (view.kind() != JsonKind::number) return expected_kind("a whole number", view);
  const auto number = view.signed_integer();
  if (!number || *number < least || *number > most)
    return not_in_range(view, least, static_cast<std::uint64_t>(most));
  return *number;
}

std::expected<std::uint64_t, JsonError> read_unsigned(JsonView view, std::uint64_t most) {
  if (view.kind() != JsonKind::number) return expected_kind("a whole number", view);
  const auto number = view.unsigned_integer();
  if (!number || *number > most) return not_in_range(view, 0, most);
  return *number;
}

std::expected<std::int64_t, JsonError> read_duration(JsonView view, std::int64_t unit,
                                                     std::int64_t least, std::int64_t most) {
  using Limits = std::numeric_limits<std::int64_t>;
  if (view.kind() != JsonKind::number) return expected_kind("a whole number of milliseconds", view);
  const auto number = read_signed(view, Limits::min(), Limits::max());
  if (!number) return number;
  if (*number % unit != 0)
    return failed(fmt::format("expected a multiple of {} milliseconds, got {}", unit, *number));
  const std::int64_t count = *number / unit;
  if (count < least || count > most)
    return failed(fmt::format("a duration of {} milliseconds does not fit", *number));
  return count;
}

Written write_duration(JsonWriter& writer, std::int64_t count, std::int64_t unit) {
  std::int64_t milliseconds = 0;
  if (__builtin_mul_overflow(count, unit, &milliseconds))
    return failed("too long for a number of milliseconds");
  writer.integer(milliseconds);
  return {};
}

std::expected<tasks::Time, JsonError> read_time(JsonView view) {
  if (view.kind() != JsonKind::string) return expected_kind("a string", view);
  const auto time = tasks::parse_time(view.string());
  if (!time) return failed(time.error());
  return *time;
}

std::expected<tasks::TaskId, JsonError> read_id(JsonView view) {
  if (view.kind() != JsonKind::string) return expected_kind("a string", view);
  const auto id = tasks::TaskId::parse(view.string());
  if (!id) return failed(id.error());
  return *id;
}

std::expected<Json, JsonError> read_any(JsonView view) { return view.json(); }

std::expected<std::size_t, JsonError> read_name(JsonView view,
                                                std::span<const std::string_view> names) {
  if (view.kind() != JsonKind::string) return expected_kind("a string", view);
  const auto found = std::ranges::find(names, view.string());
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  std::string list;
  for (const auto name : names) list += fmt::format("{}\"{}\"", list.empty() ? "" : ", ", name);
  return failed(fmt::format("expected one of {}, got {}", list, tasks::quoted(view.string())));
}

Failed nameless_enum(std::int64_t value) {
  return failed(fmt::format("the enum has no name for {}", value));
}

std::expected<void, JsonError> refuse_unknown(JsonView object,
                                              std::span<const std::string_view> names) {
  for (std::size_t i = 0; i < object.size(); ++i) {
    const auto name = object.member_at(i).first;
    if (std::ranges::find(names, name) != names.end()) continue;
    return in_member(name, {{}, fmt::format("unknown field{}", tasks::did_you_mean(name, names))});
  }
  return {};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
