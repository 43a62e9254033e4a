#include "handoff/sizing.hpp"

#include <fmt/core.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string_view>

namespace handoff::inline HANDOFF_FLAVOUR {

namespace {

void check_rate(std::string_view field, Rate rate) {
  if (std::isfinite(rate.per_second) && rate.per_second >= 0) return;
  throw std::invalid_argument(fmt::format(
      "{} must be a finite number of at least 0 per second, got {}", field, rate.per_second));
}

}  // namespace

std::size_t capacity_for(const Surge& surge) {
  check_rate("peak_rate", surge.peak_rate);
  check_rate("drain_rate", surge.drain_rate);
  if (surge.burst < Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("burst must be at least 0 ns, got {} ns", surge.burst.count()));
  }
  const long double seconds = static_cast<long double>(surge.burst.count()) / 1e9L;
  const long double peak = static_cast<long double>(surge.peak_rate.per_second);
  const long double drain = static_cast<long double>(surge.drain_rate.per_second);
  // A rate such as 100 a minute is not exact: what it is off by must not count as one more item.
  const long double inexact = peak * seconds * 4 * std::numeric_limits<double>::epsilon();
  const long double piled_up = std::ceil((peak - drain) * seconds - inexact);
  if (piled_up >= static_cast<long double>(std::numeric_limits<std::size_t>::max())) {
    throw std::invalid_argument(fmt::format(
        "peak_rate must be less for that burst: {} per second for {} s is more than any capacity",
        surge.peak_rate.per_second, static_cast<double>(seconds)));
  }
  return piled_up < 1 ? 1 : static_cast<std::size_t>(piled_up);
}

Duration waiting_time(std::size_t backlog, Rate drain_rate) {
  if (!std::isfinite(drain_rate.per_second) || drain_rate.per_second <= 0) {
    throw std::invalid_argument(fmt::format(
        "drain_rate must be a finite number above 0 per second, got {}", drain_rate.per_second));
  }
  const long double nanoseconds = std::ceil(static_cast<long double>(backlog) * 1e9L /
                                            static_cast<long double>(drain_rate.per_second));
  if (nanoseconds >= static_cast<long double>(Duration::max().count())) return Duration::max();
  return Duration(static_cast<Duration::rep>(nanoseconds));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
