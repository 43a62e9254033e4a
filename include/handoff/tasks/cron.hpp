// When a recurring task is due: cron expressions, in a time zone.
//
//   auto nightly = Cron::parse("0 3 * * *", "Europe/Berlin");       // std::expected<Cron, Invalid>
//   auto due = nightly->next(to_time(std::chrono::system_clock::now()));
//
//   minute        0-59                  *          each
//   hour          0-23                  1,15       these
//   day of month  1-31                  8-17       from, to
//   month         1-12 or JAN-DEC       */15       every 15th: 0, 15, 30, 45
//   day of week   0-7 or SUN-SAT        8-17/2     every second of these
//                 (0 and 7: Sunday)     5/20       every 20th from 5 on
//
//   @hourly   0 * * * *        @weekly    0 0 * * 0     @yearly (@annually)   0 0 1 1 *
//   @daily    0 0 * * *        @monthly   0 0 1 * *     @every 90s            counted from an anchor, whatever the clocks on the wall show
//
// If both days are restricted, either will do: "0 0 13 * FRI" is due on every 13th and on every Friday. A field that begins with * does not count
// as restricted; then both must match. So it is in every cron.
//
// Daylight saving. Clocks are set, so that some local times do not exist and others come twice.
// - If the hours are given (3, 8-17, 0,12), a time means one moment of that day. One that is skipped is due right after the gap, once, together with
//   whatever else falls into it; one that comes twice is due the first time only. What is due every night is due every night.
// - If the hours are counted (* or a step, as in */2), real hours count: due in every minute in which a clock on the wall shows a time
//   that matches. "30 * * * *" is due in both of two equal hours, and not in a skipped one.
//
// Time zones are those of the system (/usr/share/zoneinfo, Debian package tzdata), read by parse(). UTC needs no such files.
// Thread safety: a value that does not change.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/limits.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class Cron {
 public:
  // Names are taken in either case, fields are separated by spaces or tabs. An error's field is "cron" or "timezone"; its message names the
  // field of the expression and what is allowed there, or the name of the time zone that may have been meant.
  static std::expected<Cron, Invalid> parse(std::string_view expression,
                                            std::string_view timezone = "UTC");

  // The first moment later than `after` at which it is due. Nothing if there is none: on 30 February, and after the year 2399.
  // `@every` is due at the anchor plus once, twice, ... its duration; the others have no use for it.
  std::optional<Time> next(Time after, Time anchor = earliest_time) const;

  const std::string& expression() const;  // As it was given.
  const std::string& timezone() const;

 private:
  struct Data;
  explicit Cron(std::shared_ptr<const Data> data) : data_(std::move(data)) {}

  std::shared_ptr<const Data> data_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
