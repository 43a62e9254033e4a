#include "handoff/sizing.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace handoff {
namespace {

using namespace std::chrono_literals;

constexpr double infinite = std::numeric_limits<double>::infinity();

std::string message_of(const Surge& surge) {
  try {
    static_cast<void>(capacity_for(surge));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Sizing, WhatComesInFasterThanItIsDonePilesUp) {
  EXPECT_EQ(capacity_for({per_second(10'000), per_second(100), 10s}), 99'000u);
  EXPECT_EQ(capacity_for({per_second(10), per_second(0), 1s}), 10u);
}

TEST(Sizing, AFractionOfAnItemNeedsAPlaceToo) {
  EXPECT_EQ(capacity_for({per_second(3), per_second(1), 1100ms}), 3u);
}

TEST(Sizing, AnInexactRateIsNotOneMoreItem) {
  for (int n = 1; n <= 1'000; ++n) {
    ASSERT_EQ(capacity_for({per_minute(n), per_second(0), 60s}), static_cast<std::size_t>(n));
    ASSERT_EQ(capacity_for({per_hour(n + 10), per_hour(10), 1h}), static_cast<std::size_t>(n));
  }
}

TEST(Sizing, ConsumersThatKeepUpNeedTheSmallestQueue) {
  EXPECT_EQ(capacity_for({per_second(100), per_second(100), 1h}), 1u);
  EXPECT_EQ(capacity_for({per_second(1), per_second(100), 1h}), 1u);
  EXPECT_EQ(capacity_for({per_second(100), per_second(1), 0s}), 1u);
}

TEST(Sizing, BadFieldsAreNamed) {
  EXPECT_EQ(message_of({per_second(-1), per_second(1), 1s}),
            "peak_rate must be a finite number of at least 0 per second, got -1");
  EXPECT_NE(message_of({per_second(infinite), per_second(1), 1s}).find("peak_rate"),
            std::string::npos);
  EXPECT_NE(message_of({per_second(1), per_second(std::nan("")), 1s}).find("drain_rate"),
            std::string::npos);
  EXPECT_EQ(message_of({per_second(1), per_second(1), -1ns}),
            "burst must be at least 0 ns, got -1 ns");
}

TEST(Sizing, MoreThanAnyCapacityIsRefused) {
  EXPECT_NE(message_of({per_second(1e300), per_second(1), 1s}).find("peak_rate"),
            std::string::npos);
  EXPECT_NE(message_of({per_second(1e12), per_second(1), Duration::max()}), "");
}

TEST(Sizing, ACapacityIsAWaitingTime) {
  EXPECT_EQ(waiting_time(1'000, per_second(100)), 10s);
  EXPECT_EQ(waiting_time(99'000, per_second(100)), 990s);
  EXPECT_EQ(waiting_time(0, per_second(100)), 0s);
  EXPECT_EQ(waiting_time(1, per_second(3)), 333'333'334ns);
}

TEST(Sizing, AWaitBeyondAllTimeIsTheLongestThereIs) {
  EXPECT_EQ(waiting_time(std::numeric_limits<std::size_t>::max(), per_second(1e-9)),
            Duration::max());
}

TEST(Sizing, WithoutAnyDrainNothingEverEnds) {
  EXPECT_THROW((void)waiting_time(1, per_second(0)), std::invalid_argument);
  EXPECT_THROW((void)waiting_time(1, per_second(-1)), std::invalid_argument);
  EXPECT_THROW((void)waiting_time(1, per_second(infinite)), std::invalid_argument);
}

}  // namespace
}  // namespace handoff
