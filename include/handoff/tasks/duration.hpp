// Durations as people write them: in requests, in settings, on the command line.
//
//   parse_duration("250ms")      250 milliseconds; also "30s", "5m", "2h", "1d", and "1.5h"
//   parse_duration("30")         30 seconds: without a unit it is a number of seconds
//   duration_from_seconds(0.25)  the same from a JSON number
//   to_text(90s)                 "90s": the largest unit that needs no fraction
//
// Not below 0, not above `longest_duration`, so that adding one to the time of day never overflows. The errors say what is allowed, and begin so that
// the name of the field can stand before them: "delay " + "must be ...".
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

inline constexpr std::chrono::milliseconds longest_duration = std::chrono::days(3650);

// A fraction must be a whole number of milliseconds.
std::expected<std::chrono::milliseconds, std::string> parse_duration(std::string_view text);

// To the nearest millisecond.
std::expected<std::chrono::milliseconds, std::string> duration_from_seconds(double seconds);

// What parse_duration() reads back, if it is one that it takes.
std::string to_text(std::chrono::milliseconds duration);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
