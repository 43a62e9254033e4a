// Coroutines on the workers of a pool.
#include "handoff/spawn.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "support/move_probe.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

constexpr int many = 10'000;

Lazy<int> number(int value) { co_return value; }

Lazy<Refusal> wait_for(Event& event) {
  const auto waited = co_await event.async_wait();
  co_return waited ? Refusal::full : waited.error();  // `full`: it was set.
}
constexpr auto it_was_set = Refusal::full;

bool all_ended(const WorkerPool& pool) { return pool.stats().coroutines == 0; }

// Keeps the workers of a pool, without their being known to wait, until let go.
class Held {
 public:
  explicit Held(WorkerPool& pool, int workers = 1) {
    for (int i = 0; i < workers; ++i) {
      EXPECT_TRUE(pool.post([this](std::stop_token stop) {
        ++held_;
        static_cast<void>(gate_.wait({.stop = std::move(stop)}));
        --held_;
      }));
    }
    eventually([&] { return held_ == workers; });
  }
  ~Held() {
    let_go();
    eventually([&] { return held_ == 0; });
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void let_go() { gate_.set(); }

 private:
  Event gate_;
  std::atomic<int> held_ = 0;
};

// A fact that a computation waits for, which is no wait as the pool sees it. If it never comes true the test fails, and
// ends.
class Fact {
 public:
  void happened() { happened_ = true; }
  void compute_until_it_happens() const {
    while (!happened_ && !given_up_) std::this_thread::yield();
  }
  bool await() {
    try {
      return eventually([&] { return happened_.load(); });
    } catch (const testing::Never&) {
      given_up_ = true;
      return false;
    }
  }

 private:
  std::atomic<bool> happened_ = false;
  std::atomic<bool> given_up_ = false;
};

Lazy<> tell(Event& when, Fact& fact) {
  static_cast<void>(co_await when.async_wait());
  fact.happened();
}

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
  const testing::ManualClock clock;
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

// -- Blocking inside a coroutine ------------------------------------------------------------------

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
}  // namespace handoff
