// The time of day, as tasks have it: in UTC, to the millisecond. Written as in RFC 3339.
//
//   Time due = parse_time("2026-12-01T09:30:00+01:00").value();
//   to_text(due);                                        // "2026-12-01T08:30:00.000Z"
//   Time now = to_time(std::chrono::system_clock::now());
//
// All that is stored is a Time, so that it is the same before and after. Deadlines of waits are by handoff/clock.hpp instead: that clock is never set.
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

using Time = std::chrono::sys_time<std::chrono::milliseconds>;

// Those that parse_time() takes: the years 1970 to 2199. Adding `longest_duration` to one still fits into a system_clock::time_point.
inline constexpr Time earliest_time = Time(std::chrono::milliseconds(0));
inline constexpr Time latest_time =
    Time(std::chrono::sys_days(std::chrono::year(2200) / 1 / 1)) - std::chrono::milliseconds(1);

constexpr Time to_time(std::chrono::system_clock::time_point time) {
  return std::chrono::floor<std::chrono::milliseconds>(time);
}

// `YYYY-MM-DDThh:mm:ss`, with a fraction or not, then `Z` or an offset as `+hh:mm`. What is finer than a millisecond is cut off. There is no
// second 60 here, as there is none in system_clock. The error begins so that the name of the field can stand before it.
std::expected<Time, std::string> parse_time(std::string_view text);

// `YYYY-MM-DDThh:mm:ss.mmmZ`. For times in the years 0 to 9999; what is outside is shown as the nearest of these.
std::string to_text(Time time);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
