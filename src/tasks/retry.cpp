#include "handoff/tasks/retry.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "handoff/tasks/duration.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {
namespace {

namespace chrono = std::chrono;
using chrono::milliseconds;

constexpr milliseconds sidekiq_most = chrono::days(7);
constexpr milliseconds sidekiq_jitter = chrono::seconds(10);  // For each attempt,
constexpr std::int64_t sidekiq_jitter_attempts = 100;         // up to this one.

// From 0 to just below 1.
double as_fraction(std::uint64_t random) { return static_cast<double>(random >> 11) * 0x1p-53; }

// A duration that is one: not negative, not too long, and 0 if it is no number.
milliseconds bounded(double ms, milliseconds most) {
  if (!(ms > 0)) return milliseconds(0);
  if (ms >= static_cast<double>(most.count())) return most;
  return milliseconds(static_cast<std::int64_t>(ms));
}

milliseconds bounded(milliseconds duration) {
  return std::clamp(duration, milliseconds(0), longest_duration);
}

double shortened(double ms, double jitter, double fraction) {
  return ms * (1 - std::clamp(jitter, 0.0, 1.0) * fraction);
}

milliseconds delay_of(const SidekiqBackoff&, std::int64_t attempt, double fraction) {
  const auto n = static_cast<double>(attempt);
  const milliseconds curve = bounded((n * n * n * n + 15) * 1000, sidekiq_most);
  const milliseconds jitter = sidekiq_jitter * std::min(attempt, sidekiq_jitter_attempts);
  return curve + bounded(static_cast<double>(jitter.count()) * fraction, jitter);
}

milliseconds delay_of(const ExponentialBackoff& backoff, std::int64_t attempt, double fraction) {
  const auto grown = static_cast<double>(backoff.base.count()) *
                     std::pow(backoff.factor, static_cast<double>(attempt - 1));
  const milliseconds most = bounded(backoff.max);
  const auto full = static_cast<double>(bounded(grown, most).count());
  return bounded(shortened(full, backoff.jitter, fraction), most);
}

milliseconds delay_of(const FixedBackoff& backoff, std::int64_t, double fraction) {
  const milliseconds full = bounded(backoff.delay);
  return bounded(shortened(static_cast<double>(full.count()), backoff.jitter, fraction), full);
}

milliseconds longest_of(const SidekiqBackoff&) {
  return sidekiq_most + sidekiq_jitter * sidekiq_jitter_attempts;
}
milliseconds longest_of(const ExponentialBackoff& backoff) { return bounded(backoff.max); }
milliseconds longest_of(const FixedBackoff& backoff) { return bounded(backoff.delay); }

Checked check_number(double number, double least, double most, const std::string& field) {
  if (number >= least && number <= most) return {};  // Not so for NaN.
  return std::unexpected(
      Invalid{field, fmt::format("{} must be {} to {}, got {}", field, least, most, number)});
}

Checked check_backoff(const SidekiqBackoff&, std::string_view) { return {}; }

Checked check_backoff(const ExponentialBackoff& backoff, std::string_view field) {
  if (auto good = check_range(backoff.base, milliseconds(1), longest_duration,
                              fmt::format("{}.base", field));
      !good)
    return good;
  if (auto good = check_number(backoff.factor, 1, 100, fmt::format("{}.factor", field)); !good)
    return good;
  if (auto good =
          check_range(backoff.max, backoff.base, longest_duration, fmt::format("{}.max", field));
      !good)
    return good;
  return check_number(backoff.jitter, 0, 1, fmt::format("{}.jitter", field));
}

Checked check_backoff(const FixedBackoff& backoff, std::string_view field) {
  if (auto good = check_delay(backoff.delay, fmt::format("{}.delay", field)); !good) return good;
  return check_number(backoff.jitter, 0, 1, fmt::format("{}.jitter", field));
}

}  // namespace

milliseconds RetryPolicy::delay(std::int64_t attempt, std::uint64_t random) const {
  attempt = std::max<std::int64_t>(attempt, 1);
  const double fraction = as_fraction(random);
  return std::visit([&](const auto& chosen) { return delay_of(chosen, attempt, fraction); },
                    backoff);
}

milliseconds RetryPolicy::longest() const {
  return std::visit([](const auto& chosen) { return longest_of(chosen); }, backoff);
}

Checked RetryPolicy::check(std::string_view field) const {
  return std::visit([&](const auto& chosen) { return check_backoff(chosen, field); }, backoff);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
