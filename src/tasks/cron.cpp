// Two ways from local times to moments, for the two kinds of hours.
//
// Given hours: a local time l means the first moment at which the clock on the wall shows l or more. Where clocks go steadily that is when it
// shows l; if l is skipped it is the end of the gap; if l comes twice it is the first time. As clocks are put back, what they have shown
// before does not count again: so the next moment belongs to the first l that is later than anything they ever showed.
//
// Counted hours: a moment is due if the clock shows a time that matches. Each span with one offset is searched for itself.
#include "handoff/tasks/cron.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "handoff/tasks/duration.hpp"
#include "tasks/ascii.hpp"
#include "tasks/cron_fields.hpp"
#include "tasks/quoted.hpp"
#include "tasks/time_zone.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

namespace chrono = std::chrono;
using chrono::local_seconds;
using chrono::milliseconds;
using chrono::seconds;
using chrono::sys_seconds;

constexpr std::size_t longest_expression = 512;
constexpr std::string_view every = "@every";
constexpr milliseconds shortest_period = seconds(1);

// Calendars and time zones are certain to work in these.
constexpr Time first_time = chrono::sys_days(chrono::year(1900) / 1 / 1);
constexpr Time last_time = chrono::sys_days(chrono::year(2400) / 1 / 1);

// No clock has been put back by more than a day.
constexpr seconds longest_repetition = chrono::days(2);

constexpr std::array<std::pair<std::string_view, std::string_view>, 7> shorthands{
    {{"@hourly", "0 * * * *"},
     {"@daily", "0 0 * * *"},
     {"@midnight", "0 0 * * *"},
     {"@weekly", "0 0 * * 0"},
     {"@monthly", "0 0 1 * *"},
     {"@yearly", "0 0 1 1 *"},
     {"@annually", "0 0 1 1 *"}}};

local_seconds local(sys_seconds time, seconds offset) {
  return local_seconds(time.time_since_epoch() + offset);
}
sys_seconds utc(local_seconds time, seconds offset) {
  return sys_seconds(time.time_since_epoch() - offset);
}

// Later than all that clocks have shown up to `moment`.
local_seconds first_unseen(const TimeZone& zone, sys_seconds moment) {
  ZoneSpan span = zone.at(moment);
  local_seconds unseen = local(moment, span.offset) + seconds(1);
  while (span.begin > moment - longest_repetition) {
    const ZoneSpan before = zone.at(span.begin - seconds(1));
    unseen = std::max(unseen, local(span.begin, before.offset));
    span = before;
  }
  return unseen;
}

// For given hours.
std::optional<sys_seconds> next_given(const CronFields& fields, const TimeZone& zone,
                                      sys_seconds after) {
  const auto wanted = fields.next(first_unseen(zone, after));
  if (!wanted) return std::nullopt;
  for (ZoneSpan span = zone.at(after);; span = zone.at(span.end)) {
    if (span.begin > after && local(span.begin, span.offset) >= *wanted) return span.begin;
    if (utc(*wanted, span.offset) < span.end) return utc(*wanted, span.offset);
  }
}

// For counted hours.
std::optional<sys_seconds> next_counted(const CronFields& fields, const TimeZone& zone,
                                        sys_seconds after) {
  sys_seconds from = after + seconds(1);
  while (from < last_time) {
    const ZoneSpan span = zone.at(from);
    const auto wanted = fields.next(local(from, span.offset));
    if (!wanted) return std::nullopt;
    if (utc(*wanted, span.offset) < span.end) return utc(*wanted, span.offset);
    from = span.end;
  }
  return std::nullopt;
}

std::string_view without_blanks_around(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const auto begin = std::min(text.find_first_not_of(blanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(blanks) + 1);
}

std::unexpected<Invalid> invalid(std::string_view field, std::string_view message) {
  return std::unexpected(Invalid{std::string(field), fmt::format("{}{}", field, message)});
}

std::expected<milliseconds, Invalid> parse_period(std::string_view text) {
  const auto period = parse_duration(text);
  if (!period) return invalid("cron", fmt::format(": the time after @every {}", period.error()));
  if (*period < shortest_period)
    return invalid(
        "cron", fmt::format(": the time after @every must be at least 1s, got {}", quoted(text)));
  return *period;
}

}  // namespace

struct Cron::Data {
  std::string expression;
  std::string timezone;
  TimeZone zone;
  std::variant<CronFields, milliseconds> when;  // Milliseconds: the period of @every.
};

std::expected<Cron, Invalid> Cron::parse(std::string_view expression, std::string_view timezone) {
  if (expression.size() > longest_expression)
    return invalid("cron", fmt::format(" must be at most {} characters, got {}", longest_expression,
                                       expression.size()));
  auto zone = TimeZone::find(timezone);
  if (!zone) return invalid("timezone", " " + zone.error());
  Data data{std::string(expression), std::string(timezone), std::move(*zone), {}};

  auto text = without_blanks_around(expression);
  const auto first_word = text.substr(0, text.find_first_of(" \t"));
  if (same_but_for_case(first_word, every)) {
    const auto period = parse_period(without_blanks_around(text.substr(every.size())));
    if (!period) return std::unexpected(period.error());
    data.when = *period;
    return Cron(std::make_shared<const Data>(std::move(data)));
  }
  for (const auto& [name, meaning] : shorthands)
    if (same_but_for_case(text, name)) text = meaning;
  const auto fields = CronFields::parse(text);
  if (!fields) return invalid("cron", ": " + fields.error());
  data.when = *fields;
  return Cron(std::make_shared<const Data>(std::move(data)));
}

std::optional<Time> Cron::next(Time after, Time anchor) const {
  after = std::max(after, first_time);
  if (after >= last_time) return std::nullopt;

  if (const auto* const period = std::get_if<milliseconds>(&data_->when)) {
    anchor = std::clamp(anchor, first_time, last_time);
    const auto periods = after < anchor ? 0 : (after - anchor) / *period;
    const Time due = anchor + (periods + 1) * *period;
    return due < last_time ? std::optional(due) : std::nullopt;
  }
  const auto& fields = std::get<CronFields>(data_->when);
  const auto search = fields.counts_hours() ? next_counted : next_given;
  const auto due = search(fields, data_->zone, chrono::floor<seconds>(after));
  return due && *due < last_time ? std::optional<Time>(*due) : std::nullopt;
}

const std::string& Cron::expression() const { return data_->expression; }
const std::string& Cron::timezone() const { return data_->timezone; }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
