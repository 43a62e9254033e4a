// Coroutines at the ends of a BlockingQueue.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <source_location>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "support/conservation.hpp"
#include "support/move_probe.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using tests::hurried;
using tests::Item;
using tests::Ledger;
using tests::MoveFailed;
using tests::MoveProbe;
using tests::StopSlot;
using tests::throwing_after;

Lazy<std::expected<int, Refusal>> take_one(BlockingQueue<int>& queue, Deadline deadline = {}) {
  co_return co_await queue.async_take(deadline);
}
Lazy<std::expected<void, Refusal>> put_one(BlockingQueue<int>& queue, int item,
                                           Deadline deadline = {}) {
  co_return co_await queue.async_put(std::move(item), deadline);
}

// -- Threads and coroutines at either end ---------------------------------------------------------

enum class Side { threads, coroutines };

class QueueMix : public ::testing::TestWithParam<std::tuple<Side, Side, std::size_t>> {};

// Each consumer gets the items of each producer in their order, and each item is got once.
TEST_P(QueueMix, EveryItemIsTakenOnceAndInOrder) {
  const auto [producers, consumers, capacity] = GetParam();
  constexpr std::size_t of_each = 4;
  constexpr std::size_t items = 2'500;
  BlockingQueue<Item> queue{{.capacity = capacity}};
  std::vector<std::atomic<int>> taken(of_each * items);
  std::atomic<bool> in_order = true;
  std::atomic<std::size_t> producing = of_each;

  const auto note = [&](std::size_t number, std::array<std::size_t, of_each>& seen) {
    ++taken[number];
    std::size_t& last = seen[number / items];
    if (number % items + 1 <= last) in_order = false;
    last = number % items + 1;
  };
  const auto one_is_done = [&] {
    if (--producing == 0) queue.close();
  };
  const auto produce = [&](std::size_t first) {
    for (std::size_t i = 0; i < items; ++i) {
      EXPECT_TRUE(queue.put(std::make_unique<std::size_t>(first + i)));
    }
    one_is_done();
  };
  const auto consume = [&] {
    std::array<std::size_t, of_each> seen{};
    while (auto item = queue.take()) note(**item, seen);
  };
  const auto async_produce = [&](std::size_t first) -> Lazy<> {
    for (std::size_t i = 0; i < items; ++i) {
      auto item = std::make_unique<std::size_t>(first + i);
      const auto put = co_await queue.async_put(std::move(item));
      EXPECT_TRUE(put);
    }
    one_is_done();
  };
  const auto async_consume = [&]() -> Lazy<> {
    std::array<std::size_t, of_each> seen{};
    while (auto item = co_await queue.async_take()) note(**item, seen);
  };
  {
    WorkerPool pool{{.workers = 2, .capacity = 16}};
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < of_each; ++i) {
      if (producers == Side::threads) {
        threads.emplace_back(produce, i * items);
      } else {
        ASSERT_TRUE(spawn(pool, async_produce(i * items)));
      }
      if (consumers == Side::threads) {
        threads.emplace_back(consume);
      } else {
        ASSERT_TRUE(spawn(pool, async_consume()));
      }
    }
    EXPECT_TRUE(pool.shutdown(finish_within(60s)).is_complete());
  }
  EXPECT_TRUE(in_order);
  for (const auto& count : taken) ASSERT_EQ(count, 1);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_LE(queue.stats().high_water, capacity);
}

INSTANTIATE_TEST_SUITE_P(AllFour, QueueMix,
                         ::testing::Combine(::testing::Values(Side::threads, Side::coroutines),
                                            ::testing::Values(Side::threads, Side::coroutines),
                                            ::testing::Values<std::size_t>(1, 2, 128)),
                         [](const auto& test) {
                           const auto name = [](Side side) {
                             return side == Side::threads ? "Threads" : "Coroutines";
                           };
                           return std::string(name(std::get<0>(test.param))) + "To" +
                                  name(std::get<1>(test.param)) +
                                  std::to_string(std::get<2>(test.param));
                         });

// -- Conservation ---------------------------------------------------------------------------------

class Conservation : public ::testing::TestWithParam<std::size_t> {};

// Coroutines on threads of their own, each stopped at any moment; deadlines of microseconds; closed in the middle.
TEST_P(Conservation, OfItemsWhoseOwnersAreStopped) {
  constexpr unsigned of_each = 3;
  constexpr std::size_t items = 6'000;
  BlockingQueue<Item> queue{{.capacity = GetParam()}};
  Ledger ledger(items);
  std::array<StopSlot, 2 * of_each> stops;
  std::atomic<unsigned> running = 2 * of_each;

  const auto put = [&](Item& item, Deadline deadline) -> Lazy<std::expected<void, Refusal>> {
    co_return co_await queue.async_put(std::move(item), deadline);
  };
  const auto take = [&](Deadline deadline) -> Lazy<std::expected<Item, Refusal>> {
    co_return co_await queue.async_take(deadline);
  };
  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < of_each; ++i) {
    threads.emplace_back([&, i] {
      std::minstd_rand random(i + 1);
      while (Item item = ledger.next()) {
        const auto number = *item;
        if (number == items * 9 / 10) queue.close();
        const auto result = sync_wait(put(item, hurried(random)), stops[i].renew());
        ledger.put(number, item, result);
      }
      queue.close();
      --running;
    });
    threads.emplace_back([&, i] {
      std::minstd_rand random(i + 100);
      while (true) {
        const auto result = sync_wait(take(hurried(random)), stops[of_each + i].renew());
        if (result) {
          ledger.took(*result);
        } else if (result.error() == Refusal::closed) {
          break;
        }
      }
      --running;
    });
  }
  std::minstd_rand random(7);
  while (running > 0) {
    stops[random() % stops.size()].fire();
    std::this_thread::yield();
  }
  threads.clear();
  ledger.check(queue);
}

// Coroutines on a pool that is interrupted half-way, against threads at the same queue.
TEST_P(Conservation, OfItemsWhoseOwnersArePoolsThatAreInterrupted) {
  for (unsigned round = 0; round < 30; ++round) {
    constexpr std::size_t items = 600;
    BlockingQueue<Item> queue{{.capacity = GetParam()}};
    Ledger ledger(items);
    const auto produce = [&](unsigned seed) -> Lazy<> {
      std::minstd_rand random(seed + 1);
      while (Item item = ledger.next()) {
        const auto number = *item;
        const auto put = co_await queue.async_put(std::move(item), hurried(random));
        ledger.put(number, item, put);  // NOLINT: refused, it is ours still.
        if (!put && put.error() == Refusal::stopped) break;
      }
    };
    const auto consume = [&](unsigned seed) -> Lazy<> {
      std::minstd_rand random(seed + 100);
      while (true) {
        const auto item = co_await queue.async_take(hurried(random));
        if (item) {
          ledger.took(*item);
        } else if (item.error() != Refusal::timed_out) {
          break;
        }
      }
    };
    std::jthread producer([&] {
      while (Item item = ledger.next()) {
        const auto number = *item;
        const auto put = queue.put(std::move(item));
        ledger.put(number, item, put);  // NOLINT
      }
      queue.close();
    });
    std::jthread consumer([&] {
      while (const auto item = queue.take()) ledger.took(*item);
    });
    {
      WorkerPool pool{{.workers = 2, .capacity = 64}};
      for (unsigned i = 0; i < 8; ++i) {
        ASSERT_TRUE(spawn(pool, produce(i)));
        ASSERT_TRUE(spawn(pool, consume(i)));
      }
      const std::uint64_t half = (round * 37) % 400;
      while (queue.stats().puts < half && !queue.is_closed()) std::this_thread::yield();
      const auto report = pool.shutdown(interrupt());
      EXPECT_TRUE(report.still_running.empty());
      EXPECT_EQ(pool.stats().coroutines, 0u);
    }
    producer.join();
    consumer.join();
    ledger.check(queue);
    if (HasFatalFailure()) return;
  }
}

// A close and a stop and a deadline at the same moment, with everybody suspended.
TEST_P(Conservation, OfItemsOfTheSuspendedWhenItIsClosed) {
  for (int round = 0; round < 100; ++round) {
    constexpr std::size_t waiting = 8;
    BlockingQueue<Item> queue{{.capacity = GetParam()}};
    Ledger ledger(waiting + GetParam());
    for (std::size_t i = 0; i < GetParam(); ++i) {
      Item item = ledger.next();
      const auto number = *item;
      const auto put = queue.offer(std::move(item));
      ledger.put(number, item, put);  // NOLINT
    }
    const auto produce = [&](Deadline deadline) -> Lazy<> {
      Item item = ledger.next();
      const auto number = *item;
      const auto put = co_await queue.async_put(std::move(item), deadline);
      ledger.put(number, item, put);  // NOLINT
    };
    {
      WorkerPool pool{{.workers = 2, .capacity = 16}};
      for (std::size_t i = 0; i < waiting; ++i) {
        ASSERT_TRUE(spawn(pool, produce(i % 2 == 0 ? Deadline() : within(200us))));
      }
      eventually([&] { return queue.stats().producer_waits >= waiting / 2; });
      std::jthread closer([&] { queue.close(); });
      std::jthread taker([&] {
        for (int i = 0; i < 3; ++i) {
          if (const auto item = queue.poll()) ledger.took(*item);
        }
      });
      if (round % 2 == 0) static_cast<void>(pool.shutdown(interrupt()));
    }
    ledger.check(queue);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Capacity, Conservation, ::testing::Values<std::size_t>(1, 2, 128));

// -- Refusals -------------------------------------------------------------------------------------

TEST(AsyncQueue, SaysWhyItRefuses) {
  BlockingQueue<int> queue{{.capacity = 1}};
  EXPECT_EQ(sync_wait(take_one(queue, within(0ms))), std::unexpected(Refusal::timed_out));
  EXPECT_EQ(sync_wait(take_one(queue, within(-1h))), std::unexpected(Refusal::timed_out));
  EXPECT_TRUE(sync_wait(put_one(queue, 1, within(-1h)))) << "what needs no wait is done";
  EXPECT_EQ(sync_wait(put_one(queue, 2, within(1us))), std::unexpected(Refusal::timed_out));
  queue.close();
  EXPECT_EQ(sync_wait(put_one(queue, 2)), std::unexpected(Refusal::closed));
  EXPECT_EQ(sync_wait(take_one(queue)), 1);
  EXPECT_EQ(sync_wait(take_one(queue)), std::unexpected(Refusal::closed));
  EXPECT_EQ(queue.stats().refused, 2u);
}

TEST(AsyncQueue, CloseReachesTheSuspended) {
  BlockingQueue<int> empty{{.capacity = 1}};
  BlockingQueue<int> full{{.capacity = 1}};
  ASSERT_TRUE(full.put(0));
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  std::vector<Future<std::expected<int, Refusal>>> takes;
  std::vector<Future<std::expected<void, Refusal>>> puts;
  for (int i = 0; i < 10; ++i) {
    takes.push_back(*spawn(pool, take_one(empty)));
    puts.push_back(*spawn(pool, put_one(full, i)));
  }
  eventually([&] {
    return empty.stats().waiting_consumers == 10 && full.stats().waiting_producers == 10;
  });
  empty.close();
  full.close();
  for (auto& each : takes) EXPECT_EQ(each.get().value(), std::unexpected(Refusal::closed));
  for (auto& each : puts) EXPECT_EQ(each.get().value(), std::unexpected(Refusal::closed));
  EXPECT_EQ(full.size(), 1u);
}

// -- Moves that throw -----------------------------------------------------------------------------

// Until what the only worker has begun is suspended: one that counts as waiting may still be having its last look, and overtake
// the first.
void await_suspended(WorkerPool& pool) {
  pool.submit([] {}).value().get().value();
}

TEST(AsyncQueueThrowing, ATakeThatIsSuspendedThrowsAtItsCoAwait) {
  BlockingQueue<MoveProbe> queue{{.capacity = 2}};
  const auto take = [&]() -> Lazy<int> {
    try {
      const auto item = co_await queue.async_take();
      co_return item ? item->value : -1;
    } catch (const MoveFailed&) {
      co_return -2;
    }
  };
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  auto first = spawn(pool, take());
  ASSERT_TRUE(first);
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  auto second = spawn(pool, take());
  ASSERT_TRUE(second);
  eventually([&] { return queue.stats().waiting_consumers == 2; });
  await_suspended(pool);
  ASSERT_TRUE(queue.put(throwing_after(1)));  // In, and not out again.
  EXPECT_EQ(first->get(), -2);
  EXPECT_EQ(queue.size(), 0u) << "it counts as taken";
  ASSERT_TRUE(queue.put(MoveProbe(7)));
  EXPECT_EQ(second->get(), 7) << "the turn was passed on";
}

TEST(AsyncQueueThrowing, APutThatIsSuspendedThrowsAtItsCoAwait) {
  BlockingQueue<MoveProbe> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(MoveProbe(0)));
  const auto put = [&](int moves, int value) -> Lazy<int> {
    auto item = throwing_after(moves, value);
    try {
      const auto result = co_await queue.async_put(std::move(item));
      co_return result ? -1 : -3;
    } catch (const MoveFailed&) {
      co_return item.value;  // NOLINT: as it was.
    }
  };
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  auto first = spawn(pool, put(0, 5));
  ASSERT_TRUE(first);
  eventually([&] { return queue.stats().waiting_producers == 1; });
  auto second = spawn(pool, put(-1, 6));
  ASSERT_TRUE(second);
  eventually([&] { return queue.stats().waiting_producers == 2; });
  await_suspended(pool);
  EXPECT_EQ(queue.take().value().value, 0);
  EXPECT_EQ(first->get(), 5);
  EXPECT_EQ(second->get(), -1) << "the room was passed on";
  EXPECT_EQ(queue.take().value().value, 6);
}

TEST(AsyncQueueThrowing, WithoutAWaitItThrowsAtTheCoAwaitToo) {
  BlockingQueue<MoveProbe> queue{{.capacity = 1}};
  const auto run = [&]() -> Lazy<int> {
    int caught = 0;
    auto item = throwing_after(0, 5);
    try {
      static_cast<void>(co_await queue.async_put(std::move(item)));
    } catch (const MoveFailed&) {
      ++caught;
    }
    item.moves_until_throw = 1;  // NOLINT: it was not moved.
    const auto put = co_await queue.async_put(std::move(item));
    EXPECT_TRUE(put);
    try {
      static_cast<void>(co_await queue.async_take());
    } catch (const MoveFailed&) {
      ++caught;
    }
    co_return caught;
  };
  EXPECT_EQ(sync_wait(run()), 2);
  EXPECT_EQ(queue.size(), 0u);
}

// -- Those who wait too long are served by others -------------------------------------------------

// A pool of which the worker runs only when it is let.
class StoppedPool {
 public:
  // Holds the worker. What becomes ready waits.
  void hold() {
    gate_.emplace();
    std::atomic<bool> held = false;
    ASSERT_TRUE(pool.post([&](std::stop_token stop) {
      held = true;
      static_cast<void>(gate_->wait({.stop = std::move(stop)}));
    }));
    eventually([&] { return held.load(); });
  }
  // Lets it run all that is ready.
  void let_run() {
    gate_->set();
    // Coroutines go before jobs but for one time in 61.
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(pool.submit([] {})->get());
  }

 private:
  std::optional<Event> gate_;

 public:
  WorkerPool pool{{.workers = 1, .capacity = 16}};
};

TEST(AsyncQueueFairness, ATakerThatLostItsTurnsIsServed) {
  BlockingQueue<int> queue{{.capacity = 4}};
  StoppedPool stopped;
  auto taker = spawn(stopped.pool, take_one(queue));
  ASSERT_TRUE(taker);
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  for (int i = 0; i < 4; ++i) {
    stopped.hold();
    ASSERT_TRUE(queue.put(i));   // Its turn,
    ASSERT_EQ(queue.poll(), i);  // but another is faster.
    stopped.let_run();
    ASSERT_FALSE(taker->is_ready());
  }
  stopped.hold();
  ASSERT_TRUE(queue.put(42));
  EXPECT_EQ(queue.poll(), std::unexpected(Refusal::empty)) << "it is served first";
  EXPECT_EQ(queue.stats().takes, 5u);
  stopped.let_run();
  EXPECT_EQ(taker->get().value(), 42);
}

TEST(AsyncQueueFairness, APutterThatLostItsTurnsIsServed) {
  BlockingQueue<int> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(0));
  StoppedPool stopped;
  auto putter = spawn(stopped.pool, put_one(queue, 42));
  ASSERT_TRUE(putter);
  eventually([&] { return queue.stats().waiting_producers == 1; });
  for (int i = 0; i < 4; ++i) {
    stopped.hold();
    ASSERT_EQ(queue.poll(), i);
    ASSERT_TRUE(queue.offer(i + 1));
    stopped.let_run();
    ASSERT_FALSE(putter->is_ready());
  }
  stopped.hold();
  ASSERT_EQ(queue.poll(), 4);
  EXPECT_EQ(queue.offer(7), std::unexpected(Refusal::full)) << "its item goes first";
  EXPECT_EQ(queue.poll(), 42);
  stopped.let_run();
  EXPECT_TRUE(putter->get().value());
}

TEST(AsyncQueueFairness, OneThatCannotBeServedGetsTheException) {
  BlockingQueue<MoveProbe> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(MoveProbe(0)));
  const auto put = [&]() -> Lazy<int> {
    auto item = throwing_after(0, 42);
    try {
      static_cast<void>(co_await queue.async_put(std::move(item)));
    } catch (const MoveFailed&) {
      co_return item.value;  // NOLINT
    }
    co_return -1;
  };
  StoppedPool stopped;
  auto putter = spawn(stopped.pool, put());
  ASSERT_TRUE(putter);
  eventually([&] { return queue.stats().waiting_producers == 1; });
  for (int i = 0; i < 4; ++i) {
    stopped.hold();
    ASSERT_EQ(queue.poll().value().value, i);
    ASSERT_TRUE(queue.offer(MoveProbe(i + 1)));
    stopped.let_run();
    ASSERT_FALSE(putter->is_ready());
  }
  stopped.hold();
  ASSERT_EQ(queue.poll().value().value, 4);
  EXPECT_TRUE(queue.offer(MoveProbe(7))) << "the room is free after all";
  EXPECT_EQ(queue.poll().value().value, 7);
  stopped.let_run();
  EXPECT_EQ(putter->get(), 42);
}

// A coroutine whose turn has come may have to wait for a worker, for as long as others compute. Threads that could take
// what is there must not have to wait for that.
TEST(AsyncQueueFairness, ACoroutineWithoutAWorkerHoldsUpNoThread) {
  BlockingQueue<int> queue{{.capacity = 4}};
  StoppedPool stopped;
  auto taker = spawn(stopped.pool, take_one(queue));
  ASSERT_TRUE(taker);
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  auto thread = std::async(std::launch::async, [&] { return queue.take(); });
  eventually([&] { return queue.stats().waiting_consumers == 2; });
  stopped.hold();
  ASSERT_TRUE(queue.put(1));  // The coroutine's turn.
  ASSERT_TRUE(queue.put(2));
  EXPECT_EQ(thread.wait_for(10s), std::future_status::ready) << "two items, and it sleeps";
  stopped.let_run();
  EXPECT_TRUE(thread.get());
  EXPECT_TRUE(taker->get().value());
}

// -- Deadlines ------------------------------------------------------------------------------------

TEST(AsyncQueueDeadlines, EndATakeByTheClock) {
  testing::ManualClock clock;
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto poll = [&]() -> Lazy<std::expected<int, Refusal>> {
    co_return co_await queue.async_poll(100ms);
  };
  auto answer = std::async(std::launch::async, [&] { return sync_wait(poll()); });
  eventually([&] { return clock.waiting() == 1 && queue.stats().waiting_consumers == 1; });
  clock.advance(99ms);
  eventually([&] { return clock.waiting() == 1; });
  EXPECT_EQ(queue.stats().waiting_consumers, 1u);
  clock.advance(1ms);
  EXPECT_EQ(answer.get(), std::unexpected(Refusal::timed_out));
  EXPECT_EQ(queue.stats().waiting_consumers, 0u);
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST(AsyncQueueDeadlines, EndAPutByTheClock) {
  testing::ManualClock clock;
  BlockingQueue<Item> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(std::make_unique<std::size_t>(1)));
  const auto offer = [&]() -> Lazy<bool> {
    auto item = std::make_unique<std::size_t>(2);
    const auto result = co_await queue.async_offer(std::move(item), 100ms);
    co_return result == std::unexpected(Refusal::timed_out) && item && *item == 2;  // NOLINT
  };
  auto answer = std::async(std::launch::async, [&] { return sync_wait(offer()); });
  eventually([&] { return clock.waiting() == 1 && queue.stats().waiting_producers == 1; });
  clock.advance(100ms);
  EXPECT_TRUE(answer.get());
  EXPECT_EQ(queue.size(), 1u);
}

TEST(AsyncQueueDeadlines, AreForgottenWhenTheItemComes) {
  testing::ManualClock clock;
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto poll = [&]() -> Lazy<std::expected<int, Refusal>> {
    co_return co_await queue.async_poll(100ms);
  };
  auto answer = std::async(std::launch::async, [&] { return sync_wait(poll()); });
  eventually([&] { return clock.waiting() == 1; });
  ASSERT_TRUE(queue.put(42));
  EXPECT_EQ(answer.get(), 42);
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST(AsyncQueueDeadlines, ManyOnOnePoolEndInTheirOrder) {
  testing::ManualClock clock;
  BlockingQueue<int> queue{{.capacity = 1}};
  std::atomic<int> ended = 0;
  const auto poll = [&](int number) -> Lazy<bool> {
    const auto item = co_await queue.async_poll(number * 10ms);
    ++ended;
    co_return item == std::unexpected(Refusal::timed_out);
  };
  WorkerPool pool{{.workers = 1, .capacity = 200}};
  std::vector<Future<bool>> futures;
  for (int i = 1; i <= 100; ++i) futures.push_back(*spawn(pool, poll(i)));
  eventually([&] { return queue.stats().waiting_consumers == 100; });
  for (int i = 1; i <= 100; ++i) {
    clock.advance(10ms);
    eventually([&] { return ended == i; });
  }
  for (auto& each : futures) EXPECT_EQ(each.get(), true);
}

// -- waits() --------------------------------------------------------------------------------------

std::uint_least32_t line_here(std::source_location where = std::source_location::current()) {
  return where.line();
}

std::optional<WaitInfo> find_wait(std::string_view name) {
  for (auto& each : waits()) {
    if (each.name == name) return each;
  }
  return std::nullopt;
}

TEST(AsyncQueueWaits, ShowWhoAwaitsWhom) {
  BlockingQueue<int> queue{{.capacity = 1, .name = "orders"}};
  std::array<std::uint_least32_t, 4> lines{};
  const auto inner = [&]() -> Lazy<int> {
    lines[0] = line_here() + 1;
    const auto item = co_await queue.async_take();
    co_return item.value_or(-1);
  };
  const auto middle = [&]() -> Lazy<int> {
    lines[1] = line_here() + 1;
    const int value = co_await inner();
    co_return value + 1;
  };
  const auto outer = [&]() -> Lazy<int> {
    auto lazy = middle();
    lines[2] = line_here() + 1;
    const int value = co_await std::move(lazy);
    co_return value + 1;
  };
  WorkerPool pool{{.workers = 1, .capacity = 1, .name = "shippers"}};
  lines[3] = line_here() + 1;
  auto future = spawn(pool, outer());
  ASSERT_TRUE(future);
  eventually([&] { return queue.stats().waiting_consumers == 1; });

  const auto wait = find_wait("orders");
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->operation, "take");
  EXPECT_EQ(wait->kind, "BlockingQueue");
  EXPECT_EQ(wait->thread, "shippers");
  EXPECT_EQ(wait->where.line(), lines[0]);
  ASSERT_EQ(wait->awaited_by.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(wait->awaited_by[i].line(), lines[i]) << i;
    EXPECT_THAT(wait->awaited_by[i].file_name(), ::testing::EndsWith("queue_async_test.cpp"));
  }
  EXPECT_THAT(to_table(waits()), ::testing::HasSubstr("orders"));
  ASSERT_TRUE(queue.put(40));
  EXPECT_EQ(future->get(), 42);
  EXPECT_FALSE(find_wait("orders"));
}

TEST(AsyncQueueWaits, ShowTheThreadOfASyncWait) {
  BlockingQueue<int> queue{{.capacity = 1, .name = "letters"}};
  ASSERT_TRUE(queue.put(0));
  std::uint_least32_t line = 0;
  std::jthread waiting([&] {
    name_this_thread("postman");
    line = line_here() + 1;
    EXPECT_TRUE(sync_wait(put_one(queue, 1)));
  });
  eventually([&] { return queue.stats().waiting_producers == 1; });
  const auto wait = find_wait("letters");
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->operation, "put");
  EXPECT_EQ(wait->thread, "postman");
  ASSERT_EQ(wait->awaited_by.size(), 2u);
  EXPECT_EQ(wait->awaited_by.back().line(), line);
  ASSERT_TRUE(queue.take());
}

// Looked at from outside all the time while they come and go.
TEST(AsyncQueueWaits, MayBeAskedAtAnyMoment) {
  BlockingQueue<int> queue{{.capacity = 2, .name = "busy"}};
  const auto produce = [&]() -> Lazy<> {
    for (int i = 0; i < 2'000; ++i) static_cast<void>(co_await put_one(queue, i));
  };
  const auto consume = [&]() -> Lazy<> {
    for (int i = 0; i < 2'000; ++i) static_cast<void>(co_await take_one(queue));
  };
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(spawn(pool, produce()));
    ASSERT_TRUE(spawn(pool, consume()));
  }
  while (pool.stats().coroutines > 0) {
    for (const auto& each : waits()) {
      if (each.name == "busy") {
        ASSERT_EQ(each.awaited_by.size(), 3u);
      }
    }
  }
  EXPECT_EQ(queue.size(), 0u);
}

// -- Size -----------------------------------------------------------------------------------------

// What a suspended take costs beyond the user's own frame.
constexpr std::size_t most_bytes_of_a_take = 256;

TEST(AsyncQueueSize, OfASuspendedTakeIsBounded) {
  using Queue = BlockingQueue<int>;
  std::printf("a suspended take: %zu bytes, a put: %zu; the waiter is %zu of them\n",
              sizeof(Queue::AsyncTake), sizeof(Queue::AsyncPut), sizeof(detail::AsyncWaiter));
  EXPECT_LE(sizeof(Queue::AsyncTake), most_bytes_of_a_take);
  EXPECT_LE(sizeof(Queue::AsyncPut), most_bytes_of_a_take);
}

}  // namespace
}  // namespace handoff
