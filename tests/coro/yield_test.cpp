// co_await yield().
#include <gtest/gtest.h>

#include <atomic>
#include <stop_token>
#include <string>
#include <thread>

#include "coro/on_pools.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"

namespace handoff::tests {
namespace {

Lazy<> write(std::string& text, char letter, int times) {
  for (int i = 0; i < times; ++i) {
    text += letter;
    co_await yield();
  }
}

Lazy<> write_by_turns(std::string& text) {
  Scope scope;
  for (const char letter : {'a', 'b', 'c'}) EXPECT_TRUE(scope.spawn(write(text, letter, 3)));
  const auto joined = co_await scope.async_join();
  EXPECT_TRUE(joined);
}

bool are_turns(const std::string& text) {
  const std::string once = text.substr(0, 3);
  return text.size() == 9 && once.find('a') != std::string::npos &&
         once.find('b') != std::string::npos && once.find('c') != std::string::npos &&
         text == once + once + once;
}

TEST(Yield, LetsAllOthersOfTheWorkerRunFirst) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  for (int round = 0; round < 100; ++round) {
    std::string text;
    auto all = spawn(pool, write_by_turns(text));
    ASSERT_TRUE(all);
    EXPECT_TRUE(all->get());
    EXPECT_TRUE(are_turns(text)) << text;
  }
}

TEST(Yield, TakesTurnsUnderSyncWait) {
  std::string text;
  sync_wait(write_by_turns(text));
  EXPECT_TRUE(are_turns(text)) << text;
}

TEST(Yield, GoesOnAloneAndTakesNoStack) {
  const auto count = []() -> Lazy<int> {
    int yields = 0;
    for (; yields < 1'000'000; ++yields) co_await yield();
    co_return yields;
  };
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  EXPECT_EQ(spawn(pool, count())->get(), 1'000'000);
  EXPECT_EQ(sync_wait(count()), 1'000'000);
}

TEST(Yield, IsNoWaitAndAStopDoesNotEndIt) {
  std::stop_source source;
  const auto count = [&]() -> Lazy<int> {
    source.request_stop();
    int yields = 0;
    for (; yields < 100; ++yields) co_await yield();
    co_return yields;
  };
  EXPECT_EQ(sync_wait(count(), source.get_token()), 100);
}

// A job gets its turn between two that only yield.
TEST(Yield, DoesNotStarveJobs) {
  std::atomic<bool> enough = false;
  const auto nod = [&]() -> Lazy<> {
    while (!enough) co_await yield();
  };
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(spawn(pool, nod()));
  ASSERT_TRUE(spawn(pool, nod()));
  auto job = pool.submit([] { return 42; });
  ASSERT_TRUE(job);
  EXPECT_EQ(job->get(10s), 42);
  enough = true;
  eventually([&] { return all_ended(pool); });
}

// Timers and jobs of jobs come between, too, though there are always jobs from outside.
TEST(Yield, DoesNotStarveTimers) {
  std::atomic<bool> enough = false;
  std::atomic<bool> rang = false;
  const auto nod = [&]() -> Lazy<> {
    while (!enough) co_await yield();
  };
  WorkerPool pool{{.workers = 1, .capacity = 64}};
  ASSERT_TRUE(spawn(pool, nod()));
  const auto timer = pool.after(1ms, [&] { rang = true; });
  const std::jthread busy([&](const std::stop_token& stop) {
    while (pool.post([] {}, {.stop = stop})) {
    }
  });
  eventually([&] { return rang.load(); });
  enough = true;
  eventually([&] { return all_ended(pool); });
}

// After the end of the pool coroutines are still run: one that yields until another has done something must not keep it from
// doing it.
TEST(Yield, DoesNotStarveOthersAtTheEndOfThePool) {
  std::atomic<bool> flag = false;
  Event event;
  const auto nod = [&]() -> Lazy<> {
    while (!flag) co_await yield();
  };
  const auto set_when_stopped = [&]() -> Lazy<> {
    static_cast<void>(co_await event.async_wait());
    flag = true;
  };
  {
    WorkerPool pool{{.workers = 1, .capacity = 10}};
    ASSERT_TRUE(spawn(pool, set_when_stopped()));
    eventually([&] { return event.stats().waiting_consumers == 1; });
    ASSERT_TRUE(spawn(pool, nod()));
  }
  EXPECT_TRUE(flag);
}

// Many of them on several workers, which take them from each other.
TEST(Yield, KeepsCountAcrossWorkers) {
  constexpr int coroutines = 200;
  constexpr int turns = 200;
  std::atomic<int> taken = 0;
  const auto nod = [&]() -> Lazy<> {
    for (int i = 0; i < turns; ++i) {
      ++taken;
      co_await yield();
    }
  };
  WorkerPool pool{{.workers = 4, .capacity = coroutines}};
  Scope scope;
  for (int i = 0; i < coroutines; ++i) ASSERT_TRUE(scope.spawn(pool, nod()));
  EXPECT_TRUE(scope.join());
  EXPECT_EQ(taken, coroutines * turns);
}

}  // namespace
}  // namespace handoff::tests
