// Cron against a slow reference: one that asks the C library for the local time of every minute and looks whether it is due.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bitset>
#include <iterator>
#include <map>

#include "handoff/tasks/cron.hpp"
#include "support/sanitized.hpp"
#include "tasks/libc_zone.hpp"

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;
using std::chrono::floor;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::sys_days;

using LocalMinute = std::chrono::local_time<minutes>;
using SysMinute = std::chrono::sys_time<minutes>;

// What clocks show in every minute of a time.
struct Walk {
  SysMinute begin;
  std::vector<LocalMinute> shown;
};

Walk walk(const std::string& zone, sys_days begin, sys_days end) {
  Walk walk{begin, {}};
  const LibcZone libc(zone);
  for (SysMinute minute = begin; minute < end; minute += 1min)
    walk.shown.emplace_back(floor<minutes>(minute.time_since_epoch() + libc.offset(minute)));
  return walk;
}

struct Place {
  const char* zone;
  sys_days begin, end;
};

// Each around something strange. Begin and end are days on which no clock is set.
const std::vector<Place> years{
    {"Europe/Berlin", 2025y / 12 / 1, 2027y / 12 / 1},
    {"Australia/Lord_Howe", 2026y / 1 / 1, 2027y / 1 / 1},  // Half an hour.
    {"Pacific/Apia", 2011y / 2 / 1, 2013y / 2 / 1},         // No 30 December 2011.
    {"Africa/Casablanca", 2024y / 1 / 1, 2026y / 1 / 1},    // Back for Ramadan, and forth again.
    {"America/New_York", 2040y / 1 / 1, 2041y / 1 / 1},     // By the rule: the file ends in 2037.
    {"Africa/Cairo", 2024y / 1 / 1, 2025y / 1 / 1},         // At midnight.
    {"America/Sao_Paulo", 2017y / 7 / 1, 2018y / 7 / 1},    // At midnight, forwards.
    {"Europe/Dublin", 2026y / 1 / 1, 2027y / 1 / 1},        // Winter time is the exception.
    {"Pacific/Kwajalein", 1993y / 5 / 1, 1993y / 12 / 1},   // No 21 August 1993.
    {"Asia/Kathmandu", 1985y / 6 / 1, 1986y / 6 / 1},       // By a quarter of an hour.
    {"America/Caracas", 2007y / 6 / 1, 2008y / 6 / 1},      // Back by half an hour.
    {"UTC", 2027y / 12 / 1, 2028y / 4 / 1}};

// The days around those on which clocks are set; some with a 29 February, where they never are.
std::vector<Place> days_of_change(const Place& place) {
  std::vector<Place> found;
  const LibcZone libc(place.zone);
  for (sys_days day = place.begin; day < place.end; day += days(1)) {
    if (libc.offset(day) == libc.offset(day + days(1))) continue;
    found.push_back({place.zone, day - days(2), day + days(3)});
  }
  if (found.empty()) found.push_back({place.zone, place.end - days(35), place.end - days(30)});
  return found;
}

// Years are long where nothing is optimised: there the days that matter have to do.
std::vector<Place> all_places() {
  if (!tests::is_sanitized) return years;
  std::vector<Place> all;
  for (const Place& place : years)
    std::ranges::copy(days_of_change(place), std::back_inserter(all));
  return all;
}
const std::vector<Place> places = all_places();

const Walk& walk_of(const Place& place) {
  static std::map<const Place*, Walk> walks;
  const auto found = walks.find(&place);
  return found != walks.end()
             ? found->second
             : walks.emplace(&place, walk(place.zone, place.begin, place.end)).first->second;
}

using Values = std::bitset<64>;

// An expression and what it means, made together: so that nothing has to be parsed.
struct Expression {
  std::string text;
  Values minutes, hours, days, months, weekdays;
  bool counts_hours = false;
  bool any_day = false, any_weekday = false;
};

bool is_due(const Expression& expression, LocalMinute time) {
  const auto day = floor<days>(time);
  const auto minute = static_cast<unsigned>((time - day).count());
  if (!expression.minutes.test(minute % 60) || !expression.hours.test(minute / 60)) return false;
  const std::chrono::year_month_day date(day);
  if (!expression.months.test(static_cast<unsigned>(date.month()))) return false;
  const bool by_date = expression.days.test(static_cast<unsigned>(date.day()));
  const bool by_weekday = expression.weekdays.test(std::chrono::weekday(day).c_encoding());
  return expression.any_day || expression.any_weekday ? by_date && by_weekday
                                                      : by_date || by_weekday;
}

std::vector<Time> due_by_walking(const Expression& expression, const Walk& walk) {
  std::vector<Time> due;
  LocalMinute latest = walk.shown.front() - 1min;  // That has been shown so far.
  for (std::size_t i = 0; i < walk.shown.size(); ++i) {
    const LocalMinute shown = walk.shown[i];
    bool now = expression.counts_hours && is_due(expression, shown);
    for (; latest < shown; latest += 1min)
      now = now || (!expression.counts_hours && is_due(expression, latest + 1min));
    if (now) due.push_back(walk.begin + minutes(i));
  }
  return due;
}

std::vector<Time> due_by_cron(const Expression& expression, const Place& place) {
  const auto cron = Cron::parse(expression.text, place.zone);
  if (!cron) throw std::runtime_error(cron.error().message);
  std::vector<Time> due;
  for (auto time = cron->next(place.begin - 1ms); time && *time < place.end;
       time = cron->next(*time))
    due.push_back(*time);
  return due;
}

// A field, and the values it stands for. Mostly sparse, so that there is not too much to compare.
std::string any_field(unsigned least, unsigned most, Values& values, bool may_have_star = true) {
  const auto value = [&] { return *rc::gen::inRange(least, most + 1); };
  const auto add = [&](unsigned first, unsigned last, unsigned step) {
    for (unsigned i = first; i <= last; i += step) values.set(i);
  };
  switch (*rc::gen::inRange(may_have_star ? 0 : 2, 6)) {
    case 0: add(least, most, 1); return "*";
    case 1: {
      const auto step = *rc::gen::inRange(1u, most + 1);
      add(least, most, step);
      return fmt::format("*/{}", step);
    }
    case 2: {
      const auto first = value(), last = std::max(first, value());
      add(first, last, 1);
      return fmt::format("{}-{}", first, last);
    }
    case 3: {
      const auto first = value(), last = std::max(first, value()),
                 step = *rc::gen::inRange(1u, most + 1);
      add(first, last, step);
      return fmt::format("{}-{}/{}", first, last, step);
    }
    case 4: {
      const auto one = value(), other = value();
      values.set(one).set(other);
      return fmt::format("{},{}", one, other);
    }
    default: {
      const auto only = value();
      values.set(only);
      return fmt::format("{}", only);
    }
  }
}

Expression any_expression() {
  Expression e;
  const auto minute = any_field(0, 59, e.minutes);
  // The hours at which clocks are set, more often than others.
  const auto hour =
      *rc::gen::arbitrary<bool>() ? any_field(0, 3, e.hours, false) : any_field(0, 23, e.hours);
  const auto day = any_field(1, 31, e.days), month = any_field(1, 12, e.months),
             weekday = any_field(0, 6, e.weekdays);
  e.counts_hours = hour.find_first_of("*/") != hour.npos;
  e.any_day = day.starts_with('*');
  e.any_weekday = weekday.starts_with('*');
  e.text = fmt::format("{} {} {} {} {}", minute, hour, day, month, weekday);
  return e;
}

RC_GTEST_PROP(CronReference, IsDueWhenTheClocksOnTheWallSaySo, ()) {
  const auto& place = places[*rc::gen::inRange<std::size_t>(0, places.size())];
  auto expression = any_expression();
  RC_LOG() << expression.text << " in " << place.zone << '\n';
  const auto expected = due_by_walking(expression, walk_of(place));
  const auto actual = due_by_cron(expression, place);
  const auto [one, other] = std::ranges::mismatch(expected, actual);
  if (one != expected.end()) RC_LOG() << "expected " << to_text(*one) << '\n';
  if (other != actual.end()) RC_LOG() << "but got " << to_text(*other) << '\n';
  RC_ASSERT(expected.size() == actual.size());
  RC_ASSERT(one == expected.end());
}

TEST(CronReference, AgreesInEveryPlaceOnWhatPeopleWrite) {
  const auto all = [](unsigned least, unsigned most, unsigned step = 1) {
    Values values;
    for (unsigned i = least; i <= most; i += step) values.set(i);
    return values;
  };
  const auto only = [&](unsigned value) { return all(value, value); };
  const auto every_day = [&](std::string text, Values minute, Values hour, bool counts_hours) {
    return Expression{std::move(text), minute,       hour, all(1, 31), all(1, 12),
                      all(0, 6),       counts_hours, true, true};
  };
  const std::vector<Expression> expressions{
      every_day("@hourly", only(0), all(0, 23), true),
      every_day("@daily", only(0), only(0), false),
      every_day("* * * * *", all(0, 59), all(0, 23), true),
      every_day("30 2 * * *", only(30), only(2), false),
      every_day("15 0,1,2,3 * * *", only(15), all(0, 3), false),
      every_day("*/20 0-3 * * *", all(0, 59, 20), all(0, 3), false),
      every_day("0 */2 * * *", only(0), all(0, 23, 2), true)};
  for (const auto& place : places)
    for (const auto& expression : expressions) {
      ASSERT_EQ(due_by_walking(expression, walk_of(place)), due_by_cron(expression, place))
          << expression.text << " in " << place.zone;
    }
}

// From anywhere, not only from one time it was due to the next.
RC_GTEST_PROP(CronReference, NextIsTheFirstOfThoseThatAreLater, ()) {
  const auto& place = places[*rc::gen::inRange<std::size_t>(0, places.size())];
  const auto expression = any_expression();
  const auto expected = due_by_walking(expression, walk_of(place));
  const auto cron = Cron::parse(expression.text, place.zone).value();
  const std::int64_t length = (place.end - place.begin) / 1ms;
  for (int i = 0; i < 20; ++i) {
    const Time after =
        place.begin + std::chrono::milliseconds(*rc::gen::inRange<std::int64_t>(0, length));
    const auto later = std::ranges::upper_bound(expected, after);
    if (later == expected.end()) continue;
    RC_LOG() << expression.text << " in " << place.zone << " after " << to_text(after) << '\n';
    RC_ASSERT(cron.next(after) == std::optional(*later));
  }
}

}  // namespace
}  // namespace handoff::tasks
