// How texts of the command line become values. The error says what is allowed, so that the name of the option can stand before it:
// "--delay " + "must be a duration ...".
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/tasks/schedule.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "handoff/tasks/time.hpp"
#include "handoff/when_full.hpp"

namespace handoff::cli {

using ReadValue = std::expected<void, std::string>;

// Claims a second: "50", "50/s", "300/m".
struct Rate {
  double per_second = 0;
};

ReadValue read_value(std::string_view text, std::string& value);
ReadValue read_value(std::string_view text, int& value);
ReadValue read_value(std::string_view text, std::int64_t& value);
ReadValue read_value(std::string_view text, std::chrono::milliseconds& value);
ReadValue read_value(std::string_view text, tasks::Time& value);
ReadValue read_value(std::string_view text, tasks::TaskId& value);
ReadValue read_value(std::string_view text, tasks::TaskState& value);
ReadValue read_value(std::string_view text, tasks::Missed& value);
ReadValue read_value(std::string_view text, WhenFull& value);
ReadValue read_value(std::string_view text, Rate& value);

template <typename T>
ReadValue read_value(std::string_view text, std::optional<T>& value) {
  return read_value(text, value.emplace());
}
// One more.
template <typename T>
ReadValue read_value(std::string_view text, std::vector<T>& value) {
  return read_value(text, value.emplace_back());
}

template <typename T>
inline constexpr bool takes_many = false;
template <typename T>
inline constexpr bool takes_many<std::vector<T>> = true;

}  // namespace handoff::cli
