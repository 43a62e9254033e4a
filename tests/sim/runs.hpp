// How much is simulated: HANDOFF_RUNS in the environment says how many schedules each test tries; fewer, if nothing is
// said, where each is slow.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "handoff/testing/simulate.hpp"
#include "support/sanitized.hpp"

namespace handoff::tests {

inline constexpr std::uint64_t default_runs = is_sanitized ? 1'000 : 10'000;

inline std::uint64_t runs_asked_for() {
  const char* const text = std::getenv("HANDOFF_RUNS");
  const std::uint64_t asked = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return asked == 0 ? default_runs : asked;
}
inline const std::uint64_t runs = runs_asked_for();
// For bodies that take more steps than others, such as those of pools.
inline const std::uint64_t some_runs = runs / 2;
inline constexpr std::uint64_t most_exhaustive = 2'000'000;

inline void report_schedules(const char* what, const testing::Simulated& done) {
  std::printf("%s: %llu schedules\n", what, static_cast<unsigned long long>(done.runs));
}

}  // namespace handoff::tests
