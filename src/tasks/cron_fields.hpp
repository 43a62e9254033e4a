// The five fields of a cron expression, and the local times that match them. Knows calendars, but no time zones.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class CronFields {
 public:
  // "0 3 * * *". The error names the field and says what is allowed there.
  static std::expected<CronFields, std::string> parse(std::string_view text);

  // The first whole minute at or after `from` that matches. Nothing if none in the ten years after it does: then none ever will.
  std::optional<std::chrono::local_seconds> next(std::chrono::local_seconds from) const;

  // Whether hours are counted rather than given: the hour field has a * or a step.
  bool counts_hours() const { return counts_hours_; }

 private:
  bool matches(std::chrono::local_days day) const;
  // The first matching minute of a day at or after `from`, in minutes since midnight.
  std::optional<unsigned> next_minute(unsigned from) const;

  // A bit for each value.
  std::uint64_t minutes_ = 0;
  std::uint64_t hours_ = 0;
  std::uint64_t days_ = 0;
  std::uint64_t months_ = 0;
  std::uint64_t weekdays_ = 0;  // 0 is Sunday, and 7 is never set.
  bool either_day_ = false;     // Both days are restricted: one of them is enough.
  bool counts_hours_ = false;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
