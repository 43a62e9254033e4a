// Coroutines handed to a pool: what is accepted, and what comes back.
#include "handoff/spawn.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "coro/on_pools.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "support/move_probe.hpp"

namespace handoff::tests {
namespace {

// -- Handing in -----------------------------------------------------------------------------------

TEST(Spawn, FromOutsideRunsOnAWorker) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  const auto me = std::this_thread::get_id();
  const auto elsewhere = [&]() -> Lazy<bool> { co_return std::this_thread::get_id() != me; };
  auto future = spawn(pool, elsewhere());
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), true);
  eventually([&] { return all_ended(pool); });
}

TEST(Spawn, FromAJobNeedsNoRoom) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::reject}};
  auto sum = pool.submit([&] {
    std::vector<Future<int>> futures;
    for (int i = 0; i < 1'000; ++i) {
      auto future = spawn(pool, number(1));
      if (future) futures.push_back(std::move(*future));
    }
    int total = 0;
    for (auto& each : futures) total += each.get().value_or(0);
    return total;
  });
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->get(), 1'000);
  eventually([&] { return all_ended(pool); });
}

TEST(Spawn, FromACoroutineNeedsNoRoom) {
  WorkerPool pool{{.workers = 2, .capacity = 1, .when_full = WhenFull::reject}};
  const auto parent = [&]() -> Lazy<int> {
    std::vector<Future<int>> futures;
    for (int i = 0; i < 1'000; ++i) {
      auto future = spawn(pool, number(1));
      if (future) futures.push_back(std::move(*future));
    }
    int total = 0;
    for (auto& each : futures) {
      const auto result = co_await each;
      total += result.value_or(0);
    }
    co_return total;
  };
  auto sum = spawn(pool, parent());
  ASSERT_TRUE(sum);
  EXPECT_EQ(sum->get(), 1'000);
  eventually([&] { return all_ended(pool); });
}

TEST(Spawn, ATreeOfCoroutinesEndsOnOneWorker) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  std::function<Lazy<int>(int)> tree = [&](int depth) -> Lazy<int> {
    if (depth == 0) co_return 1;
    auto left = spawn(pool, tree(depth - 1));
    auto right = spawn(pool, tree(depth - 1));
    if (!left || !right) co_return -1;
    const auto one = co_await *left;
    const auto other = co_await *right;
    co_return one.value_or(0) + other.value_or(0);
  };
  auto leaves = spawn(pool, tree(12));
  ASSERT_TRUE(leaves);
  EXPECT_EQ(leaves->get(), 1 << 12);
}

TEST(Spawn, RefusedLeavesTheLazyAsItWas) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::reject}};
  auto lazy = number(42);
  {
    const Held held(pool);
    ASSERT_TRUE(pool.post([] {}));
    const auto refused = spawn(pool, std::move(lazy));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(), Refusal::full);
    EXPECT_EQ(pool.stats().coroutines, 0u);
  }
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
  const auto refused = spawn(pool, std::move(lazy));  // NOLINT: it is still ours.
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), Refusal::closed);
  EXPECT_EQ(pool.stats().coroutines, 0u);
  EXPECT_EQ(sync_wait(std::move(lazy)), 42);  // NOLINT
}

TEST(Spawn, WaitsForRoomAsAJobDoes) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  auto lazy = number(42);
  Held held(pool);
  ASSERT_TRUE(pool.post([] {}));
  const auto late = spawn(pool, std::move(lazy), {.deadline = within(1ms)});
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error(), Refusal::timed_out);

  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return pool.stats().coroutines == 1; });
    stop.request_stop();
  });
  const auto stopped = spawn(pool, std::move(lazy), {.stop = stop.get_token()});  // NOLINT
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error(), Refusal::stopped);
  EXPECT_EQ(pool.stats().coroutines, 0u);

  std::jthread opener([&] {
    eventually([&] { return pool.stats().coroutines == 1; });
    held.let_go();
  });
  auto future = spawn(pool, std::move(lazy));  // NOLINT
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), 42);
}

TEST(Spawn, DroppedForANewerOneSaysClosed) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::drop_oldest}};
  std::optional<Held> held(pool);
  auto dropped = spawn(pool, number(1));
  auto kept = spawn(pool, number(2));
  ASSERT_TRUE(dropped && kept);
  EXPECT_EQ(dropped->get(), std::unexpected(Refusal::closed));
  EXPECT_EQ(pool.stats().coroutines, 1u);
  held.reset();
  EXPECT_EQ(kept->get(), 2);
  eventually([&] { return all_ended(pool); });
}

TEST(Spawn, DroppedMayBeRunByTheHook) {
  int hooked = 0;
  PoolHooks hooks{.on_drop = [&](Job& job) {
    ++hooked;
    job();
  }};
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::drop_oldest}, hooks};
  const Held held(pool);
  auto dropped = spawn(pool, number(1));
  ASSERT_TRUE(dropped);
  ASSERT_TRUE(pool.post([] {}));
  EXPECT_EQ(hooked, 1);
  EXPECT_EQ(dropped->get(), 1);
}

TEST(Spawn, IsBoundedByOptionsCoroutines) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 10, .coroutines = 3}};
  std::vector<Future<Refusal>> futures;
  for (int i = 0; i < 3; ++i) {
    auto future = spawn(pool, wait_for(event));
    ASSERT_TRUE(future);
    futures.push_back(std::move(*future));
  }
  eventually([&] { return event.stats().waiting_consumers == 3; });
  auto lazy = number(42);
  const auto outside = spawn(pool, std::move(lazy));
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error(), Refusal::full);
  auto inside = pool.submit([&] {
    const auto refused = spawn(pool, std::move(lazy));
    return !refused && refused.error() == Refusal::full;
  });
  ASSERT_TRUE(inside);
  EXPECT_EQ(inside->get(), true);
  EXPECT_EQ(pool.stats().coroutines, 3u);
  EXPECT_GE(pool.stats().refused, 2u);

  event.set();
  for (auto& each : futures) EXPECT_EQ(each.get(), it_was_set);
  eventually([&] { return all_ended(pool); });
  auto future = spawn(pool, std::move(lazy));
  ASSERT_TRUE(future);
  EXPECT_EQ(future->get(), 42);
}

// Each worker counts for itself, and is allowed some at a time: the limit holds for all together.
TEST(Spawn, ManyWorkersKeepToTheLimitTogether) {
  constexpr std::size_t limit = 2'000;
  constexpr int spawners = 4;
  std::atomic<std::size_t> accepted = 0;
  std::atomic<std::size_t> refused = 0;
  std::atomic<int> done = 0;
  Event event;
  WorkerPool pool{{.workers = spawners, .capacity = 10, .coroutines = limit}};
  const auto spawn_all = [&] {
    for (std::size_t i = 0; i < limit; ++i) ++(spawn(pool, wait_for(event)) ? accepted : refused);
    ++done;
  };
  for (int round = 0; round < 3; ++round) {
    accepted = refused = 0;
    done = 0;
    event.reset();
    for (int i = 0; i < spawners; ++i) ASSERT_TRUE(pool.post(spawn_all));
    eventually([&] { return done == spawners; });
    EXPECT_EQ(accepted, limit);
    EXPECT_EQ(accepted + refused, spawners * limit);
    EXPECT_EQ(pool.stats().coroutines, accepted);
    event.set();
    eventually([&] { return all_ended(pool); });
  }
}

TEST(Spawn, OneWorkerGetsAllThatTheLimitAllows) {
  constexpr std::size_t limit = 1'000;
  Event event;
  WorkerPool pool{{.workers = 3, .capacity = 10, .coroutines = limit}};
  auto accepted = pool.submit([&] {
    std::size_t count = 0;
    while (spawn(pool, wait_for(event))) ++count;
    return count;
  });
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->get(), limit);
  EXPECT_EQ(pool.stats().coroutines, limit);
  event.set();
  eventually([&] { return all_ended(pool); });
}

// Workers that have begun one may begin some more without asking. That must not be missed by the others.
TEST(Spawn, WhatWorkersMayBeginAndDoNotIsForTheOthers) {
  constexpr std::size_t limit = 1'000;
  constexpr std::size_t workers = 4;
  Event event;
  WorkerPool pool{{.workers = workers, .capacity = limit, .coroutines = limit}};
  std::atomic<std::size_t> begun = 0;
  for (std::size_t i = 0; i < workers; ++i) {
    ASSERT_TRUE(pool.post([&] {
      EXPECT_TRUE(spawn(pool, wait_for(event)));
      ++begun;
      while (begun < workers)
        std::this_thread::yield();  // So that each is begun by another worker.
    }));
  }
  eventually([&] { return begun == workers; });
  std::size_t accepted = workers;
  while (spawn(pool, wait_for(event))) ++accepted;
  EXPECT_EQ(accepted, limit);
  EXPECT_EQ(pool.stats().coroutines, limit);
  event.set();
  eventually([&] { return all_ended(pool); });
}

// -- Results --------------------------------------------------------------------------------------

TEST(Spawn, HasWhatWasThrownInTheFuture) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 2}};
  const auto fail = [&]() -> Lazy<int> {
    static_cast<void>(co_await event.async_wait());
    throw std::runtime_error("no");
  };
  auto future = spawn(pool, fail());
  ASSERT_TRUE(future);
  eventually([&] { return event.stats().waiting_consumers == 1; });
  event.set();
  EXPECT_THROW(static_cast<void>(future->get()), std::runtime_error);
  eventually([&] { return all_ended(pool); });
}

TEST(Spawn, OfWhichTheResultCannotBeMovedSaysSoInTheFuture) {
  for (int moves = 1; moves <= 3; ++moves) {  // Into the promise, into the future, out of it.
    WorkerPool pool{{.workers = 1, .capacity = 1}};
    const auto make = [moves]() -> Lazy<tests::MoveProbe> {
      auto probe = tests::throwing_after(moves - 1);
      co_return std::move(probe);  // NOLINT: it cannot be moved without saying so.
    };
    auto future = spawn(pool, make());
    ASSERT_TRUE(future);
    EXPECT_THROW(static_cast<void>(future->get()), tests::MoveFailed) << "move " << moves;
  }
}

TEST(Spawn, GivesWhatCanOnlyBeMoved) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  const auto make = []() -> Lazy<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
  auto future = spawn(pool, make());
  ASSERT_TRUE(future);
  const auto result = future->get();
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(**result, 7);
}

TEST(Spawn, LetsGoOfWhatItHoldsBeforeItIsDone) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = held;
  const auto hold = [](std::shared_ptr<int>) -> Lazy<> { co_return; };
  auto future = spawn(pool, hold(std::move(held)));
  ASSERT_TRUE(future);
  EXPECT_TRUE(future->get());
  EXPECT_TRUE(seen.expired());
}

TEST(Spawn, RunsAlsoIfTheFutureIsDropped) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  Fact ran;
  const auto run = [&]() -> Lazy<> {
    ran.happened();
    co_return;
  };
  static_cast<void>(spawn(pool, run()));
  EXPECT_TRUE(ran.await());
  EXPECT_TRUE(pool.shutdown(finish_within(10s)).is_complete());
}

TEST(Spawn, RunsWhatFollowsByThen) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  auto future = spawn(pool, number(20));
  ASSERT_TRUE(future);
  auto doubled = std::move(*future).then([](int value) { return 2 * value + 2; });
  EXPECT_EQ(doubled.get(), 42);
}

// -- Size -----------------------------------------------------------------------------------------

TEST(SpawnResize, WhileCoroutinesRunLosesNone) {
  BlockingQueue<int> queue{{.capacity = 4}};
  WorkerPool pool{{.workers = 4, .capacity = 64}};
  constexpr int pairs = 50;
  constexpr int items = 200;
  const auto produce = [&]() -> Lazy<> {
    for (int i = 0; i < items; ++i) {
      const auto put = co_await queue.async_put(1);
      EXPECT_TRUE(put);
    }
  };
  const auto consume = [&]() -> Lazy<int> {
    int sum = 0;
    for (int i = 0; i < items; ++i) {
      const auto item = co_await queue.async_take();
      sum += item.value_or(0);
    }
    co_return sum;
  };
  std::vector<Future<int>> futures;
  for (int i = 0; i < pairs; ++i) {
    ASSERT_TRUE(spawn(pool, produce()));
    auto future = spawn(pool, consume());
    ASSERT_TRUE(future);
    futures.push_back(std::move(*future));
  }
  std::jthread resizer([&](const std::stop_token& stop) {
    for (std::size_t i = 0; !stop.stop_requested(); ++i) pool.resize(1 + i * 7 % 5);
  });
  int sum = 0;
  for (auto& each : futures) sum += each.get().value_or(0);
  EXPECT_EQ(sum, pairs * items);
  resizer.request_stop();
  resizer.join();
  EXPECT_TRUE(pool.shutdown(finish_within(30s)).is_complete());
  EXPECT_TRUE(all_ended(pool));
}

}  // namespace
}  // namespace handoff::tests
