// The rule at the end of a time zone's file, for all the years after those it lists: "CET-1CEST,M3.5.0,M10.5.0/3". As in POSIX's TZ, with
// the extension of RFC 9636: hours from -167 to 167.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// A time in which local time is UTC + offset: from `begin` until just before `end`.
struct ZoneSpan {
  std::chrono::sys_seconds begin;
  std::chrono::sys_seconds end;
  std::chrono::seconds offset;
};

// The bounds of spans that have none. Offsets can be added to them.
inline constexpr std::chrono::sys_seconds beginning_of_time{
    std::chrono::seconds(-(std::int64_t{1} << 60))};
inline constexpr std::chrono::sys_seconds end_of_time{std::chrono::seconds(std::int64_t{1} << 60)};

class PosixZone {
 public:
  static std::optional<PosixZone> parse(std::string_view rule);

  // For times in the years -9999 to 9999.
  ZoneSpan at(std::chrono::sys_seconds time) const;

 private:
  // A day of each year, and a time on it.
  struct Date {
    enum class Kind : std::uint8_t { month_week_day, day_without_29_february, day_of_year };
    Kind kind = Kind::month_week_day;
    unsigned month = 1, week = 1, weekday = 0;  // The fifth week is the last.
    unsigned day = 0;                           // From 1 on without 29 February, else from 0 on.
    std::chrono::seconds time = std::chrono::hours(2);

    std::chrono::local_seconds in(std::chrono::year year) const;
  };
  struct Daylight {
    std::chrono::seconds offset{};
    Date begin, end;
  };
  class Reader;

  std::chrono::seconds standard_{};
  std::optional<Daylight> daylight_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
