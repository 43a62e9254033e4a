// How long a task that failed waits for its next attempt.
//
//   RetryPolicy policy;                                                     // the default curve, below
//   policy = {ExponentialBackoff{.base = 1s, .factor = 2, .max = 1h}};     // 1 s, 2 s, 4 s, ... 1 h
//   policy = {FixedBackoff{.delay = 30s}};
//   auto wait = policy.delay(attempt, random_bits);                         // after the attempt of that number, from 1 on
//
// The default is attempt^4 + 15 seconds, plus up to 10 seconds for each attempt so far: the curve of Sidekiq. Many quick tries first, for a
// hiccup; then for hours and days, for what somebody has to repair.
//
//   after attempt   waits at least   and below   in all, about
//         1             16 s            26 s           21 s
//         2             31 s            51 s            1 min
//         3             96 s           126 s            3 min
//         4            271 s           311 s            8 min
//         5           10.7 min        11.5 min         19 min
//         7             40 min          41 min         82 min
//        10            2.8 h           2.8 h            7 h
//        15           14.1 h          14.1 h            2 days
//        19           36.2 h          36.3 h          6.5 days     of 20 attempts, the default, the last begins after this wait
//        24            3.8 days        3.8 days        20 days
//        28 on         7   days        7   days
//
// Jitter: tasks that failed together, because something was down, should not come back together. Where it is a fraction it makes delays shorter, never
// longer: with 0.25 they are between 75 and 100 % of what they would be.
//
// Pure: the same attempt and the same random bits give the same delay.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>
#include <variant>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/limits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// min(attempt^4 + 15 s, 7 days), and below 10 s * min(attempt, 100) more.
struct SidekiqBackoff {
  friend bool operator==(const SidekiqBackoff&, const SidekiqBackoff&) = default;
};

// base * factor^(attempt - 1), at most `max`.
struct ExponentialBackoff {
  std::chrono::milliseconds base = std::chrono::seconds(1);  // 1 ms to 3650d.
  double factor = 2;                                         // 1 to 100.
  std::chrono::milliseconds max = std::chrono::hours(1);     // `base` to 3650d.
  double jitter = 0.25;                                      // 0 to 1.

  friend bool operator==(const ExponentialBackoff&, const ExponentialBackoff&) = default;
};

struct FixedBackoff {
  std::chrono::milliseconds delay = std::chrono::seconds(30);  // 0 to 3650d.
  double jitter = 0;                                           // 0 to 1.

  friend bool operator==(const FixedBackoff&, const FixedBackoff&) = default;
};

struct RetryPolicy {
  std::variant<SidekiqBackoff, ExponentialBackoff, FixedBackoff> backoff = {};

  // How long to wait after attempt number `attempt`, which is 1 after the first. Less counts as 1. `random` is 64 random bits. Never negative, never
  // above longest(); also if the policy is not valid.
  std::chrono::milliseconds delay(std::int64_t attempt, std::uint64_t random) const;

  // No delay is longer.
  std::chrono::milliseconds longest() const;

  // Whether all numbers are within the limits above. Fields are called "<field>.base" and so on.
  [[nodiscard]] Checked check(std::string_view field = "backoff") const;

  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
