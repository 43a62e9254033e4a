// Scope: what is spawned into it ends before it does.
#include "handoff/scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "coro/scope_children.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/when.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;

// -- All of them end --------------------------------------------------------------------------------

TEST_F(Scopes, JoinWithNobodyInItSaysDone) {
  Scope scope;
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(scope.living(), 0u);
}

TEST_F(Scopes, JoinWaitsForThreadsJobsAndCoroutines) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  scope.spawn([&] {
    EXPECT_EQ(go.wait(), done);
    ++ended;
  });
  ASSERT_TRUE(scope.spawn(pool, [&] {
    EXPECT_EQ(go.wait(), done);
    ++ended;
  }));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  EXPECT_EQ(scope.living(), 22u);
  EXPECT_EQ(scope.join({.deadline = now()}), timed_out) << "they all wait still";
  go.set();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 22);
  EXPECT_EQ(scope.living(), 0u);
  EXPECT_FALSE(scope.stop_token().stop_requested());
}

TEST_F(Scopes, ThreadsHaveEndedWhenJoinReturns) {
  const std::size_t before = threads_now();
  Scope scope;
  for (int i = 0; i < 8; ++i) scope.spawn([] {});
  EXPECT_EQ(scope.join(), done);
  EXPECT_TRUE(eventually([&] { return threads_now() == before; }));
}

TEST_F(Scopes, ThreadsThatHaveEndedAreNotKeptUntilTheJoin) {
  const std::size_t before = threads_now();
  Scope scope;
  for (int i = 0; i < 200; ++i) {
    scope.spawn([] {});
    eventually([&] { return scope.living() == 0; });
  }
  EXPECT_TRUE(eventually([&] { return threads_now() <= before + 1; }));
  EXPECT_EQ(scope.join(), done);
}

TEST_F(Scopes, WhatCallablesAndCoroutinesHoldIsGoneWhenJoinReturns) {
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  for (int round = 0; round < 100; ++round) {
    Scope scope;
    scope.spawn([alive = Alive()] {});
    ASSERT_TRUE(scope.spawn(pool, [alive = Alive()] {}));
    std::atomic<int> count = 0;
    ASSERT_TRUE(scope.spawn(pool, counts(count)));
    ASSERT_EQ(scope.join(), done);
    ASSERT_EQ(Alive::count, 0);
    ASSERT_EQ(count, 1);
  }
}

TEST_F(Scopes, ACallableMayOnlyBeMovable) {
  std::atomic<int> sum = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  scope.spawn([&sum, value = std::make_unique<int>(3)] { sum += *value; });
  ASSERT_TRUE(scope.spawn(pool, [&sum, value = std::make_unique<int>(4)] { sum += *value; }));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(sum, 7);
}

TEST_F(Scopes, AScopeCanBeUsedAgainAfterAJoin) {
  Scope scope;
  std::atomic<int> count = 0;
  for (int i = 1; i <= 3; ++i) {
    scope.spawn([&] { ++count; });
    EXPECT_EQ(scope.join(), done);
    EXPECT_EQ(count, i);
  }
}

TEST_F(Scopes, ChildrenGetTheTokenOfTheScope) {
  std::atomic<int> seen = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  const auto token = scope.stop_token();
  scope.spawn([&](const std::stop_token& stop) { seen += stop == token; });
  ASSERT_TRUE(scope.spawn(pool, [&](const std::stop_token& stop) { seen += stop == token; }));
  const auto coroutine = [](std::stop_token expected, std::atomic<int>& count) -> Lazy<> {
    const auto stop = co_await current_stop();
    count += stop == expected;
  };
  ASSERT_TRUE(scope.spawn(pool, coroutine(token, seen)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(seen, 3);
}

TEST_F(Scopes, RequestStopStopsTheChildrenAndIsNoError) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  scope.spawn(waiting_for_stop(nothing, ended));
  ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
  ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  eventually([&] { return waiting(nothing) == 3; });
  scope.request_stop();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 3);
}

// -- Where coroutines run ---------------------------------------------------------------------------

TEST_F(Scopes, SpawnWithoutAPoolRunsWhereTheCallingCoroutineDoes) {
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  const auto parent = [](std::atomic<int>& count) -> Lazy<> {
    Scope scope;
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(scope.spawn(counts(count)));
    const auto joined = co_await scope.async_join();
    EXPECT_EQ(joined, done);
  };
  std::atomic<int> on_pool = 0;
  auto future = spawn(pool, parent(on_pool));
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), done);
  EXPECT_EQ(on_pool, 10);

  std::atomic<int> here = 0;
  sync_wait(parent(here));
  EXPECT_EQ(here, 10);
}

TEST_F(Scopes, SpawnWithoutAPoolThrowsOutsideACoroutine) {
  std::atomic<int> count = 0;
  Scope scope;
  EXPECT_THROW((void)scope.spawn(counts(count)), std::logic_error);
  scope.spawn([&] { EXPECT_THROW((void)scope.spawn(counts(count)), std::logic_error); });
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 0);
}

TEST_F(Scopes, ALazyThatWasMovedFromIsAMistakeOfTheCaller) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  auto lazy = counts(count);
  const auto other = std::move(lazy);
  Scope scope;
  EXPECT_THROW(static_cast<void>(scope.spawn(pool, std::move(lazy))), std::logic_error);
  EXPECT_EQ(scope.living(), 0u);
  EXPECT_EQ(scope.join(), done);
}

TEST_F(Scopes, AThreadWaitsForCoroutinesAndACoroutineForThreads) {
  const auto parent = [](std::atomic<int>& count) -> Lazy<> {
    Scope scope;
    scope.spawn([&count] { ++count; });
    const auto joined = co_await scope.async_join();
    EXPECT_EQ(joined, done);
  };
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, parent(count)));
  EXPECT_EQ(scope.join(), done);
  sync_wait(parent(count));
  EXPECT_EQ(count, 2);
}

// -- Children that spawn ----------------------------------------------------------------------------

struct Tree {
  WorkerPool& pool;
  Scope& scope;
  std::atomic<int>& count;
};

void grow(Tree tree, int depth);

Lazy<> grown(Tree tree, int depth) {
  const Alive alive;
  grow(tree, depth);
  co_return;
}

// Two children of each kind, down to `depth`.
void grow(Tree tree, int depth) {
  ++tree.count;
  if (depth == 0) return;
  for (int i = 0; i < 2; ++i) {
    tree.scope.spawn([=, alive = Alive()] { grow(tree, depth - 1); });
    EXPECT_TRUE(tree.scope.spawn(tree.pool, [=, alive = Alive()] { grow(tree, depth - 1); }));
    EXPECT_TRUE(tree.scope.spawn(tree.pool, grown(tree, depth - 1)));
  }
}

TEST_F(Scopes, ChildrenMaySpawnChildren) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 2, .capacity = 1024}};
  Scope scope;
  grow({pool, scope, count}, 3);
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 1 + 6 + 36 + 216);
}

// -- in_scope ---------------------------------------------------------------------------------------

TEST_F(Scopes, InScopeWaitsForAllThatItsBodySpawned) {
  const auto parent = [](std::atomic<int>& count) -> Lazy<Result> {
    const auto body = [&count](Scope& scope) -> Lazy<> {
      for (int i = 0; i < 10; ++i) EXPECT_TRUE(scope.spawn(counts(count)));
      co_return;
    };
    co_return co_await in_scope(body);
  };
  std::atomic<int> count = 0;
  EXPECT_EQ(sync_wait(parent(count)), done);
  EXPECT_EQ(count, 10);
  WorkerPool pool{{.workers = 2, .capacity = 4}};
  auto future = spawn(pool, parent(count));
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), done);
  EXPECT_EQ(count, 20);
}

TEST_F(Scopes, WhatTheBodyThrowsStopsTheChildrenAndComesOut) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& ended) -> Lazy<> {
    const auto body = [&](Scope& scope) -> Lazy<> {
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(scope.spawn(waits_for_stop(queue, ended)));
      fail("the body");
      co_return;
    };
    static_cast<void>(co_await in_scope(body));
  };
  std::atomic<int> ended = 0;
  EXPECT_EQ(error_of([&] { sync_wait(parent(nothing, ended)); }), "the body");
  EXPECT_EQ(ended, 3);
}

TEST_F(Scopes, WhatAChildThrowsStopsTheBodyAndComesOut) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& ended) -> Lazy<> {
    const auto body = [&](Scope& scope) -> Lazy<> {
      EXPECT_TRUE(scope.spawn(waits_for_stop(queue, ended)));
      EXPECT_TRUE(scope.spawn(fails("a child")));
      co_await sleep_for(1ms);  // Ends before or after the child: both must do.
    };
    static_cast<void>(co_await in_scope(body));
  };
  std::atomic<int> ended = 0;
  EXPECT_EQ(error_of([&] { sync_wait(parent(nothing, ended)); }), "a child");
  EXPECT_EQ(ended, 1);
}

// The body waits with the scope's token, is refused, and says so: that is not what went wrong.
TEST_F(Scopes, AChildsErrorIsNotHiddenByWhatTheBodyMakesOfIt) {
  const auto parent = []() -> Lazy<> {
    const auto body = [](Scope& scope) -> Lazy<> {
      EXPECT_TRUE(scope.spawn(fails("the reason")));
      Event never;
      const auto waits_in_it = [](Event& event) -> Lazy<> {
        const auto waited = co_await event.async_wait();
        if (!waited) fail("a consequence");
      };
      Scope inner(scope.stop_token());
      EXPECT_TRUE(inner.spawn(waits_in_it(never)));
      static_cast<void>(co_await inner.async_join());
    };
    static_cast<void>(co_await in_scope(body));
  };
  EXPECT_EQ(error_of([&] { sync_wait(parent()); }), "the reason");
}

TEST_F(Scopes, InScopeSaysTimedOutOrStopped) {
  const auto parent = [](BlockingQueue<int>& queue, std::atomic<int>& ended,
                         Deadline deadline) -> Lazy<Result> {
    const auto body = [&](Scope& scope) -> Lazy<> {
      EXPECT_TRUE(scope.spawn(waits_for_stop(queue, ended)));
      co_return;
    };
    co_return co_await in_scope(body, {.deadline = deadline});
  };
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  EXPECT_EQ(sync_wait(parent(nothing, ended, within(1ms))), timed_out);
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return waiting(nothing) == 1; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(parent(nothing, ended, {}), stop.get_token()), stopped);
  EXPECT_EQ(ended, 2);
}

// -- sync_wait --------------------------------------------------------------------------------------

TEST_F(Scopes, UnderSyncWaitACoroutineThatForgetsToJoinDoesNotHang) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  for (const bool throws : {false, true}) {
    std::atomic<int> ended = 0;
    EXPECT_EQ(error_of([&] { sync_wait(forgets_to_join(nothing, ended, throws)); }),
              throws ? "half-way" : "nothing");
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(Scopes, WhatWasSpawnedUnderSyncWaitEndsBeforeItsLoopDoes) {
  const auto spawns = [](Scope& scope, std::atomic<int>& count) -> Lazy<> {
    EXPECT_TRUE(scope.spawn(counts(count)));
    const auto sleeps_first = [](std::atomic<int>& each) -> Lazy<> {
      co_await sleep_for(1ms);  // Suspended when the one below has returned.
      ++each;
    };
    EXPECT_TRUE(scope.spawn(sleeps_first(count)));
    co_return;
  };
  std::atomic<int> count = 0;
  Scope scope;
  sync_wait(spawns(scope, count));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(count, 2);
}

TEST_F(Scopes, SyncWaitInAChildIsStoppedWithTheScope) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Scope scope;
  scope.spawn([&] { sync_wait(waits_for_stop(nothing, ended), scope.stop_token()); });
  eventually([&] { return waiting(nothing) == 1; });
  scope.request_stop();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 1);
}

TEST_F(Scopes, AJobThatRunsOnTopOfAChildBelongsToNoScope) {
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, [&] {
    scope.request_stop();
    auto other = pool.submit([] {
      const Scope its_own;
      return its_own.stop_token().stop_requested();
    });
    ASSERT_TRUE(other);
    EXPECT_EQ(other->get(), false) << "it was not spawned into the scope";
  }));
  EXPECT_EQ(scope.join(), done);
}

}  // namespace
}  // namespace handoff
