#include "handoff/clock.hpp"

#include <gtest/gtest.h>

#include <stop_token>
#include <thread>

#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::ManualClock;

TEST(Clock, ADeadlineIsNeverUnlessGiven) {
  EXPECT_TRUE(Deadline().is_never());
  EXPECT_FALSE(Deadline().has_passed());
}

TEST(Clock, WithinCountsFromNow) {
  ManualClock clock;
  const auto deadline = within(10ms);
  EXPECT_EQ(deadline.when(), clock.now() + 10ms);
  EXPECT_FALSE(deadline.has_passed());
  clock.advance(10ms);
  EXPECT_TRUE(deadline.has_passed());
}

TEST(Clock, ADelayTooLongToBeRepresentedMeansNever) {
  EXPECT_TRUE(within(std::chrono::hours::max()).is_never());
  EXPECT_TRUE(within(Duration::max()).is_never());
}

TEST(Clock, ADelayFarInThePastHasPassed) {
  EXPECT_TRUE(within(Duration::min()).has_passed());
  EXPECT_TRUE(within(std::chrono::hours::min()).has_passed());
}

TEST(Clock, AManualClockStandsStillAndThenReturnsTheRealOne) {
  {
    ManualClock clock;
    const auto start = now();
    EXPECT_EQ(now(), start);
    clock.advance(1h);
    EXPECT_EQ(now(), start + 1h);
  }
  EXPECT_LE(std::chrono::abs(now() - std::chrono::steady_clock::now()), 1min);
}

TEST(Clock, ASecondManualClockIsRefused) {
  ManualClock clock;
  EXPECT_THROW(ManualClock(), std::logic_error);
}

// As the idle threads of a pool do, which know nothing of the test.
TEST(Clock, ThreadsMayAskForTheTimeWhileAManualClockGoes) {
  std::jthread other([](const std::stop_token& stop) {
    while (!stop.stop_requested()) static_cast<void>(now());
  });
  for (int i = 0; i < 2000; ++i) ManualClock clock;
}

TEST(Clock, TimeDoesNotRunBackwards) {
  ManualClock clock;
  EXPECT_THROW(clock.advance(-1ns), std::invalid_argument);
}

TEST(Clock, SteadyClocksTimePointsAreDeadlines) {
  const Deadline deadline = std::chrono::steady_clock::now() + 1h;
  EXPECT_FALSE(deadline.has_passed());
}

}  // namespace
}  // namespace handoff
