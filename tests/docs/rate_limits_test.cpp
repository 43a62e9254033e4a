// The code of docs/guide/rate-limits.md.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <string>

#include "handoff/rate_limiter.hpp"
#include "handoff/sizing.hpp"

namespace {

using namespace std::chrono_literals;

struct Mail {
  std::string to;
};

int sent = 0;
void send(const Mail&) { ++sent; }

handoff::RateLimiter mails{{.rate = handoff::per_second(500), .burst = 50, .name = "mails"}};

bool send_when_allowed(const Mail& mail, std::stop_token stop) {
  if (!mails.acquire({.stop = stop})) return false;  // Waits until one more may be sent.
  send(mail);
  return true;
}

std::string answer_request() {
  if (!mails.try_acquire()) return "429 Too Many Requests";
  return "200 OK";
}

TEST(RateLimitsGuide, AcquireWaitsAndTryAcquireDoesNot) {
  std::stop_source stop;
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(send_when_allowed({"somebody"}, stop.get_token()));
  EXPECT_EQ(sent, 60);
  stop.request_stop();
  EXPECT_FALSE(send_when_allowed({"somebody"}, stop.get_token()));
  EXPECT_FALSE(answer_request().empty());
}

TEST(RateLimitsGuide, ThreeWaysToSayHowLong) {
  std::stop_source source;
  const auto stop = source.get_token();
  auto either = mails.acquire(20, {.deadline = handoff::within(1s), .stop = stop});
  auto in_time = mails.try_acquire_for(100ms);
  EXPECT_TRUE(either);
  EXPECT_TRUE(in_time);
}

TEST(RateLimitsGuide, TheRateMayChange) {
  mails.set_rate(handoff::per_minute(600));
  EXPECT_EQ(mails.rate(), handoff::one_per(100ms));
  mails.set_rate(handoff::per_second(500));
}

TEST(RateLimitsGuide, ACapacityIsPiledUpWorkAndAWaitingTime) {
  const auto capacity = handoff::capacity_for({.peak_rate = handoff::per_second(10'000),
                                               .drain_rate = handoff::per_second(100),
                                               .burst = 10s});                          // 99'000
  const auto longest_wait = handoff::waiting_time(capacity, handoff::per_second(100));  // 990 s
  EXPECT_EQ(capacity, 99'000U);
  EXPECT_EQ(longest_wait, 990s);
}

}  // namespace
