#include "tasks/posix_zone.hpp"

#include <algorithm>
#include <array>

#include "tasks/ascii.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace chrono = std::chrono;
using chrono::seconds;

// Reads from the front; each part is nothing if it is not there.
class PosixZone::Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  bool is_done() const { return rest_.empty(); }
  bool is_next(char c) const { return rest_.starts_with(c); }
  bool take(char c) {
    if (!is_next(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  // CET, or <+0330>.
  bool abbreviation() {
    if (take('<')) {
      const auto end = rest_.find('>');
      if (end == std::string_view::npos || end < 3) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::size_t size = 0;
    while (size < rest_.size() && is_letter(rest_[size])) ++size;
    rest_.remove_prefix(size);
    return size >= 3;
  }

  std::optional<unsigned> number(unsigned least, unsigned most) {
    unsigned value = 0;
    std::size_t digits = 0;
    for (; digits < rest_.size() && digits < 3 && is_digit(rest_[digits]); ++digits)
      value = value * 10 + static_cast<unsigned>(rest_[digits] - '0');
    rest_.remove_prefix(digits);
    if (digits == 0 || value < least || value > most) return std::nullopt;
    return value;
  }

  // [+-]hh[:mm[:ss]]
  std::optional<seconds> clock_time(unsigned most_hours) {
    const bool is_negative = take('-');
    if (!is_negative) take('+');
    const auto hours = number(0, most_hours);
    if (!hours) return std::nullopt;
    seconds time = chrono::hours(*hours);
    if (take(':')) {
      const auto minutes = number(0, 59);
      if (!minutes) return std::nullopt;
      time += chrono::minutes(*minutes);
      if (take(':')) {
        const auto more = number(0, 59);
        if (!more) return std::nullopt;
        time += seconds(*more);
      }
    }
    return is_negative ? -time : time;
  }

  // POSIX counts westwards.
  std::optional<seconds> offset() {
    const auto west = clock_time(24);
    if (!west) return std::nullopt;
    return -*west;
  }

  // ,M3.5.0/2 or ,J60 or ,59
  std::optional<Date> date() {
    if (!take(',')) return std::nullopt;
    Date date;
    if (!day(date)) return std::nullopt;
    if (take('/')) {
      const auto time = clock_time(167);
      if (!time) return std::nullopt;
      date.time = *time;
    }
    return date;
  }

 private:
  bool day(Date& date) {
    using enum Date::Kind;
    if (take('M')) {
      date.kind = month_week_day;
      return set(date.month, number(1, 12)) && take('.') && set(date.week, number(1, 5)) &&
             take('.') && set(date.weekday, number(0, 6));
    }
    if (take('J')) {
      date.kind = day_without_29_february;
      return set(date.day, number(1, 365));
    }
    date.kind = day_of_year;
    return set(date.day, number(0, 365));
  }

  static bool set(unsigned& to, std::optional<unsigned> value) {
    if (value) to = *value;
    return value.has_value();
  }

  std::string_view rest_;
};

std::optional<PosixZone> PosixZone::parse(std::string_view rule) {
  Reader reader(rule);
  PosixZone zone;
  if (!reader.abbreviation()) return std::nullopt;
  const auto standard = reader.offset();
  if (!standard) return std::nullopt;
  zone.standard_ = *standard;
  if (reader.is_done()) return zone;

  Daylight daylight;
  if (!reader.abbreviation()) return std::nullopt;
  daylight.offset = zone.standard_ + chrono::hours(1);
  if (!reader.is_next(',')) {
    const auto offset = reader.offset();
    if (!offset) return std::nullopt;
    daylight.offset = *offset;
  }
  const auto begin = reader.date();
  const auto end = begin ? reader.date() : std::nullopt;
  if (!end || !reader.is_done()) return std::nullopt;
  daylight.begin = *begin;
  daylight.end = *end;
  zone.daylight_ = daylight;
  return zone;
}

chrono::local_seconds PosixZone::Date::in(chrono::year year) const {
  const chrono::local_days new_year(year / 1 / 1);
  switch (kind) {
    case Kind::month_week_day: {
      const auto in_month = year / chrono::month(month);
      const chrono::weekday which(weekday);
      const auto date = week == 5 ? chrono::local_days(in_month / which[chrono::last])
                                  : chrono::local_days(in_month / which[week]);
      return date + time;
    }
    case Kind::day_without_29_february:
      return new_year + chrono::days(day - 1) + chrono::days(year.is_leap() && day >= 60 ? 1 : 0) +
             time;
    case Kind::day_of_year: break;
  }
  return new_year + chrono::days(day) + time;
}

ZoneSpan PosixZone::at(chrono::sys_seconds time) const {
  if (!daylight_) return {beginning_of_time, end_of_time, standard_};

  struct Change {
    chrono::sys_seconds when;
    bool
        to_daylight;  // Comes last of two at once: a zone that has daylight saving all year is written so.
    auto operator<=>(const Change&) const = default;
  };
  const auto to_utc = [](chrono::local_seconds local, seconds offset) {
    return chrono::sys_seconds(local.time_since_epoch() - offset);
  };
  std::array<Change, 6> changes;
  auto year = chrono::year_month_day(chrono::floor<chrono::days>(time)).year() - chrono::years(1);
  for (std::size_t i = 0; i < changes.size(); i += 2, ++year) {
    changes[i] = {to_utc(daylight_->begin.in(year), standard_), true};
    changes[i + 1] = {to_utc(daylight_->end.in(year), daylight_->offset), false};
  }
  std::ranges::sort(changes);
  const auto after = std::ranges::upper_bound(changes, time, {}, &Change::when);
  // A year is longer than any rule reaches beyond its own: there is one before and one after.
  const auto last = std::prev(after);
  return {last->when, after->when, last->to_daylight ? daylight_->offset : standard_};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
