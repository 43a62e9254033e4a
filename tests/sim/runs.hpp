// How much is simulated: HANDOFF_RUNS in the environment says how many schedules each test tries.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "handoff/testing/simulate.hpp"

namespace handoff::tests {

inline std::uint64_t runs_asked_for() {
  const char* const text = std::getenv("HANDOFF_RUNS");
  const std::uint64_t asked = text == nullptr ? 0 : std::strtoull(text, nullptr, 10);
  return asked == 0 ? 1'000 : asked;
}
inline const std::uint64_t runs = runs_asked_for();
inline constexpr std::uint64_t most_exhaustive = 2'000'000;

inline void report_schedules(const char* what, const testing::Simulated& done) {
  std::printf("%s: %llu schedules\n", what, static_cast<unsigned long long>(done.runs));
}

}  // namespace handoff::tests
