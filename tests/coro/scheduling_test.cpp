// Where coroutines run: nobody is left lying, nobody is starved, blocking strands nobody.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "coro/on_pools.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff::tests {
namespace {

// -- Where they run -------------------------------------------------------------------------------

// What a coroutine makes ready waits behind it, to go on at once when it is suspended. If it computes for long, another
// worker has to take it.
TEST(LeftLying, IsTakenByAnIdleWorker) {
  for (int round = 0; round < 50; ++round) {
    Event event;
    Fact ran;
    const auto compute = [&]() -> Lazy<> {
      event.set();
      ran.compute_until_it_happens();
      co_return;
    };
    WorkerPool pool{{.workers = 2, .capacity = 10}};
    ASSERT_TRUE(spawn(pool, tell(event, ran)));
    eventually([&] { return event.stats().waiting_consumers == 1; });
    ASSERT_TRUE(spawn(pool, compute()));
    ASSERT_TRUE(ran.await()) << "round " << round;
  }
}

// The idle worker that comes to look after it may find a job first; then another has to.
TEST(LeftLying, IsTakenThoughTheOneThatLookedFoundAJob) {
  for (int round = 0; round < 100; ++round) {
    Event event;
    Fact ran;
    std::atomic<bool> is_set = false;
    const auto compute = [&]() -> Lazy<> {
      event.set();
      is_set = true;
      ran.compute_until_it_happens();
      co_return;
    };
    WorkerPool pool{{.workers = 3, .capacity = 10}};
    ASSERT_TRUE(spawn(pool, tell(event, ran)));
    eventually([&] { return event.stats().waiting_consumers == 1; });
    ASSERT_TRUE(spawn(pool, compute()));
    while (!is_set) std::this_thread::yield();
    ASSERT_TRUE(pool.post([&] { ran.compute_until_it_happens(); }));
    ASSERT_TRUE(ran.await()) << "round " << round;
  }
}

// Also by a clock that stands still: it is no deadline of the user's.
TEST(LeftLying, IsTakenUnderAManualClock) {
  const handoff::testing::ManualClock clock;
  Event event;
  Fact ran;
  const auto compute = [&]() -> Lazy<> {
    event.set();
    ran.compute_until_it_happens();
    co_return;
  };
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  ASSERT_TRUE(spawn(pool, tell(event, ran)));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  ASSERT_TRUE(spawn(pool, compute()));
  EXPECT_TRUE(ran.await());
}

// After the time to finish is over, coroutines are still run; it must not matter where.
TEST(LeftLying, IsTakenAfterThePoolHasEnded) {
  Event begin;
  Event event;
  Fact ran;
  const auto compute = [&]() -> Lazy<> {
    static_cast<void>(co_await begin.async_wait());
    event.set();
    ran.compute_until_it_happens();
  };
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  ASSERT_TRUE(spawn(pool, tell(event, ran)));
  ASSERT_TRUE(spawn(pool, compute()));
  eventually(
      [&] { return event.stats().waiting_consumers == 1 && begin.stats().waiting_consumers == 1; });
  static_cast<void>(pool.shutdown(finish_within(1ms)));
  begin.set();
  EXPECT_TRUE(ran.await());
  eventually([&] { return all_ended(pool); });
}

// Two that wake each other in turn always have one next up; a third must get its turn all the same.
TEST(LeftLying, NobodyIsStarvedByTwoThatWakeEachOther) {
  BlockingQueue<int> there{{.capacity = 1}};
  BlockingQueue<int> back{{.capacity = 1}};
  Event event;
  Fact ran;
  std::atomic<bool> enough = false;
  std::atomic<int> turns = 0;
  const auto play = [&](BlockingQueue<int>& from, BlockingQueue<int>& to) -> Lazy<> {
    while (!enough) {
      auto item = co_await from.async_take();
      if (!item) break;
      ++turns;
      const auto put = co_await to.async_put(std::move(*item));
      if (!put) break;
    }
    to.close();
  };
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(spawn(pool, tell(event, ran)));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  ASSERT_TRUE(spawn(pool, play(there, back)));
  ASSERT_TRUE(spawn(pool, play(back, there)));
  ASSERT_TRUE(there.put(1));
  eventually([&] { return turns > 1'000; });
  event.set();  // From outside: it is ready, and waits for the worker.
  EXPECT_TRUE(ran.await());
  enough = true;
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

TEST(LeftLying, TwoThatWakeEachOtherDoNotStarveJobs) {
  BlockingQueue<int> there{{.capacity = 1}};
  BlockingQueue<int> back{{.capacity = 1}};
  std::atomic<bool> enough = false;
  const auto play = [&](BlockingQueue<int>& from, BlockingQueue<int>& to) -> Lazy<> {
    while (!enough) {
      auto item = co_await from.async_take();
      if (!item) break;
      const auto put = co_await to.async_put(std::move(*item));
      if (!put) break;
    }
    to.close();
  };
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(spawn(pool, play(there, back)));
  ASSERT_TRUE(spawn(pool, play(back, there)));
  ASSERT_TRUE(there.put(1));
  auto job = pool.submit([] { return 42; });
  ASSERT_TRUE(job);
  EXPECT_EQ(job->get(10s), 42);
  enough = true;
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

// Wakes all of them from one worker, and computes on: each must get a worker of its own.
struct SideBySide {
  static constexpr int others = 3;

  explicit SideBySide(WorkerPool& on) : pool(on) {
    for (int i = 0; i < others; ++i) EXPECT_TRUE(spawn(pool, compute_when_told()));
    eventually([&] { return event.stats().waiting_consumers == others; });
  }
  Lazy<> compute_when_told() {
    static_cast<void>(co_await event.async_wait());
    compute();
  }
  Lazy<> tell_and_compute() {
    event.set();
    compute();
    co_return;
  }
  void compute() {
    if (++computing == others + 1) all.happened();
    all.compute_until_it_happens();
  }

  WorkerPool& pool;
  Event event;
  Fact all;
  std::atomic<int> computing = 0;
};

TEST(LeftLying, AsManyAsThereAreWorkersComputeSideBySide) {
  for (int round = 0; round < 20; ++round) {
    std::unique_ptr<SideBySide> group;
    WorkerPool pool{{.workers = SideBySide::others + 1, .capacity = 10}};
    group = std::make_unique<SideBySide>(pool);
    ASSERT_TRUE(spawn(pool, group->tell_and_compute()));
    ASSERT_TRUE(group->all.await()) << "round " << round;
    eventually([&] { return all_ended(pool); });
  }
}

// Workers that came in vain to one that gets on are called more seldom. They must come all the same.
TEST(LeftLying, ComputeSideBySideAfterMuchAdo) {
  Event go;
  std::unique_ptr<SideBySide> group;
  const auto much_ado = [&]() -> Lazy<> {
    const auto nod = []() -> Lazy<> {
      for (int i = 0; i < 20'000; ++i) co_await yield();
    };
    Scope scope;
    for (int i = 0; i < 4; ++i) EXPECT_TRUE(scope.spawn(nod()));
    const auto joined = co_await scope.async_join();
    EXPECT_TRUE(joined);
    co_await group->tell_and_compute();
  };
  WorkerPool pool{{.workers = SideBySide::others + 1, .capacity = 10}};
  group = std::make_unique<SideBySide>(pool);
  ASSERT_TRUE(spawn(pool, much_ado()));
  EXPECT_TRUE(group->all.await());
  eventually([&] { return all_ended(pool); });
}

// -- Blocking inside a coroutine ------------------------------------------------------------------

// What a worker has made ready is for the others when it blocks, however busy they are.
TEST(BlockingInACoroutine, LeavesAllThatItMadeReadyToTheOthers) {
  constexpr int woken = 8;
  std::atomic<bool> enough = false;
  std::atomic<int> ran = 0;
  Event event;
  Event all;
  const auto wait = [&]() -> Lazy<> {
    static_cast<void>(co_await event.async_wait());
    if (++ran == woken) all.set();
  };
  const auto block = [&]() -> Lazy<> {
    event.set();
    EXPECT_TRUE(all.wait({.deadline = within(10s)}));
    co_return;
  };
  const auto nod = [&]() -> Lazy<> {
    while (!enough) co_await yield();
  };
  WorkerPool pool{{.workers = 2, .capacity = 10, .spares = 0}};
  for (int i = 0; i < woken; ++i) ASSERT_TRUE(spawn(pool, wait()));
  eventually([&] { return event.stats().waiting_consumers == woken; });
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(spawn(pool, nod()));
  ASSERT_TRUE(spawn(pool, block()));
  eventually([&] { return ran == woken; });
  enough = true;
  eventually([&] { return all_ended(pool); });
}

TEST(BlockingInACoroutine, OnAFutureDoesNotStrandWhatItMadeReady) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  for (int round = 0; round < 100; ++round) {
    Event event;
    auto waiting = spawn(pool, wait_for(event));
    ASSERT_TRUE(waiting);
    eventually([&] { return event.stats().waiting_consumers == 1; });
    const auto block = [&]() -> Lazy<bool> {
      event.set();  // Ready, behind this one.
      co_return waiting->get() == it_was_set;
    };
    auto blocked = spawn(pool, block());
    ASSERT_TRUE(blocked);
    ASSERT_EQ(blocked->get({.deadline = within(10s)}), true);
  }
}

TEST(BlockingInACoroutine, SaidSoDoesNotStrandWhatItMadeReady) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  Fact ran;
  const auto block = [&]() -> Lazy<> {
    event.set();
    pool.blocking([&] { ran.compute_until_it_happens(); });
    co_return;
  };
  ASSERT_TRUE(spawn(pool, tell(event, ran)));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  ASSERT_TRUE(spawn(pool, block()));
  EXPECT_TRUE(ran.await());
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

TEST(BlockingInACoroutine, DoesNotStrandWhatItMakesReadyMeanwhile) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  Fact ran;
  const auto block = [&]() -> Lazy<> {
    pool.blocking([&] {
      event.set();
      ran.compute_until_it_happens();
    });
    co_return;
  };
  ASSERT_TRUE(spawn(pool, tell(event, ran)));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  ASSERT_TRUE(spawn(pool, block()));
  EXPECT_TRUE(ran.await());
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

// The same while there is always a job to be done: no worker is ever idle and looks after what was left.
TEST(BlockingInACoroutine, DoesNotStrandWhatItMakesReadyMeanwhileUnderLoad) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  Fact ran;
  std::atomic<bool> enough = false;
  std::function<void()> again = [&] {
    if (enough) return;
    EXPECT_TRUE(pool.post([&] { again(); }));
  };
  const auto block = [&]() -> Lazy<> {
    pool.blocking([&] {
      event.set();
      ran.compute_until_it_happens();
    });
    co_return;
  };
  ASSERT_TRUE(spawn(pool, tell(event, ran)));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  ASSERT_TRUE(pool.post([&] { again(); }));
  auto blocked = spawn(pool, block());
  ASSERT_TRUE(blocked);
  EXPECT_TRUE(ran.await());
  EXPECT_TRUE(blocked->get());
  enough = true;
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

}  // namespace
}  // namespace handoff::tests
