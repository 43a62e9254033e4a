#include "cli/values.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "handoff/tasks/duration.hpp"
#include "tasks/nearest.hpp"
#include "tasks/quoted.hpp"

namespace handoff::cli {

using tasks::quoted;

namespace {

template <typename Value>
ReadValue kept(std::expected<Value, std::string> read, Value& value) {
  if (!read) return std::unexpected(std::move(read).error());
  value = *std::move(read);
  return {};
}

template <typename Number>
ReadValue read_whole(std::string_view text, Number& value) {
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stopped == end && !text.empty()) return {};
  return std::unexpected("must be a whole number, got " + quoted(text));
}

// One of some names.
template <typename Value, std::size_t count>
ReadValue one_of(std::string_view text, const std::array<std::string_view, count>& names,
                 std::optional<Value> found, Value& value) {
  if (found) {
    value = *found;
    return {};
  }
  return std::unexpected(fmt::format("must be one of {}, got {}{}", fmt::join(names, ", "),
                                     quoted(text), tasks::did_you_mean(text, names)));
}

}  // namespace

ReadValue read_value(std::string_view text, std::string& value) {
  value = text;
  return {};
}

ReadValue read_value(std::string_view text, int& value) { return read_whole(text, value); }
ReadValue read_value(std::string_view text, std::int64_t& value) { return read_whole(text, value); }

ReadValue read_value(std::string_view text, std::chrono::milliseconds& value) {
  return kept(tasks::parse_duration(text), value);
}

ReadValue read_value(std::string_view text, tasks::Time& value) {
  return kept(tasks::parse_time(text), value);
}

ReadValue read_value(std::string_view text, tasks::TaskId& value) {
  return kept(tasks::TaskId::parse(text), value);
}

ReadValue read_value(std::string_view text, tasks::TaskState& value) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"scheduled", "waiting", "ready", "running", "done", "dead", "cancelled"});
  return one_of(text, names, tasks::parse_state(text), value);
}

ReadValue read_value(std::string_view text, tasks::Missed& value) {
  static constexpr auto names = std::to_array<std::string_view>({"skip", "once", "all"});
  return one_of(text, names, tasks::parse_missed(text), value);
}

ReadValue read_value(std::string_view text, WhenFull& value) {
  static constexpr auto names = std::to_array<std::string_view>({"reject", "drop_newest", "block"});
  std::optional<WhenFull> found;
  if (text == "reject") found = WhenFull::reject;
  if (text == "drop_newest") found = WhenFull::drop_newest;
  if (text == "block") found = WhenFull::block;
  return one_of(text, names, found, value);
}

ReadValue read_value(std::string_view text, Rate& value) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  const std::string_view unit(stopped, static_cast<std::size_t>(end - stopped));
  double seconds = 0;
  if (unit.empty() || unit == "/s") seconds = 1;
  if (unit == "/m") seconds = 60;
  if (unit == "/h") seconds = 3600;
  if (error != std::errc() || seconds == 0 || !std::isfinite(number) || number < 0) {
    return std::unexpected("must be a rate such as 50/s, 300/m or 10/h, got " + quoted(text));
  }
  value.per_second = number / seconds;
  return {};
}

}  // namespace handoff::cli
