// Scope: stopped from outside, by its deadline, by its destructor.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "coro/scope_children.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "handoff/when.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using handoff::testing::ManualClock;

// -- Stopped from outside ---------------------------------------------------------------------------

TEST_F(Scopes, AtTheDeadlineTheChildrenAreStoppedAndJoinSaysTimedOut) {
  ManualClock clock;
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  {
    Scope scope{{.deadline = within(1min)}};
    scope.spawn(waiting_for_stop(nothing, ended));
    ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
    ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
    eventually([&] { return waiting(nothing) == 3; });
    clock.advance(59s);
    EXPECT_EQ(scope.living(), 3u);
    EXPECT_FALSE(scope.stop_token().stop_requested());
    clock.advance(1s);
    EXPECT_EQ(scope.join(), timed_out);
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(Scopes, ADeadlineThatHasPassedStopsAtOnce) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Scope scope{{.deadline = now() - 1s}};
  scope.spawn(waiting_for_stop(nothing, ended));
  EXPECT_EQ(scope.join(), timed_out);
  EXPECT_EQ(ended, 1);
}

TEST_F(Scopes, WhoEndedBeforeTheDeadlineIsNotTimedOut) {
  ManualClock clock;
  {
    Scope scope{{.deadline = within(1min)}};
    scope.spawn([] {});
    eventually([&] { return scope.living() == 0; });
    clock.advance(2min);
    eventually([&] { return scope.stop_token().stop_requested(); });
    EXPECT_EQ(scope.join(), done) << "all had ended before the deadline came";
  }
}

TEST_F(Scopes, AnErrorCountsMoreThanTheDeadline) {
  ManualClock clock;
  {
    Scope scope{{.deadline = within(1min)}};
    scope.spawn([](std::stop_token stop) {
      Event never;
      EXPECT_EQ(never.wait({.stop = std::move(stop)}), stopped);
      fail("stopped half-way");
    });
    clock.advance(1min);
    EXPECT_EQ(error_of([&] { static_cast<void>(scope.join()); }), "stopped half-way");
  }
}

TEST_F(Scopes, TheTokenItFollowsStopsItAndJoinSaysStopped) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::stop_source stop;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope(stop.get_token());
  scope.spawn(waiting_for_stop(nothing, ended));
  ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  eventually([&] { return waiting(nothing) == 2; });
  stop.request_stop();
  EXPECT_EQ(scope.join(), stopped);
  EXPECT_EQ(ended, 2);
}

Lazy<Result> makes_a_scope(BlockingQueue<int>& nothing, std::atomic<int>& ended) {
  const Alive alive;
  Scope scope;
  EXPECT_TRUE(scope.spawn(waits_for_stop(nothing, ended)));
  scope.spawn(waiting_for_stop(nothing, ended));
  co_return co_await scope.async_join();
}

TEST_F(Scopes, AScopeMadeByACoroutineIsStoppedWithIt) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return waiting(nothing) == 2; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(makes_a_scope(nothing, ended), stop.get_token()), stopped);
  EXPECT_EQ(ended, 2);
}

TEST_F(Scopes, AScopeMadeByAStoppedCoroutineIsStoppedFromTheStart) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sync_wait(makes_a_scope(nothing, ended), stop.get_token()), stopped);
  EXPECT_EQ(ended, 2);
}

// Who asked for the stop has not come to the scope's turn yet when that is joined.
TEST_F(Scopes, TheMakersStopIsTheReasonAsSoonAsItIsRequested) {
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& count, Event& go,
                         Event& is_joined) -> Lazy<Result> {
    const auto stop = co_await current_stop();
    Event is_stopping;
    Scope scope;
    EXPECT_TRUE(scope.spawn(waits_for_stop(queue, count)));
    const auto hold_up = [&] {
      is_stopping.set();
      EXPECT_EQ(is_joined.wait(), done);
    };
    const std::stop_callback called_first(stop, hold_up);  // The last to come is the first.
    go.set();
    EXPECT_EQ(is_stopping.wait(), done);
    const auto joined = co_await scope.async_join();
    is_joined.set();
    co_return joined;
  };
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Event go;
  Event is_joined;
  std::stop_source stop;
  std::jthread stopper([&] {
    EXPECT_EQ(go.wait(), done);
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(parent(nothing, ended, go, is_joined), stop.get_token()), stopped);
  EXPECT_EQ(ended, 1);
}

// It does what must be done although its maker is stopped.
TEST_F(Scopes, AScopeThatFollowsAnotherTokenIsNotStoppedWithItsMaker) {
  const auto cleans_up = [](std::atomic<int>& slept) -> Lazy<Result> {
    Scope scope{std::stop_token()};
    const auto child = [](std::atomic<int>& count) -> Lazy<> {
      const auto result = co_await sleep_for(1ms);  // Any wait that a stop would end.
      count += result == done;
    };
    EXPECT_TRUE(scope.spawn(child(slept)));
    co_return co_await scope.async_join();
  };
  std::atomic<int> slept = 0;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sync_wait(cleans_up(slept), stop.get_token()), done);
  EXPECT_EQ(slept, 1);
}

TEST_F(Scopes, AThreadsWaitForTheScopeMayEndFirstAndTheChildrenGoOn) {
  ManualClock clock;
  Event go;
  {
    Scope scope;
    scope.spawn([&] { EXPECT_EQ(go.wait(), done); });
    std::stop_source stop;
    std::jthread stopper([&] {
      eventually([&] { return clock.waiting() == 1; });
      clock.advance(1min);
      eventually([&] { return clock.waiting() == 1; });
      stop.request_stop();
    });
    EXPECT_EQ(scope.join({.deadline = within(1min)}), timed_out);
    EXPECT_EQ(scope.join({.deadline = within(1min), .stop = stop.get_token()}), stopped);
    EXPECT_EQ(scope.living(), 1u);
    EXPECT_FALSE(scope.stop_token().stop_requested());
    go.set();
    EXPECT_EQ(scope.join(), done);
  }
}

TEST_F(Scopes, SeveralMayJoin) {
  Event go;
  Scope scope;
  scope.spawn([&] { EXPECT_EQ(go.wait(), done); });
  std::atomic<int> joined = 0;
  {
    std::vector<std::jthread> joiners;
    for (int i = 0; i < 6; ++i) joiners.emplace_back([&] { joined += scope.join() == done; });
    eventually([&] { return waits().size() >= 7; });
    go.set();
  }
  EXPECT_EQ(joined, 6);
}

// -- The destructor ---------------------------------------------------------------------------------

TEST_F(Scopes, TheDestructorStopsAndWaits) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  {
    Scope scope;
    scope.spawn(waiting_for_stop(nothing, ended));
    ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  }
  EXPECT_EQ(ended, 12);
}

TEST_F(Scopes, AnExceptionThatPassesTheScopeWaitsForItsChildren) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  try {
    Scope scope;
    scope.spawn(waiting_for_stop(nothing, ended));
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
    fail("outside");
  } catch (const std::exception& error) {
    EXPECT_STREQ(error.what(), "outside");
    EXPECT_EQ(ended, 11);
  }
}

TEST_F(Scopes, ACoroutineThatForgetsToJoinWaitsInTheDestructorEvenOnOneWorker) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  for (const bool throws : {false, true}) {
    std::atomic<int> ended = 0;
    auto future = spawn(pool, forgets_to_join(nothing, ended, throws));
    ASSERT_TRUE(future);
    EXPECT_EQ(error_of([&] { EXPECT_EQ(future->get(), done); }), throws ? "half-way" : "nothing");
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(Scopes, AJobThatForgetsToJoinWaitsInTheDestructorEvenOnOneWorker) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  auto future = pool.submit([&] {
    Scope scope;
    EXPECT_TRUE(scope.spawn(pool, [&] { ++ran; }));
    EXPECT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  });
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), done);
  EXPECT_EQ(ran, 1);
  EXPECT_EQ(ended, 1);
}

TEST_F(Scopes, ManyCoroutinesThatForgetToJoinOnOneWorker) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 1, .capacity = 64}};
  Scope scope;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(scope.spawn(pool, forgets_to_join(nothing, ended, false)));
  }
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 60);
}

}  // namespace
}  // namespace handoff
