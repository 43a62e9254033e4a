// The end of a pool that has coroutines.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "coro/on_pools.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/spawn.hpp"

namespace handoff::tests {
namespace {

// -- The end --------------------------------------------------------------------------------------

TEST(SpawnShutdown, FinishWaitsForTheSuspended) {
  Event event;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  auto future = spawn(pool, wait_for(event));
  ASSERT_TRUE(future);
  eventually([&] { return event.stats().waiting_consumers == 1; });
  auto report = std::async(std::launch::async, [&] { return pool.shutdown(finish_within(60s)); });
  eventually([&] { return !pool.post([] {}); });
  EXPECT_EQ(pool.stats().coroutines, 1u);
  EXPECT_FALSE(future->is_ready());
  event.set();
  EXPECT_TRUE(report.get().is_complete());
  ASSERT_TRUE(future->is_ready());
  EXPECT_EQ(future->get(), it_was_set);
  EXPECT_TRUE(all_ended(pool));
}

// What is spawned and handed in by coroutines meanwhile is part of the work.
TEST(SpawnShutdown, FinishWaitsForWhatTheyHandInAndSpawn) {
  Event event;
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  const auto grandchild = [&]() -> Lazy<> {
    ++ran;
    co_return;
  };
  const auto parent = [&]() -> Lazy<> {
    static_cast<void>(co_await event.async_wait());
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(spawn(pool, grandchild()));
      EXPECT_TRUE(pool.post([&] { ++ran; }));
    }
  };
  ASSERT_TRUE(spawn(pool, parent()));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  auto report = std::async(std::launch::async, [&] { return pool.shutdown(finish_within(60s)); });
  eventually([&] { return !pool.post([] {}); });
  event.set();
  EXPECT_TRUE(report.get().is_complete());
  EXPECT_EQ(ran, 200);
}

TEST(SpawnShutdown, OutOfTimeIsNotCompleteWhileOneIsSuspended) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto future = spawn(pool, wait_for(event));
  ASSERT_TRUE(future);
  eventually([&] { return event.stats().waiting_consumers == 1; });
  const auto report = pool.shutdown(finish_within(1ms));
  EXPECT_FALSE(future->is_ready());
  EXPECT_FALSE(report.is_complete()) << "\"everything accepted has run to its end\"";
  event.set();
  EXPECT_EQ(future->get(), it_was_set) << "it goes on all the same";
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
  EXPECT_TRUE(all_ended(pool));
}

TEST(SpawnShutdown, OutOfTimeIsNotCompleteWhileOneComputes) {
  std::atomic<bool> enough = false;
  std::atomic<bool> begun = false;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto compute = [&]() -> Lazy<> {
    begun = true;
    while (!enough) std::this_thread::yield();
    co_return;
  };
  Event event;
  const auto compute_later = [&]() -> Lazy<> {
    static_cast<void>(co_await event.async_wait());
    co_await compute();
  };
  ASSERT_TRUE(spawn(pool, compute_later()));
  eventually([&] { return event.stats().waiting_consumers == 1; });
  event.set();
  eventually([&] { return begun.load(); });
  EXPECT_FALSE(pool.shutdown(finish_within(1ms)).is_complete());
  enough = true;
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

TEST(SpawnShutdown, InterruptStopsThemAndWaits) {
  BlockingQueue<int> empty{{.capacity = 1}};
  BlockingQueue<int> full{{.capacity = 1}};
  Event event;
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  ASSERT_TRUE(full.put(0));
  const auto take = [&]() -> Lazy<Refusal> {
    const auto item = co_await empty.async_take();
    co_return item ? Refusal::full : item.error();
  };
  const auto put = [&]() -> Lazy<Refusal> {
    const auto added = co_await full.async_put(1);
    co_return added ? Refusal::full : added.error();
  };
  const auto join = [&](Future<Refusal> other) -> Lazy<Refusal> {
    const auto result = co_await other;
    co_return result ? *result : result.error();
  };
  constexpr int of_each = 100;
  std::vector<Future<Refusal>> futures;
  for (int i = 0; i < of_each; ++i) {
    for (auto spawned : {0, 1, 2, 3}) {
      auto future = spawned == 0   ? spawn(pool, take())
                    : spawned == 1 ? spawn(pool, put())
                    : spawned == 2 ? spawn(pool, wait_for(event))
                                   : spawn(pool, join(*spawn(pool, wait_for(event))));
      ASSERT_TRUE(future);
      futures.push_back(std::move(*future));
    }
  }
  eventually([&] {
    return empty.stats().waiting_consumers == of_each &&
           full.stats().waiting_producers == of_each &&
           event.stats().waiting_consumers == 2 * of_each && pool.stats().queued == 0;
  });
  EXPECT_TRUE(pool.shutdown(interrupt()).is_complete());
  EXPECT_TRUE(all_ended(pool));
  for (auto& each : futures) {
    ASSERT_TRUE(each.is_ready());
    ASSERT_EQ(each.get(), Refusal::stopped);
  }
  EXPECT_EQ(full.size(), 1u);
}

TEST(SpawnShutdown, HandsBackWhatHasNotBegunToBeRunElsewhere) {
  auto pool = std::make_unique<WorkerPool>(PoolOptions{.workers = 1, .capacity = 10});
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto take = [&]() -> Lazy<int> {
    const auto first = co_await queue.async_take();
    const auto second = co_await queue.async_take();
    co_return first.value_or(0) + second.value_or(0);
  };
  std::optional<Held> held(*pool);
  auto future = spawn(*pool, take());
  ASSERT_TRUE(future);
  auto report = pool->shutdown(interrupt());
  held.reset();
  ASSERT_EQ(report.handed_back.size(), 1u);
  EXPECT_TRUE(all_ended(*pool)) << "it is no longer the pool's";
  pool.reset();  // It does not need the pool any more.
  EXPECT_FALSE(future->is_ready());
  std::jthread runner([job = std::move(report.handed_back[0])]() mutable { job(); });
  ASSERT_TRUE(queue.put(20));
  ASSERT_TRUE(queue.put(22));
  EXPECT_EQ(future->get(), 42);
}

TEST(SpawnShutdown, WhatWasHandedBackMayBeGivenToAnotherPool) {
  WorkerPool other{{.workers = 1, .capacity = 10}};
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::optional<Held> held(pool);
  auto future = spawn(pool, number(42));
  ASSERT_TRUE(future);
  auto report = pool.shutdown(interrupt());
  held.reset();
  ASSERT_EQ(report.handed_back.size(), 1u);
  ASSERT_TRUE(other.post(std::move(report.handed_back[0])));
  EXPECT_EQ(future->get(), 42);
}

TEST(SpawnShutdown, WhatWasHandedBackAndDroppedSaysClosed) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  const auto hold = [](std::shared_ptr<int>) -> Lazy<> { co_return; };
  std::optional<Held> worker(pool);
  auto future = spawn(pool, hold(std::move(held)));
  ASSERT_TRUE(future);
  auto report = pool.shutdown(interrupt());
  worker.reset();
  ASSERT_EQ(report.handed_back.size(), 1u);
  EXPECT_FALSE(future->is_ready());
  report.handed_back.clear();
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(future->get(), std::unexpected(Refusal::closed));
}

TEST(SpawnShutdown, TheDestructorStopsAndWaits) {
  Event event;
  std::vector<Future<Refusal>> futures;
  {
    WorkerPool pool{{.workers = 2, .capacity = 16}};
    for (int i = 0; i < 1'000; ++i) {
      auto future = spawn(pool, wait_for(event));
      ASSERT_TRUE(future);
      futures.push_back(std::move(*future));
    }
    eventually([&] { return event.stats().waiting_consumers == 1'000; });
  }
  for (auto& each : futures) {
    ASSERT_TRUE(each.is_ready());
    ASSERT_EQ(each.get(), Refusal::stopped);
  }
}

// Some are suspended, some run, some wait in the queue: each has ended, or says closed.
TEST(SpawnShutdown, TheDestructorLeavesNobodyWaiting) {
  for (int round = 0; round < 100; ++round) {
    BlockingQueue<int> queue{{.capacity = 2}};
    std::vector<Future<int>> futures;
    std::atomic<int> alive = 0;
    const auto work = [&]() -> Lazy<int> {
      ++alive;
      int passed = 0;
      for (; passed < 10; ++passed) {
        const auto put = co_await queue.async_put(1);
        if (!put) break;
        const auto item = co_await queue.async_take();
        if (!item) break;
      }
      --alive;
      co_return passed;
    };
    {
      WorkerPool pool{{.workers = 2, .capacity = 100}};
      for (int i = 0; i < 30; ++i) {
        auto future = spawn(pool, work());
        ASSERT_TRUE(future);
        futures.push_back(std::move(*future));
      }
    }
    EXPECT_EQ(alive, 0);
    for (auto& each : futures) {
      ASSERT_TRUE(each.is_ready());
      const auto result = each.get();
      if (!result) {
        ASSERT_EQ(result.error(), Refusal::closed);
      }
    }
  }
}

// One who spawns while the pool closes counts a coroutine that is then refused. The workers must not take it for one that
// is still to come.
TEST(SpawnShutdown, FinishIsNotHeldUpByOneThatIsRefusedMeanwhile) {
  for (int round = 0; round < 300; ++round) {
    std::atomic<int> spawned = 0;
    std::atomic<int> ran = 0;
    WorkerPool pool{{.workers = 2, .capacity = 1}};
    const auto run = [&]() -> Lazy<> {
      ++ran;
      co_return;
    };
    const auto spawn_until_closed = [&] {
      while (spawn(pool, run())) ++spawned;
    };
    std::jthread one(spawn_until_closed);
    std::jthread other(spawn_until_closed);
    while (spawned < 3) std::this_thread::yield();
    std::stop_source give_up;
    auto report = std::async(std::launch::async, [&] {
      return pool.shutdown(finish_within(1h).or_until(give_up.get_token()));
    });
    const bool ended = report.wait_for(10s) == std::future_status::ready;
    give_up.request_stop();
    ASSERT_TRUE(ended) << "round " << round;
    EXPECT_TRUE(report.get().is_complete());
    one.join();
    other.join();
    EXPECT_EQ(ran, spawned);
    EXPECT_TRUE(all_ended(pool));
  }
}

// Who makes a coroutine ready uses its pool for a moment, without knowing it. The coroutine may end meanwhile, and
// with it the pool.
TEST(SpawnShutdown, ThePoolMayEndWhileTheOneThatWokeItsCoroutineIsStillAtIt) {
  for (int round = 0; round < 300; ++round) {
    BlockingQueue<int> queue{{.capacity = 1}};
    const auto take = [&]() -> Lazy<int> {
      const auto item = co_await queue.async_take();
      co_return item.value_or(-1);
    };
    std::jthread producer;
    {
      WorkerPool pool{{.workers = 1, .capacity = 1}};
      auto future = spawn(pool, take());
      ASSERT_TRUE(future);
      eventually([&] { return queue.stats().waiting_consumers == 1; });
      producer = std::jthread([&] { EXPECT_TRUE(queue.put(1)); });
      EXPECT_EQ(future->get(), 1);
    }
  }
}

TEST(SpawnShutdown, WhatIsRefusedAfterwardsIsTheCallersStill) {
  Event event;
  std::atomic<bool> refused = false;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  const auto parent = [&]() -> Lazy<int> {
    static_cast<void>(co_await event.async_wait());  // Stopped: the pool has ended.
    auto lazy = number(42);
    const auto spawned = spawn(pool, std::move(lazy));
    refused = !spawned && spawned.error() == Refusal::closed;
    co_return co_await std::move(lazy);  // NOLINT
  };
  auto future = spawn(pool, parent());
  ASSERT_TRUE(future);
  eventually([&] { return event.stats().waiting_consumers == 1; });
  EXPECT_TRUE(pool.shutdown(interrupt()).is_complete());
  EXPECT_TRUE(refused);
  EXPECT_EQ(future->get(), 42);
}

}  // namespace
}  // namespace handoff::tests
