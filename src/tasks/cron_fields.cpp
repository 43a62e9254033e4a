#include "tasks/cron_fields.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <vector>

#include "tasks/ascii.hpp"
#include "tasks/nearest.hpp"
#include "tasks/quoted.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

namespace chrono = std::chrono;

using Bits = std::uint64_t;
using Error = std::unexpected<std::string>;

constexpr Bits bit(unsigned value) { return Bits{1} << value; }

struct Field {
  std::string_view name;
  unsigned least, most;
  std::span<const std::string_view> names = {};  // The first is that of `least`.
  std::string_view allowed = {};
};

constexpr std::array<std::string_view, 12> month_names{"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                       "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> weekday_names{"SUN", "MON", "TUE", "WED",
                                                        "THU", "FRI", "SAT"};

constexpr unsigned last_weekday = 6, other_sunday = 7;

constexpr Field minute_field{"minute", 0, 59, {}, "0 to 59"};
constexpr Field hour_field{"hour", 0, 23, {}, "0 to 23"};
constexpr Field day_field{"day of month", 1, 31, {}, "1 to 31"};
constexpr Field month_field{"month", 1, 12, month_names, "1 to 12 or JAN to DEC"};
constexpr Field weekday_field{"day of week", 0, other_sunday, weekday_names,
                              "0 to 7 or SUN to SAT"};

// What * stands for: Sunday once.
unsigned most_of_all(const Field& field) {
  return field.most == other_sunday ? last_weekday : field.most;
}

Error wrong_value(const Field& field, std::string_view got) {
  return Error(fmt::format("{} must be {}, got {}{}", field.name, field.allowed, quoted(got),
                           did_you_mean(got, field.names)));
}

// More than any field takes, if there are too many digits.
std::optional<unsigned> number(std::string_view text) {
  if (text.empty()) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    if (value < 10'000) value = value * 10 + static_cast<unsigned>(c - '0');
  }
  return value;
}

std::expected<unsigned, std::string> value_of(std::string_view text, const Field& field) {
  const auto value = number(text);
  if (value && *value >= field.least && *value <= field.most) return *value;
  for (unsigned i = 0; i < field.names.size(); ++i)
    if (same_but_for_case(text, field.names[i])) return field.least + i;
  return wrong_value(field, text);
}

struct Range {
  unsigned first, last;
};

Error runs_backwards(std::string_view text, Range range, const Field& field) {
  const auto tail = range.last == field.least ? fmt::format("{}", field.least)
                                              : fmt::format("{}-{}", field.least, range.last);
  return Error(fmt::format("{}: the range {} runs backwards; write \"{}-{},{}\"", field.name,
                           quoted(text), range.first, most_of_all(field), tail));
}

// *, 5 or 8-17. With a step after it, 5 means "from 5 on".
std::expected<Range, std::string> range_of(std::string_view text, const Field& field,
                                           bool has_step) {
  if (text == "*") return Range{field.least, most_of_all(field)};
  const auto dash = text.find('-');
  const auto first = value_of(text.substr(0, dash), field);
  if (!first) return Error(first.error());
  if (dash == std::string_view::npos)
    return Range{*first, has_step ? std::max(*first, most_of_all(field)) : *first};
  const auto last = value_of(text.substr(dash + 1), field);
  if (!last) return Error(last.error());
  Range range{*first, *last};
  if (range.last < range.first && field.most == other_sunday && range.last == 0)
    range.last = other_sunday;  // FRI-SUN
  if (range.last < range.first) return runs_backwards(text, range, field);
  return range;
}

// One part of a list: a range, and perhaps a step.
std::expected<Bits, std::string> part_of(std::string_view text, const Field& field) {
  const auto slash = text.find('/');
  const bool has_step = slash != std::string_view::npos;
  const auto range = range_of(text.substr(0, slash), field, has_step);
  if (!range) return Error(range.error());
  unsigned step = 1;
  if (has_step) {
    const auto given = number(text.substr(slash + 1));
    if (!given || *given == 0 || *given > field.most)
      return Error(fmt::format("{}: the step must be 1 to {}, got {}", field.name, field.most,
                               quoted(text)));
    step = *given;
  }
  Bits bits = 0;
  for (unsigned value = range->first; value <= range->last; value += step) bits |= bit(value);
  return bits;
}

std::expected<Bits, std::string> bits_of(std::string_view text, const Field& field) {
  Bits bits = 0;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != std::string_view::npos;
    const auto part = part_of(text.substr(0, comma), field);
    if (!part) return part;
    bits |= *part;
    if (more) text.remove_prefix(comma + 1);
  }
  return bits;
}

std::vector<std::string_view> split(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  std::vector<std::string_view> words;
  while (true) {
    const auto begin = text.find_first_not_of(blanks);
    if (begin == std::string_view::npos) return words;
    text.remove_prefix(begin);
    const auto end = std::min(text.find_first_of(blanks), text.size());
    words.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

}  // namespace

std::expected<CronFields, std::string> CronFields::parse(std::string_view text) {
  const auto words = split(text);
  if (words.size() != 5)
    return Error(
        fmt::format("needs five fields (minute, hour, day of month, month, day of week), or one of "
                    "@hourly, @daily, "
                    "@weekly, @monthly, @yearly, @every 90s; got {} in {}",
                    words.size(), quoted(text)));
  CronFields fields;
  const std::array targets{&fields.minutes_, &fields.hours_, &fields.days_, &fields.months_,
                           &fields.weekdays_};
  const std::array kinds{&minute_field, &hour_field, &day_field, &month_field, &weekday_field};
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto bits = bits_of(words[i], *kinds[i]);
    if (!bits) return Error(bits.error());
    *targets[i] = *bits;
  }
  if (fields.weekdays_ & bit(other_sunday))
    fields.weekdays_ = (fields.weekdays_ | bit(0)) & ~bit(other_sunday);
  fields.either_day_ = !words[2].starts_with('*') && !words[4].starts_with('*');
  fields.counts_hours_ = words[1].find_first_of("*/") != std::string_view::npos;
  return fields;
}

bool CronFields::matches(chrono::local_days day) const {
  const bool by_date = days_ & bit(static_cast<unsigned>(chrono::year_month_day(day).day()));
  const bool by_weekday = weekdays_ & bit(chrono::weekday(day).c_encoding());
  return either_day_ ? by_date || by_weekday : by_date && by_weekday;
}

std::optional<unsigned> CronFields::next_minute(unsigned from) const {
  unsigned minute = from % 60;
  for (unsigned hour = from / 60; hour < 24; ++hour, minute = 0) {
    if (!(hours_ & bit(hour))) continue;
    if (const Bits left = minutes_ >> minute << minute; left != 0)
      return hour * 60 + static_cast<unsigned>(std::countr_zero(left));
  }
  return std::nullopt;
}

std::optional<chrono::local_seconds> CronFields::next(chrono::local_seconds from) const {
  const auto first_minute = chrono::ceil<chrono::minutes>(from);
  auto day = chrono::floor<chrono::days>(first_minute);
  auto minute = static_cast<unsigned>((first_minute - day).count());
  // 29 February comes after eight years at the latest.
  for (const auto last = day + chrono::years(10); day < last; minute = 0) {
    const chrono::year_month_day date(chrono::floor<chrono::days>(day));
    if (!(months_ & bit(static_cast<unsigned>(date.month())))) {
      day = chrono::local_days((date.year() / date.month() + chrono::months(1)) / 1);
      continue;
    }
    if (matches(day))
      if (const auto found = next_minute(minute)) return day + chrono::minutes(*found);
    day += chrono::days(1);
  }
  return std::nullopt;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
