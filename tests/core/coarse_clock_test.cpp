#include "handoff/detail/core/coarse_clock.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "handoff/clock.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using detail::coarse_deadline;
using detail::coarse_now;

TEST(CoarseClock, IsNeverAheadOfTheClock) {
  for (int i = 0; i < 1000; ++i) {
    const auto coarse = coarse_now();
    ASSERT_LE(coarse, now());
  }
}

TEST(CoarseClock, GivesNoDeadlineThatIsEarly) {
  for (int i = 0; i < 1000; ++i) {
    for (const Duration patience :
         {Duration(0), Duration(1ms), Duration(999ms), Duration(1s), Duration(24h)}) {
      const auto before = now();
      ASSERT_GE(coarse_deadline(patience).when(), before + patience) << patience.count();
    }
  }
}

TEST(CoarseClock, GivesNoDeadlineThatIsMuchTooLate) {
  for (int i = 0; i < 1000; ++i) {
    const auto when = coarse_deadline(10s).when();
    ASSERT_LE(when, now() + 10s + 10ms);
  }
}

TEST(CoarseClock, KnowsPatienceWithoutEnd) {
  EXPECT_TRUE(coarse_deadline(Duration::max()).is_never());
}

TEST(CoarseClock, IsTheClockThatIsInstalled) {
  testing::ManualClock clock;
  const auto start = now();
  EXPECT_EQ(coarse_now(), start);
  EXPECT_EQ(coarse_deadline(10s).when(), start + 10s);
}

}  // namespace
}  // namespace handoff
