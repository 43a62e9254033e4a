#include "handoff/tasks/retry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "handoff/tasks/duration.hpp"

namespace handoff::tasks {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr std::uint64_t least = 0, greatest = UINT64_MAX;

std::string message(const Checked& checked) { return checked ? "" : checked.error().message; }

TEST(RetryPolicy, WaitsByTheCurveOfSidekiqUnlessToldOtherwise) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.delay(1, least), 16s);
  EXPECT_EQ(policy.delay(2, least), 31s);
  EXPECT_EQ(policy.delay(5, least), 640s);
  EXPECT_EQ(policy.delay(19, least), 130'336s);
  EXPECT_EQ(policy.delay(28, least), 24h * 7);
}

TEST(RetryPolicy, AddsJitterThatGrowsWithTheAttempts) {
  const RetryPolicy policy;
  EXPECT_EQ(policy.delay(1, greatest), 26s - 1ms);
  EXPECT_EQ(policy.delay(4, greatest), 311s - 1ms);
  EXPECT_EQ(policy.delay(4, greatest / 2 + 1), 291s);
}

TEST(RetryPolicy, DoublesUpToAMostIfExponential) {
  const RetryPolicy policy{ExponentialBackoff{.base = 1s, .factor = 2, .max = 1min, .jitter = 0}};
  std::vector<milliseconds> delays;
  for (int attempt = 1; attempt <= 8; ++attempt) delays.push_back(policy.delay(attempt, greatest));
  EXPECT_THAT(delays, testing::ElementsAre(1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s));
  EXPECT_EQ(policy.delay(INT64_MAX, 0), 1min);
}

TEST(RetryPolicy, IsShortenedByAFractionalJitter) {
  const RetryPolicy exponential{ExponentialBackoff{.base = 100s, .jitter = 0.25}};
  EXPECT_EQ(exponential.delay(1, least), 100s);
  EXPECT_EQ(exponential.delay(1, greatest), 75s);
  const RetryPolicy fixed{FixedBackoff{.delay = 10s, .jitter = 1}};
  EXPECT_EQ(fixed.delay(1, least), 10s);
  EXPECT_LT(fixed.delay(1, greatest), 1ms);
}

TEST(RetryPolicy, StaysTheSameIfFixed) {
  const RetryPolicy policy{FixedBackoff{.delay = 30s}};
  EXPECT_EQ(policy.delay(1, 17), 30s);
  EXPECT_EQ(policy.delay(1000, greatest), 30s);
  EXPECT_EQ((RetryPolicy{FixedBackoff{.delay = 0s}}.delay(1, 0)), 0s);
}

TEST(RetryPolicy, TakesAnAttemptBelowOneForTheFirst) {
  EXPECT_EQ(RetryPolicy().delay(0, least), 16s);
  EXPECT_EQ(RetryPolicy().delay(INT64_MIN, least), 16s);
}

TEST(RetryPolicy, IsCheckedWithTheNameOfTheField) {
  EXPECT_TRUE(RetryPolicy().check());
  EXPECT_TRUE(RetryPolicy{ExponentialBackoff()}.check());
  EXPECT_TRUE(RetryPolicy{FixedBackoff()}.check());
  const double nan = std::nan("");
  EXPECT_EQ(message(RetryPolicy{ExponentialBackoff{.base = 0s}}.check()),
            "backoff.base must be 1ms to 3650d, got 0s");
  EXPECT_EQ(message(RetryPolicy{ExponentialBackoff{.factor = 0.5}}.check()),
            "backoff.factor must be 1 to 100, got 0.5");
  EXPECT_EQ(message(RetryPolicy{ExponentialBackoff{.factor = nan}}.check()),
            "backoff.factor must be 1 to 100, got nan");
  EXPECT_EQ(message(RetryPolicy{ExponentialBackoff{.base = 2s, .max = 1s}}.check()),
            "backoff.max must be 2s to 3650d, got 1s");
  EXPECT_EQ(message(RetryPolicy{ExponentialBackoff{.jitter = 2}}.check("queue.backoff")),
            "queue.backoff.jitter must be 0 to 1, got 2");
  EXPECT_EQ(message(RetryPolicy{FixedBackoff{.delay = -1s}}.check()),
            "backoff.delay must be 0s to 3650d, got -1s");
  EXPECT_EQ(message(RetryPolicy{FixedBackoff{.jitter = nan}}.check()),
            "backoff.jitter must be 0 to 1, got nan");
}

double any_double() {
  constexpr double inf = std::numeric_limits<double>::infinity();
  return *rc::gen::oneOf(rc::gen::arbitrary<double>(),
                         rc::gen::element(0.0, 1.0, 2.0, -1.0, 1e308, inf, -inf, std::nan("")));
}

RetryPolicy any_policy() {
  const auto any_ms = [] {
    return milliseconds(
        *rc::gen::oneOf(rc::gen::arbitrary<std::int64_t>(),
                        rc::gen::element<std::int64_t>(0, 1, INT64_MAX, INT64_MIN)));
  };
  switch (*rc::gen::inRange(0, 3)) {
    case 0: return {};
    case 1: return {FixedBackoff{.delay = any_ms(), .jitter = any_double()}};
    default:
      return {ExponentialBackoff{
          .base = any_ms(), .factor = any_double(), .max = any_ms(), .jitter = any_double()}};
  }
}

RC_GTEST_PROP(RetryPolicy, IsBoundedWhateverItIsMadeOf,
              (std::int64_t attempt, std::uint64_t random)) {
  const auto policy = any_policy();
  const auto delay = policy.delay(attempt, random);
  RC_ASSERT(delay >= 0ms);
  RC_ASSERT(delay <= policy.longest());
  RC_ASSERT(policy.longest() <= longest_duration);
  RC_ASSERT(delay == policy.delay(attempt, random));
}

RC_GTEST_PROP(RetryPolicy, DoesNotShrinkFromAttemptToAttempt, (std::uint64_t random)) {
  const auto attempt = *rc::gen::inRange<std::int64_t>(1, 1000);
  for (const auto& policy :
       {RetryPolicy(), RetryPolicy{ExponentialBackoff()}, RetryPolicy{FixedBackoff()}})
    RC_ASSERT(policy.delay(attempt, random) <= policy.delay(attempt + 1, random));
}

}  // namespace
}  // namespace handoff::tasks
