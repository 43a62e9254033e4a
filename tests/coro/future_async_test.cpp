// A future awaited, and a future as one case of a select.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/event.hpp"
#include "handoff/future.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/select.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::ManualClock;

constexpr auto ignore = [](auto&&...) {};

// One worker, which is busy until it is let go: what is handed in meanwhile has not begun.
class FutureAsync : public ::testing::Test {
 protected:
  FutureAsync() {
    pool.post([this](std::stop_token stop) { (void)go_on.wait({.stop = stop}); }).value();
    eventually([this] { return pool.stats().queued == 0; });
  }
  ~FutureAsync() override { go_on.set(); }

  Event go_on;
  WorkerPool pool{{.workers = 1, .capacity = 1'000}};
};

// -- Awaited --------------------------------------------------------------------------------------

Lazy<std::expected<int, Refusal>> get_within(Future<int>& future, Duration patience) {
  co_return co_await future.async_get(within(patience));
}

TEST_F(FutureAsync, AGetThatTimesOutLeavesTheFutureAsItWas) {
  ManualClock clock;
  auto future = *pool.submit([] { return 7; });
  std::jthread advance([&] {
    eventually([&] { return clock.waiting() >= 1; });
    clock.advance(1s);
  });
  EXPECT_EQ(sync_wait(get_within(future, 1s)), std::unexpected(Refusal::timed_out));
  EXPECT_TRUE(future.is_valid());
  go_on.set();
  EXPECT_EQ(sync_wait(get_within(future, 1h)), 7);
  EXPECT_FALSE(future.is_valid());
}

Lazy<std::expected<int, Refusal>> get(Future<int>& future) { co_return co_await future; }

TEST_F(FutureAsync, AGetThatIsStoppedLeavesTheFutureAsItWas) {
  auto future = *pool.submit([] { return 7; });
  std::stop_source stop;
  std::jthread stopping([&] {
    eventually([&] { return to_table(waits()).find("Future") != std::string::npos; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(get(future), stop.get_token()), std::unexpected(Refusal::stopped));
  EXPECT_TRUE(future.is_valid());
  go_on.set();
  EXPECT_EQ(sync_wait(get(future)), 7);
}

TEST_F(FutureAsync, TheFutureOfNothingIsRefused) {
  Future<int> nothing;
  EXPECT_THROW(sync_wait(get(nothing)), std::logic_error);
  EXPECT_THROW((void)nothing.on_ready(ignore), std::logic_error);
}

// -- In a select ----------------------------------------------------------------------------------

TEST_F(FutureAsync, SelectGetsTheResultAndUsesUpTheFuture) {
  go_on.set();
  auto future = *pool.submit([] { return std::make_unique<int>(7); });
  Channel<int> channel{0};
  int got = 0;
  EXPECT_EQ(select(channel.on_receive(ignore),
                   future.on_ready([&](std::unique_ptr<int> result) { got = *result; })),
            1U);
  EXPECT_EQ(got, 7);
  EXPECT_FALSE(future.is_valid());
}

TEST_F(FutureAsync, SelectLeavesTheFutureAloneIfAnotherCaseHappens) {
  auto future = *pool.submit([] { return 7; });
  Channel<int> channel{1};
  ASSERT_TRUE(channel.send(1));
  EXPECT_EQ(select(future.on_ready(ignore), channel.on_receive(ignore)), 1U);
  EXPECT_EQ(select(future.on_ready(ignore), otherwise([] {})), 1U);
  EXPECT_EQ(select({.deadline = within(1ns)}, future.on_ready(ignore)),
            std::unexpected(Refusal::timed_out));
  go_on.set();
  EXPECT_EQ(future.get(), 7);
}

TEST_F(FutureAsync, SelectThrowsWhatTheJobThrew) {
  go_on.set();
  auto future = *pool.submit([]() -> int { throw std::runtime_error("no paper"); });
  EXPECT_THROW((void)select(future.on_ready(ignore)), std::runtime_error);
  EXPECT_FALSE(future.is_valid());
}

TEST_F(FutureAsync, SelectReportsAJobThatWillNeverRun) {
  auto first = *pool.submit([] { return 1; });
  auto second = *pool.submit([] { return 2; });
  std::jthread ending([&] {
    eventually([&] { return to_table(waits()).find("select") != std::string::npos; });
    static_cast<void>(pool.shutdown(interrupt()));  // Destroys what it hands back.
  });
  EXPECT_EQ(select(first.on_ready([](int) { ADD_FAILURE(); })), std::unexpected(Refusal::closed));
  std::expected<int, Refusal> told;
  EXPECT_EQ(select(second.on_ready([&](std::expected<int, Refusal> result) { told = result; })),
            0U);
  EXPECT_EQ(told, std::unexpected(Refusal::closed));
}

TEST_F(FutureAsync, ACaseWhoseFutureIsUsedUpSaysSo) {
  go_on.set();
  auto future = *pool.submit([] { return 7; });
  Select list;
  list.add(future.on_ready(ignore));
  EXPECT_EQ(list.wait(), 0U);
  EXPECT_THROW((void)list.wait(), std::logic_error);
}

TEST_F(FutureAsync, AFutureOfNoResultIsACaseToo) {
  auto future = *pool.submit([] {});
  bool ran = false;
  std::jthread later([&] {
    eventually([&] { return to_table(waits()).find("select") != std::string::npos; });
    go_on.set();
  });
  EXPECT_EQ(select(future.on_ready([&] { ran = true; })), 0U);
  EXPECT_TRUE(ran);
}

// The naive select sleeps on the only worker, and what it waits for is queued behind it.
TEST(FutureSelect, AJobMaySelectFuturesOfItsOwnPool) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto outer = *pool.submit([&] {
    Event never;
    auto inner = *pool.submit([] { return 7; });
    int got = 0;
    EXPECT_TRUE(select(on_set(never, [] {}), inner.on_ready([&](int result) { got = result; })));
    return got;
  });
  EXPECT_EQ(outer.get(), 7);
}

Lazy<int> first_of(Future<int>& one, Future<int>& other) {
  int got = 0;
  const auto keep = [&](int result) { got = result; };
  (void)co_await async_select(one.on_ready(keep), other.on_ready(keep));
  co_return got;
}

TEST(FutureSelect, ACoroutineSelectsWithoutHoldingUpItsWorker) {
  Event never;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto slow = *pool.submit([&](std::stop_token stop) {
    (void)never.wait({.stop = stop});
    return 1;
  });
  WorkerPool other{{.workers = 1, .capacity = 10}};
  auto fast = *other.submit([] { return 2; });
  auto selecting = *spawn(other, first_of(slow, fast));
  EXPECT_EQ(selecting.get(), 2);
  EXPECT_TRUE(slow.is_valid());
  never.set();
  EXPECT_EQ(slow.get(), 1);
}

// -- Races ----------------------------------------------------------------------------------------

// Every result is got once, however the waits for it were cut short.
TEST(FutureSelect, EveryResultIsGotOnceWhateverEndsTheWait) {
  constexpr int rounds = 300;
  constexpr std::size_t futures = 16;
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  for (int round = 0; round < rounds; ++round) {
    std::vector<Future<int>> waiting;
    for (std::size_t i = 0; i < futures; ++i) {
      waiting.push_back(*pool.submit([i] { return static_cast<int>(i); }));
    }
    std::vector<int> seen(futures);
    Select list;
    for (auto& each : waiting) {
      list.add(each.on_ready([&](int result) { ++seen[static_cast<std::size_t>(result)]; }));
    }
    std::size_t left = futures;
    while (left > 0) {
      std::stop_source stop;
      std::jthread stopping([&] { stop.request_stop(); });
      while (auto happened = list.wait({.stop = stop.get_token()})) {
        list.remove(*happened);
        if (--left == 0) break;
      }
    }
    EXPECT_THAT(seen, ::testing::Each(1));
  }
}

}  // namespace
}  // namespace handoff
