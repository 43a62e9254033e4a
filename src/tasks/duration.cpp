#include "handoff/tasks/duration.hpp"

#include <fmt/core.h>

#include <array>
#include <cmath>
#include <cstdint>

#include "tasks/ascii.hpp"
#include "tasks/quoted.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

using std::chrono::milliseconds;

struct Unit {
  std::string_view name;
  std::int64_t ms;
};
// Largest first.
constexpr std::array units{Unit{"d", 86'400'000}, Unit{"h", 3'600'000}, Unit{"m", 60'000},
                           Unit{"s", 1000}, Unit{"ms", 1}};

// Milliseconds in one of it; 0 if there is no such unit.
constexpr std::int64_t size_of(std::string_view unit) {
  if (unit.empty()) return 1000;
  for (const auto& known : units)
    if (known.name == unit) return known.ms;
  return 0;
}

std::unexpected<std::string> not_a_duration(std::string_view text) {
  return std::unexpected(
      fmt::format("must be a number with a unit (ms, s, m, h or d), such as \"250ms\" or \"2h\", "
                  "or a number of seconds; got {}",
                  quoted(text)));
}

std::unexpected<std::string> too_long(std::string_view shown) {
  return std::unexpected(
      fmt::format("must be at most {}, got {}", to_text(longest_duration), shown));
}

std::unexpected<std::string> negative(std::string_view shown) {
  return std::unexpected(fmt::format("must not be negative, got {}", shown));
}

// Takes the digits at the front of `text`; gives more than `longest_duration` in any unit if there are too many.
std::int64_t take_digits(std::string_view& text) {
  std::int64_t number = 0;
  while (!text.empty() && is_digit(text.front())) {
    if (number <= longest_duration.count()) number = number * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  return number;
}

// Milliseconds in the fraction of a unit that these digits are; below 0 if that is no whole number.
std::int64_t fraction_of(std::string_view digits, std::int64_t unit) {
  digits = digits.substr(0, digits.find_last_not_of('0') + 1);
  // A day has 2^10 * 3^3 * 5^5 milliseconds: 11 digits are never whole. The product below fits.
  if (digits.size() > 10) return -1;
  std::int64_t power = 1;
  for (std::size_t i = 0; i < digits.size(); ++i) power *= 10;
  const std::int64_t product = take_digits(digits) * unit;
  return product % power == 0 ? product / power : -1;
}

}  // namespace

std::expected<milliseconds, std::string> parse_duration(std::string_view text) {
  std::string_view rest = text;
  if (rest.size() > 1 && rest.front() == '-' && is_digit(rest[1])) return negative(quoted(text));
  if (rest.empty() || !is_digit(rest.front())) return not_a_duration(text);

  const std::int64_t whole = take_digits(rest);
  std::string_view fraction;
  if (rest.size() > 1 && rest.front() == '.' && is_digit(rest[1])) {
    rest.remove_prefix(1);
    fraction = rest;
    (void)take_digits(rest);
    fraction.remove_suffix(rest.size());
  }
  const std::int64_t unit = size_of(rest);
  if (unit == 0) return not_a_duration(text);
  if (whole > longest_duration.count() / unit) return too_long(quoted(text));
  const std::int64_t part = fraction_of(fraction, unit);
  if (part < 0)
    return std::unexpected(
        fmt::format("must be a whole number of milliseconds, got {}", quoted(text)));
  if (whole * unit + part > longest_duration.count()) return too_long(quoted(text));
  return milliseconds(whole * unit + part);
}

std::expected<milliseconds, std::string> duration_from_seconds(double seconds) {
  if (std::isnan(seconds)) return not_a_duration("nan");
  if (seconds < 0) return negative(fmt::format("{}", seconds));
  if (seconds > std::chrono::duration<double>(longest_duration).count())
    return too_long(fmt::format("{} seconds", seconds));
  return milliseconds(std::llround(seconds * 1000));
}

std::string to_text(milliseconds duration) {
  if (duration.count() == 0) return "0s";
  for (const auto& unit : units)
    if (duration.count() % unit.ms == 0)
      return fmt::format("{}{}", duration.count() / unit.ms, unit.name);
  return {};  // Not reached: the last unit is 1.
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
