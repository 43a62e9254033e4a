// Scope: pools that end, refuse or hand back what was spawned.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "coro/scope_children.hpp"
#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using namespace handoff::tests;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// -- Pools that end ---------------------------------------------------------------------------------

TEST_F(Scopes, AnInterruptOfThePoolStopsTheScope) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
  ASSERT_TRUE(scope.spawn(pool, waiting_for_stop(nothing, ended)));
  scope.spawn(waiting_for_stop(nothing, ended));
  eventually([&] { return waiting(nothing) == 12; });
  const auto report = pool.shutdown(interrupt());
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(scope.join(), stopped) << "the thread too";
  EXPECT_EQ(ended, 12);
  EXPECT_EQ(pool.stats().coroutines, 0u);
}

// If children that have not begun were handed back, the shutdown would wait for a job that waits for them.
TEST_F(Scopes, AnInterruptIsNotHeldUpByAJobThatJoinsJobsWhichHaveNotBegun) {
  const Log log;
  Event never;
  std::atomic<int> begun = 0;
  WorkerPool pool{{.workers = 2, .capacity = 4}};
  ASSERT_TRUE(pool.post([&] {
    Scope scope;
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(scope.spawn(pool, [&, alive = Alive()](std::stop_token stop) {
        ++begun;
        EXPECT_EQ(never.wait({.stop = std::move(stop)}), stopped);
      }));
    }
    static_cast<void>(error_of([&] { EXPECT_EQ(scope.join(), stopped); }));
  }));
  eventually([&] { return begun >= 2; });
  const auto report = pool.shutdown(interrupt(5s));
  EXPECT_THAT(report.still_running, IsEmpty());
}

TEST_F(Scopes, DestroyingThePoolStopsTheScope) {
  BlockingQueue<int> nothing{{.capacity = 1}};
  std::atomic<int> ended = 0;
  Scope scope;
  {
    WorkerPool pool{{.workers = 2, .capacity = 16}};
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for_stop(nothing, ended)));
    eventually([&] { return waiting(nothing) == 10; });
  }
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(scope.join(), stopped);
}

TEST_F(Scopes, AnOrderlyShutdownOfThePoolWaitsForTheCoroutines) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  Scope scope;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  eventually([&] { return go.stats().waiting_consumers == 10; });
  std::jthread setter([&] { go.set(); });
  const auto report = pool.shutdown(finish_within(1h));
  EXPECT_TRUE(report.is_complete());
  EXPECT_EQ(ended, 10);
  EXPECT_EQ(scope.join(), done);
}

TEST_F(Scopes, AJobThatItsPoolDroppedIsAnErrorOfTheScope) {
  const Log log;
  Event go;
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::drop_oldest}};
  ASSERT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
  eventually([&] { return pool.stats().queued == 0; });
  {
    Scope scope;
    ASSERT_TRUE(scope.spawn(pool, [alive = Alive()] {}));
    EXPECT_EQ(scope.living(), 1u);
    ASSERT_TRUE(pool.post([] {}));
    EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
  }
  {
    Scope scope;
    std::atomic<int> count = 0;
    ASSERT_TRUE(scope.spawn(pool, counts(count)));
    ASSERT_TRUE(pool.post([] {}));
    EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
    EXPECT_EQ(count, 0);
    EXPECT_EQ(pool.stats().coroutines, 0u);
  }
  go.set();
}

// Two that have not begun, of each kind one.
class HandedBack : public Scopes {
 protected:
  HandedBack() {
    EXPECT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
    eventually([&] { return pool.stats().queued == 0; });
    EXPECT_TRUE(scope.spawn(pool, [this, alive = Alive()] { ++ran; }));
    EXPECT_TRUE(scope.spawn(pool, counts(ran)));
    report.emplace(pool.shutdown(finish_within(0ms)));
    EXPECT_THAT(report->handed_back, SizeIs(2));
    EXPECT_EQ(scope.living(), 2u);
    EXPECT_EQ(pool.stats().coroutines, 0u);
    go.set();
  }

  std::atomic<int> ran = 0;
  Event go;
  Scope scope;
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  std::optional<ShutdownReport> report;
};

TEST_F(HandedBack, AndDestroyedIsAnErrorOfTheScope) {
  report.reset();
  EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
  EXPECT_EQ(ran, 0);
}

TEST_F(HandedBack, AndRunElsewhereIsNone) {
  for (Job& job : report->handed_back) job();
  EXPECT_EQ(ran, 2);
  EXPECT_EQ(scope.join(), done);
}

TEST_F(HandedBack, AndPostedToAnotherPoolIsNone) {
  WorkerPool other{{.workers = 1, .capacity = 4}};
  for (Job& job : report->handed_back) ASSERT_TRUE(other.post(std::move(job)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ran, 2);
}

TEST_F(Scopes, WhatAPoolHasNotBegunWhenItIsDestroyedIsAnErrorOfTheScope) {
  const Log log;
  std::atomic<int> ran = 0;
  Event go;
  Scope scope;
  {
    WorkerPool pool{{.workers = 1, .capacity = 4}};
    ASSERT_TRUE(pool.post(
        [&](std::stop_token stop) { EXPECT_EQ(go.wait({.stop = std::move(stop)}), stopped); }));
    eventually([&] { return pool.stats().queued == 0; });
    ASSERT_TRUE(scope.spawn(pool, [&ran, alive = Alive()] { ++ran; }));
    ASSERT_TRUE(scope.spawn(pool, counts(ran)));
  }
  EXPECT_THAT(error_of([&] { static_cast<void>(scope.join()); }), HasSubstr("dropped"));
  EXPECT_EQ(ran, 0);
}

// -- Refused ----------------------------------------------------------------------------------------

TEST_F(Scopes, ARefusedCallableOrLazyIsUntouched) {
  const Log log;
  std::atomic<int> ran = 0;
  auto held = std::make_shared<int>(1);
  auto callable = [&ran, held] { ++ran; };
  auto lazy = counts(ran);
  const auto refused_with = [&](WorkerPool& pool, Scope& scope, Refusal why,
                                const Wait& wait = {}) {
    const auto job = scope.spawn(pool, std::move(callable), wait);
    EXPECT_EQ(job, std::unexpected(why));
    const auto coroutine = scope.spawn(pool, std::move(lazy), wait);
    EXPECT_EQ(coroutine, std::unexpected(why));
    EXPECT_EQ(held.use_count(), 2);
    EXPECT_EQ(scope.living(), 0u);
    EXPECT_EQ(pool.stats().coroutines, 0u);
  };
  {
    Event go;
    WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::reject}};
    ASSERT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
    eventually([&] { return pool.stats().queued == 0; });
    ASSERT_TRUE(pool.post([] {}));
    Scope scope;
    refused_with(pool, scope, Refusal::full);
    EXPECT_EQ(scope.join(), done);
    go.set();
  }
  {
    Event go;
    WorkerPool pool{{.workers = 1, .capacity = 1}};
    ASSERT_TRUE(pool.post([&] { EXPECT_EQ(go.wait(), done); }));
    eventually([&] { return pool.stats().queued == 0; });
    ASSERT_TRUE(pool.post([] {}));
    Scope scope;
    refused_with(pool, scope, Refusal::timed_out, {.deadline = now()});
    std::stop_source stop;
    stop.request_stop();
    refused_with(pool, scope, Refusal::stopped, {.stop = stop.get_token()});
    EXPECT_EQ(scope.join(), done);
    go.set();
  }
  WorkerPool closed{{.workers = 1, .capacity = 4}};
  ASSERT_TRUE(closed.shutdown(finish_within(1h)).is_complete());
  WorkerPool pool{{.workers = 1, .capacity = 4}};
  Scope scope;
  refused_with(closed, scope, Refusal::closed);
  ASSERT_TRUE(scope.spawn(pool, std::move(callable)));
  ASSERT_TRUE(scope.spawn(pool, std::move(lazy)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ran, 2);
}

TEST_F(Scopes, PastThePoolsLimitOfCoroutinesTheyAreRefused) {
  Event go;
  std::atomic<int> ended = 0;
  WorkerPool pool{{.workers = 1, .capacity = 16, .coroutines = 2}};
  Scope scope;
  ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  ASSERT_TRUE(scope.spawn(pool, waits_for(go, ended)));
  auto third = waits_for(go, ended);
  EXPECT_EQ(scope.spawn(pool, std::move(third)), std::unexpected(Refusal::full));
  go.set();
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 2);
  eventually([&] { return pool.stats().coroutines == 0; });
  ASSERT_TRUE(scope.spawn(pool, std::move(third)));
  EXPECT_EQ(scope.join(), done);
  EXPECT_EQ(ended, 3);
}

TEST_F(Scopes, WhenJoinReturnsThePoolCountsNoneOfItsCoroutines) {
  std::atomic<int> count = 0;
  WorkerPool pool{{.workers = 2, .capacity = 16, .coroutines = 1}};
  for (int round = 0; round < 500; ++round) {
    Scope scope;
    ASSERT_TRUE(scope.spawn(pool, counts(count))) << "in round " << round;
    ASSERT_EQ(scope.join(), done);
    ASSERT_EQ(pool.stats().coroutines, 0u) << "in round " << round;
  }
}

// A spawn that is refused while the pool closes must not leave the workers asleep for ever.
TEST_F(Scopes, SpawningWhileThePoolIsShutDownDelaysNothing) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<bool> is_over = false;
    std::atomic<int> count = 0;
    WorkerPool pool{{.workers = 1, .capacity = 4}};
    std::jthread spawner([&] {
      Scope scope;
      while (scope.spawn(pool, counts(count))) {
      }
      EXPECT_EQ(scope.join(), done);
    });
    std::jthread closer([&] {
      eventually([&] { return count > 0; });
      EXPECT_TRUE(pool.shutdown(finish_within(1min)).is_complete());
      is_over = true;
    });
    ASSERT_TRUE(eventually([&] { return is_over.load(); }));
  }
}

}  // namespace
}  // namespace handoff
