#include "handoff/barrier.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <future>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "support/await_sleep.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using Result = std::expected<void, Refusal>;

std::future<Result> arrive_elsewhere(Barrier& barrier, Wait wait = {}) {
  return std::async(std::launch::async, [&barrier, wait] { return barrier.arrive_and_wait(wait); });
}

TEST(Barrier, NobodyPassesBeforeAllHaveCome) {
  Barrier barrier{{.parties = 3}};
  auto first = arrive_elsewhere(barrier);
  auto second = arrive_elsewhere(barrier);
  eventually([&] { return barrier.stats().waiting_consumers == 2; });
  EXPECT_TRUE(barrier.arrive_and_wait());
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST(Barrier, CanBeUsedAgainAndAgainAndCompletesOncePerMeeting) {
  constexpr std::size_t parties = 4;
  constexpr int rounds = 300;
  // Not atomic: the barrier must order all of this.
  int completions = 0;
  std::vector<int> done(parties, 0);
  Barrier barrier{{.parties = parties}, [&] {
                    ++completions;
                    for (const int each : done) EXPECT_EQ(each, completions);
                  }};
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < parties; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < rounds; ++i) {
          ++done[t];
          EXPECT_TRUE(barrier.arrive_and_wait());
        }
      });
    }
  }
  EXPECT_EQ(completions, rounds);
  EXPECT_EQ(barrier.stats().takes, static_cast<std::uint64_t>(rounds));
}

TEST(Barrier, TheCompletionRunsBeforeAnybodyGoesOn) {
  std::atomic<bool> completed{false};
  Barrier barrier{{.parties = 2}, [&] { completed = true; }};
  auto other = std::async(std::launch::async, [&] {
    EXPECT_TRUE(barrier.arrive_and_wait());
    return completed.load();
  });
  EXPECT_TRUE(barrier.arrive_and_wait());
  EXPECT_TRUE(completed);
  EXPECT_TRUE(other.get());
}

TEST(Barrier, AThrowingCompletionReachesTheLastToComeAndTheOthersGoOn) {
  Barrier barrier{{.parties = 2}, [] { throw std::runtime_error("completion"); }};
  auto other = arrive_elsewhere(barrier);
  eventually([&] { return barrier.stats().waiting_consumers == 1; });
  EXPECT_THROW((void)barrier.arrive_and_wait(), std::runtime_error);
  EXPECT_TRUE(other.get());
}

TEST(Barrier, ARefusedArrivalHasNotHappened) {
  ManualClock clock;
  Barrier barrier{{.parties = 2}};
  auto late = arrive_elsewhere(barrier, {.deadline = within(1s)});
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(late.get(), Result(std::unexpected(Refusal::timed_out)));
  EXPECT_EQ(barrier.stats().size, 0u);

  auto other = arrive_elsewhere(barrier);
  eventually([&] { return barrier.stats().waiting_consumers == 1; });
  EXPECT_TRUE(barrier.arrive_and_wait());
  EXPECT_TRUE(other.get());
}

TEST(Barrier, AStopEndsAWaitAndRefusesALaterArrival) {
  Barrier barrier{{.parties = 2}};
  std::stop_source stop;
  auto stopped = arrive_elsewhere(barrier, {.stop = stop.get_token()});
  eventually([&] { return barrier.stats().waiting_consumers == 1; });
  stop.request_stop();
  EXPECT_EQ(stopped.get(), Result(std::unexpected(Refusal::stopped)));
  EXPECT_EQ(barrier.arrive_and_wait({.stop = stop.get_token()}),
            Result(std::unexpected(Refusal::stopped)));
}

TEST(Barrier, AnArrivalCannotBeRefusedOnceAllHaveCome) {
  std::stop_source stop;
  Event is_completing;
  Event may_finish;
  Barrier barrier{{.parties = 2}, [&] {
                    is_completing.set();
                    (void)may_finish.wait();
                  }};
  auto first = arrive_elsewhere(barrier, {.stop = stop.get_token()});
  eventually([&] { return barrier.stats().waiting_consumers == 1; });
  auto last = arrive_elsewhere(barrier);
  ASSERT_TRUE(is_completing.wait());
  stop.request_stop();
  tests::await_sleep();  // It has got up, and waits on, for the completion.
  EXPECT_EQ(barrier.stats().waiting_consumers, 1u);
  may_finish.set();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(last.get());
  EXPECT_EQ(barrier.stats().refused, 0u);
}

TEST(Barrier, TheOthersGoOnWithoutOneThatDrops) {
  Barrier barrier{{.parties = 3}};
  auto first = arrive_elsewhere(barrier);
  auto second = arrive_elsewhere(barrier);
  eventually([&] { return barrier.stats().waiting_consumers == 2; });
  barrier.arrive_and_drop();
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());

  auto third = arrive_elsewhere(barrier);  // Two make a meeting now.
  EXPECT_TRUE(barrier.arrive_and_wait());
  EXPECT_TRUE(third.get());
}

TEST(Barrier, NoPartiesAndTooManyThreadsAreBrokenContracts) {
  EXPECT_THROW(Barrier({.parties = 0}), std::invalid_argument);
  Barrier barrier{{.parties = 1}};
  barrier.arrive_and_drop();
  EXPECT_THROW((void)barrier.arrive_and_wait(), std::logic_error);
}

}  // namespace
}  // namespace handoff
