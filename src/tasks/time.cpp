#include "handoff/tasks/time.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "tasks/ascii.hpp"
#include "tasks/quoted.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

namespace chrono = std::chrono;
using chrono::milliseconds;

// Reads from the front; after the first thing that is not there, nothing is.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  unsigned digits(std::size_t count) {
    unsigned number = 0;
    for (std::size_t i = 0; i < count; ++i) {
      good_ = good_ && i < rest_.size() && is_digit(rest_[i]);
      if (!good_) return 0;
      number = number * 10 + static_cast<unsigned>(rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  void one_of(std::string_view allowed) { good_ = take(allowed) != '\0'; }
  // The character if it is one of these, else 0.
  char take(std::string_view allowed) {
    if (!good_ || rest_.empty() || allowed.find(rest_.front()) == std::string_view::npos)
      return '\0';
    const char taken = rest_.front();
    rest_.remove_prefix(1);
    return taken;
  }
  // Digits after a decimal point, as milliseconds.
  milliseconds fraction() {
    int number = 0;
    std::size_t count = 0;
    for (; good_ && count < rest_.size() && is_digit(rest_[count]); ++count)
      if (count < 3) number = number * 10 + (rest_[count] - '0');
    good_ = good_ && count > 0;
    if (!good_) return {};
    rest_.remove_prefix(count);
    for (; count < 3; ++count) number *= 10;
    return milliseconds(number);
  }
  bool is_good() const { return good_; }
  bool is_done() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

std::unexpected<std::string> not_a_time(std::string_view text) {
  return std::unexpected(
      fmt::format("must be a time as in RFC 3339, such as \"2026-12-01T09:30:00Z\" or "
                  "\"2026-12-01T09:30:00+01:00\"; got {}",
                  quoted(text)));
}

std::unexpected<std::string> no_such(std::string_view what, std::string_view text) {
  return std::unexpected(
      fmt::format("must be a time that exists; the {} is wrong in {}", what, quoted(text)));
}

}  // namespace

std::expected<Time, std::string> parse_time(std::string_view text) {
  Reader reader(text);
  const unsigned year = reader.digits(4);
  reader.one_of("-");
  const unsigned month = reader.digits(2);
  reader.one_of("-");
  const unsigned day = reader.digits(2);
  reader.one_of("Tt");
  const unsigned hour = reader.digits(2);
  reader.one_of(":");
  const unsigned minute = reader.digits(2);
  reader.one_of(":");
  const unsigned second = reader.digits(2);
  const milliseconds fraction = reader.take(".") ? reader.fraction() : milliseconds(0);
  chrono::minutes offset(0);
  unsigned offset_hour = 0, offset_minute = 0;
  if (!reader.take("Zz")) {
    const char sign = reader.take("+-");
    if (sign == '\0') return not_a_time(text);
    offset_hour = reader.digits(2);
    reader.one_of(":");
    offset_minute = reader.digits(2);
    offset = chrono::hours(offset_hour) + chrono::minutes(offset_minute);
    if (sign == '-') offset = -offset;
  }
  if (!reader.is_done()) return not_a_time(text);

  if (month < 1 || month > 12) return no_such("month", text);
  const auto date =
      chrono::year(static_cast<int>(year)) / static_cast<int>(month) / static_cast<int>(day);
  if (!date.ok()) return no_such("day", text);
  if (hour > 23) return no_such("hour", text);
  if (minute > 59) return no_such("minute", text);
  if (second > 59) return no_such("second", text);
  if (offset_hour > 23 || offset_minute > 59) return no_such("offset", text);

  const Time time = chrono::sys_days(date) + chrono::hours(hour) + chrono::minutes(minute) +
                    chrono::seconds(second) + fraction - offset;
  if (time < earliest_time || time > latest_time)
    return std::unexpected(fmt::format("must be in the years 1970 to 2199, got {}", quoted(text)));
  return time;
}

std::string to_text(Time time) {
  constexpr Time first = chrono::sys_days(chrono::year(0) / 1 / 1);
  constexpr Time last = Time(chrono::sys_days(chrono::year(10'000) / 1 / 1)) - milliseconds(1);
  time = std::clamp(time, first, last);
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
