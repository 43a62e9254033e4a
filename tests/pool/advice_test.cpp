#include "handoff/advice.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

// 8 workers, 100 ms a job.
detail::PoolMeasurements eight_workers() {
  return {.label = "WorkerPool \"photos\"",
          .workers = 8,
          .finished = 1000,
          .busy = 100s,
          .peak_arrivals = 10'000};
}

TEST(Advice, SaysWhatWouldAbsorbTheBurst) {
  const auto advice = detail::advise(eight_workers(), {.burst = 10s});
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->service_time, 100ms);
  EXPECT_NEAR(advice->drain_rate.per_second, 80, 1e-6);
  EXPECT_EQ(advice->capacity, 99'200u);
  EXPECT_EQ(advice->workers, 1000u);
  EXPECT_EQ(std::chrono::round<std::chrono::seconds>(advice->longest_wait), 1240s);
  EXPECT_EQ(
      advice->sentence,
      "WorkerPool \"photos\": its 8 workers do 80 jobs a second (100 ms each); 10,000 a second "
      "for 10 s leave 99,200 waiting: a capacity of 99,200 absorbs them, and the last of them "
      "waits 20 min 40 s; 1,000 workers would keep up.");
}

TEST(Advice, SaysThatNothingIsNeeded) {
  const auto advice = detail::advise(eight_workers(), {.peak_rate = per_second(40), .burst = 10s});
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->capacity, 1u);
  EXPECT_EQ(advice->workers, 4u);
  EXPECT_EQ(
      advice->sentence,
      "WorkerPool \"photos\": its 8 workers do 80 jobs a second (100 ms each); 40 a second for "
      "10 s leave none waiting: 4 workers would do.");
}

TEST(Advice, IsNotAGuess) {
  auto too_few = eight_workers();
  too_few.finished = 19;
  EXPECT_FALSE(detail::advise(too_few, {.burst = 10s}));
  auto no_time = eight_workers();
  no_time.busy = 0s;
  EXPECT_FALSE(detail::advise(no_time, {.burst = 10s}));
  auto no_arrivals = eight_workers();
  no_arrivals.peak_arrivals = 0;
  EXPECT_FALSE(detail::advise(no_arrivals, {.burst = 10s}));
  EXPECT_TRUE(detail::advise(no_arrivals, {.peak_rate = per_second(1), .burst = 10s}));
  EXPECT_FALSE(detail::advise(eight_workers(), {.peak_rate = per_second(1e30), .burst = 10s}));
  no_arrivals.peak_arrivals = std::nan("");
  EXPECT_FALSE(detail::advise(no_arrivals, {.burst = 10s}));
}

TEST(Advice, RefusesAQuestionThatMakesNoSense) {
  EXPECT_THROW((void)detail::advise(eight_workers(), {.burst = 0s}), std::invalid_argument);
  EXPECT_THROW((void)detail::advise(eight_workers(), {.peak_rate = per_second(-1), .burst = 1s}),
               std::invalid_argument);
}

TEST(Advice, ComesFromWhatAPoolMeasured) {
  testing::ManualClock clock;
  WorkerPool pool{{.workers = 1, .capacity = 1000, .name = "clerk"}};
  EXPECT_FALSE(pool.advice({.burst = 1s}));
  // Twenty-five jobs of 40 ms each by a clock that only the jobs move.
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(pool.submit([&] { clock.advance(40ms); })->get());
    testing::eventually([&] { return pool.stats().idle == 1; });
  }
  const auto advice = pool.advice({.peak_rate = per_second(100), .burst = 1s});
  ASSERT_TRUE(advice);
  EXPECT_EQ(advice->service_time, 40ms);
  EXPECT_EQ(advice->capacity, 75u);
  EXPECT_EQ(advice->workers, 4u);
  // One job each 40 ms was offered.
  EXPECT_NEAR(advice->arrivals.per_second, 25, 10);
}

}  // namespace
}  // namespace handoff
