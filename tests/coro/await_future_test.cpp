// co_await of a future, and that no worker is held meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <source_location>
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
#include "handoff/spawn.hpp"
#include "handoff/waits.hpp"

namespace handoff::tests {
namespace {

// -- co_await future ------------------------------------------------------------------------------

TEST(AwaitFuture, GivesWhatTheJobReturned) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto ask = [&]() -> Lazy<int> {
    const auto job = [] { return 42; };
    auto future = pool.submit(job);
    if (!future) co_return -1;
    const auto result = co_await *future;
    EXPECT_FALSE(future->is_valid()) << "the result is got once";
    co_return result.value_or(-2);
  };
  EXPECT_EQ(sync_wait(ask()), 42);
  auto spawned = spawn(pool, ask());
  ASSERT_TRUE(spawned);
  EXPECT_EQ(spawned->get(), 42);
}

TEST(AwaitFuture, OfACoroutineOnAnotherPool) {
  WorkerPool one{{.workers = 1, .capacity = 10}};
  Event event;
  WorkerPool other{{.workers = 1, .capacity = 10}};
  const auto ask = [&]() -> Lazy<Refusal> {
    auto future = spawn(other, wait_for(event));
    const auto result = co_await std::move(*future);
    co_return result.value_or(Refusal::empty);
  };
  auto asked = spawn(one, ask());
  ASSERT_TRUE(asked);
  eventually([&] { return event.stats().waiting_consumers == 1; });
  event.set();
  EXPECT_EQ(asked->get(), it_was_set);
}

TEST(AwaitFuture, ThrowsWhatTheJobThrew) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto ask = [&]() -> Lazy<bool> {
    const auto job = []() -> int { throw std::runtime_error("no"); };
    auto future = pool.submit(job);
    try {
      static_cast<void>(co_await *future);
    } catch (const std::runtime_error&) {
      co_return true;
    }
    co_return false;
  };
  EXPECT_TRUE(sync_wait(ask()));
}

TEST(AwaitFuture, OfAJobThatNeverRunsSaysClosed) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  Held held(pool);
  auto future = pool.submit([] { return 1; });
  ASSERT_TRUE(future);
  std::atomic<bool> begun = false;
  std::jthread ender([&] {
    eventually([&] { return begun.load(); });
    static_cast<void>(pool.shutdown(interrupt()));  // Destroys what it hands back.
  });
  const auto ask = [&]() -> Lazy<Refusal> {
    begun = true;
    const auto result = co_await *future;
    co_return result ? Refusal::full : result.error();
  };
  EXPECT_EQ(sync_wait(ask()), Refusal::closed);
}

TEST(AwaitFuture, StoppedLeavesTheFutureAsItWas) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  Held held(pool);
  auto future = pool.submit([] { return 42; });
  ASSERT_TRUE(future);
  std::stop_source stop;
  std::atomic<bool> begun = false;
  const auto ask = [&]() -> Lazy<Refusal> {
    begun = true;
    const auto result = co_await *future;
    co_return result ? Refusal::full : result.error();
  };
  std::jthread stopper([&] {
    eventually([&] { return begun.load(); });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(ask(), stop.get_token()), Refusal::stopped);
  held.let_go();
  EXPECT_EQ(future->get(), 42);
}

TEST(AwaitFuture, ThatIsNotValidThrowsALogicError) {
  const auto ask = []() -> Lazy<bool> {
    Future<int> nothing;
    try {
      static_cast<void>(co_await nothing);
    } catch (const std::logic_error&) {
      co_return true;
    }
    co_return false;
  };
  EXPECT_TRUE(sync_wait(ask()));
}

TEST(AwaitFuture, MayBeStoppedAndDoneAtTheSameMoment) {
  constexpr int rounds = 2'000;
  std::atomic<int> round = -1;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  std::vector<std::stop_source> stops(rounds);
  std::jthread stopper([&] {
    for (int i = 0; i < rounds; ++i) {
      while (round < i) std::this_thread::yield();
      stops[static_cast<std::size_t>(i)].request_stop();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    auto future = pool.submit([i] { return i; });
    ASSERT_TRUE(future);
    round = i;
    const auto ask = [&]() -> Lazy<Future<int>::Result> { co_return co_await *future; };
    auto result = sync_wait(ask(), stops[static_cast<std::size_t>(i)].get_token());
    if (!result) {
      ASSERT_EQ(result.error(), Refusal::stopped);
      result = future->get();
    }
    ASSERT_EQ(result, i);
  }
}

std::uint_least32_t line_here(std::source_location where = std::source_location::current()) {
  return where.line();
}

TEST(AwaitFuture, IsSeenInWaits) {
  WorkerPool other{{.workers = 1, .capacity = 10}};
  WorkerPool pool{{.workers = 1, .capacity = 10, .name = "askers"}};
  std::optional<Held> held(other);
  auto future = other.submit([] { return 42; });
  std::uint_least32_t line = 0;
  const auto ask = [&]() -> Lazy<int> {
    line = line_here() + 1;
    const auto result = co_await *future;
    co_return result.value_or(-1);
  };
  auto asked = spawn(pool, ask());
  ASSERT_TRUE(future && asked);
  const auto find = [] {
    std::optional<WaitInfo> found;
    for (auto& each : waits()) {
      if (each.kind == "Future" && each.operation == "get") found = each;
    }
    return found;
  };
  EXPECT_NO_THROW(eventually([&] { return find().has_value(); }));
  if (const auto wait = find()) {
    EXPECT_EQ(wait->thread, "askers");
    EXPECT_EQ(wait->where.line(), line);
    EXPECT_EQ(wait->awaited_by.size(), 2u);
    EXPECT_EQ(wait->awaited_by.at(0).line(), line);
  }
  held.reset();
  EXPECT_EQ(asked->get(), 42);
}

// -- No worker is held ----------------------------------------------------------------------------

TEST(Suspended, TenThousandOnAQueueHoldNoWorker) {
  BlockingQueue<int> queue{{.capacity = 4}};
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  const auto take = [&]() -> Lazy<int> {
    const auto item = co_await queue.async_take();
    co_return item.value_or(-1);
  };
  std::vector<Future<int>> futures;
  for (int i = 0; i < many; ++i) {
    auto future = spawn(pool, take());
    ASSERT_TRUE(future);
    futures.push_back(std::move(*future));
  }
  eventually([&] { return queue.stats().waiting_consumers == many; });
  EXPECT_EQ(pool.submit([] { return 42; })->get(), 42) << "the worker is free";
  EXPECT_EQ(pool.stats().threads, 1u);
  EXPECT_EQ(pool.stats().coroutines, std::size_t{many});
  for (int i = 0; i < many; ++i) ASSERT_TRUE(queue.put(1));
  int sum = 0;
  for (auto& each : futures) sum += each.get().value_or(0);
  EXPECT_EQ(sum, many);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_EQ(pool.stats().threads, 1u);
  eventually([&] { return all_ended(pool); });
}

TEST(Suspended, TenThousandOnAnEventHoldNoWorker) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  std::vector<Future<Refusal>> futures;
  for (int i = 0; i < many; ++i) {
    auto future = spawn(pool, wait_for(event));
    ASSERT_TRUE(future);
    futures.push_back(std::move(*future));
  }
  eventually([&] { return event.stats().waiting_consumers == many; });
  EXPECT_EQ(pool.submit([] { return 42; })->get(), 42);
  EXPECT_EQ(pool.stats().threads, 1u);
  event.set();
  for (auto& each : futures) ASSERT_EQ(each.get(), it_was_set);
  eventually([&] { return all_ended(pool); });
}

TEST(Suspended, TenThousandOnEachOthersFuturesHoldNoWorker) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  const auto first = [&]() -> Lazy<int> {
    static_cast<void>(co_await event.async_wait());
    co_return 0;
  };
  std::atomic<int> waiting = 0;
  const auto next = [&](Future<int> before) -> Lazy<int> {
    ++waiting;
    const auto result = co_await before;
    co_return result.value_or(-many) + 1;
  };
  auto last = spawn(pool, first());
  for (int i = 0; i < many && last; ++i) last = spawn(pool, next(std::move(*last)));
  ASSERT_TRUE(last);
  eventually([&] { return waiting == many; });
  EXPECT_EQ(pool.submit([] { return 42; })->get(), 42);
  EXPECT_EQ(pool.stats().threads, 1u);
  event.set();
  EXPECT_EQ(last->get(), many);
  eventually([&] { return all_ended(pool); });
}

}  // namespace
}  // namespace handoff::tests
