// Lazy and sync_wait: coroutines on one thread.
#include "handoff/lazy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/move_probe.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;

constexpr int million = 1'000'000;

Lazy<int> number(int value) { co_return value; }

// Counts how many of it live, so that a frame that is lost or destroyed twice is noticed.
struct Counted {
  explicit Counted(int& count) : count_(&count) { ++*count_; }
  Counted(const Counted& other) : count_(other.count_) { ++*count_; }
  Counted(Counted&& other) noexcept : count_(other.count_) { ++*count_; }
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --*count_; }

 private:
  int* count_;
};

// -- Values and exceptions ------------------------------------------------------------------------

TEST(Lazy, RunsNothingUntilItIsAwaited) {
  int steps = 0;
  const auto step = [&]() -> Lazy<> {
    ++steps;
    co_return;
  };
  const auto both = [&]() -> Lazy<int> {
    auto first = step();
    auto second = step();
    EXPECT_EQ(steps, 0);
    co_await std::move(second);
    EXPECT_EQ(steps, 1);
    co_await std::move(first);
    co_return steps;
  };
  auto lazy = both();
  EXPECT_EQ(steps, 0);
  EXPECT_EQ(sync_wait(std::move(lazy)), 2);
}

TEST(Lazy, GivesItsValueToWhoAwaitsIt) {
  const auto sum = []() -> Lazy<int> {
    const int one = co_await number(20);
    co_return one + co_await number(22);
  };
  EXPECT_EQ(sync_wait(sum()), 42);
}

TEST(Lazy, GivesWhatCanOnlyBeMoved) {
  const auto make = [](int value) -> Lazy<std::unique_ptr<int>> {
    co_return std::make_unique<int>(value);
  };
  const auto pass_on = [&]() -> Lazy<std::unique_ptr<int>> {
    auto pointer = co_await make(7);
    ++*pointer;
    co_return pointer;
  };
  const auto pointer = sync_wait(pass_on());
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(*pointer, 8);
}

TEST(Lazy, ConvertsWhatIsReturned) {
  const auto text = []() -> Lazy<std::string> { co_return "text"; };
  EXPECT_EQ(sync_wait(text()), "text");
}

struct NoDefault {
  explicit NoDefault(int given) : value(given) {}
  int value;
};

TEST(Lazy, GivesWhatHasNoDefaultConstructor) {
  const auto make = []() -> Lazy<NoDefault> { co_return NoDefault(3); };
  EXPECT_EQ(sync_wait(make()).value, 3);
}

TEST(Lazy, CarriesAnExceptionThroughAllThatAwaitIt) {
  int unwound = 0;
  const auto fail = [&](int depth, const auto& self) -> Lazy<int> {
    const Counted here(unwound);
    if (depth == 0) throw std::runtime_error("at the bottom");
    co_return co_await self(depth - 1, self) + 1;
  };
  try {
    static_cast<void>(sync_wait(fail(100, fail)));
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "at the bottom");
  }
  EXPECT_EQ(unwound, 0);
}

TEST(Lazy, GoesOnAfterACaughtException) {
  const auto fail = []() -> Lazy<> {
    throw std::runtime_error("no");
    co_return;
  };
  const auto cope = [&]() -> Lazy<int> {
    int caught = 0;
    for (int i = 0; i < 100; ++i) {
      try {
        co_await fail();
      } catch (const std::runtime_error&) {
        ++caught;
      }
    }
    co_return caught + co_await number(1);
  };
  EXPECT_EQ(sync_wait(cope()), 101);
}

TEST(Lazy, OfWhichTheResultCannotBeMovedThrowsThat) {
  // Into the promise, out of the promise: the second move throws, at the co_await.
  const auto make = []() -> Lazy<tests::MoveProbe> { co_return tests::throwing_after(1); };
  const auto ask = [&]() -> Lazy<bool> {
    try {
      const auto probe = co_await make();
      co_return probe.value == -2;  // Never: it throws.
    } catch (const tests::MoveFailed&) {
      co_return true;
    }
  };
  EXPECT_TRUE(sync_wait(ask()));
}

// -- Lifetime -------------------------------------------------------------------------------------

TEST(Lazy, DestroyedWithoutBeingAwaitedLetsGoOfItsArguments) {
  int alive = 0;
  bool ran = false;
  const auto hold = [&ran](Counted) -> Lazy<> {
    ran = true;
    co_return;
  };
  {
    const auto lazy = hold(Counted(alive));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_FALSE(ran);
}

TEST(Lazy, LetsGoOfItsFrameAtTheEndOfTheExpression) {
  int alive = 0;
  const auto hold = [&alive](Counted) -> Lazy<int> {
    const Counted local(alive);
    co_return 42;
  };
  const auto await = [&]() -> Lazy<int> {
    const Counted argument(alive);
    const int seen = co_await hold(argument);
    EXPECT_EQ(alive, 1) << "the argument alone is left";
    co_return seen;
  };
  EXPECT_EQ(sync_wait(await()), 42);
  EXPECT_EQ(alive, 0);
}

TEST(Lazy, AssignedToGivesItsOldFrameAway) {
  int alive = 0;
  const auto hold = [](Counted, int value) -> Lazy<int> { co_return value; };
  {
    auto one = hold(Counted(alive), 1);
    auto two = hold(Counted(alive), 2);
    one = std::move(two);
    EXPECT_EQ(sync_wait(std::move(one)), 2);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Lazy, MovedFromThrowsALogicError) {
  auto lazy = number(1);
  EXPECT_EQ(sync_wait(std::move(lazy)), 1);
  EXPECT_THROW(static_cast<void>(sync_wait(std::move(lazy))), std::logic_error);  // NOLINT

  const auto await_twice = []() -> Lazy<int> {
    auto inner = number(1);
    int sum = co_await std::move(inner);
    try {
      sum += co_await std::move(inner);  // NOLINT: that is the point.
    } catch (const std::logic_error&) {
      sum += 100;
    }
    co_return sum;
  };
  EXPECT_EQ(sync_wait(await_twice()), 101);

  WorkerPool pool{{.workers = 1, .capacity = 1}};
  EXPECT_THROW(static_cast<void>(spawn(pool, std::move(lazy))), std::logic_error);  // NOLINT
  EXPECT_EQ(pool.stats().coroutines, 0u);
}

// -- No stack growth ------------------------------------------------------------------------------

TEST(Lazy, AwaitedAMillionTimesInALoopTakesNoStack) {
  const auto loop = []() -> Lazy<std::int64_t> {
    std::int64_t sum = 0;
    for (int i = 0; i < million; ++i) sum += co_await number(i);
    co_return sum;
  };
  EXPECT_EQ(sync_wait(loop()), std::int64_t{million} * (million - 1) / 2);
}

Lazy<int> chain(int depth) {
  if (depth == 0) co_return 0;
  co_return 1 + co_await chain(depth - 1);
}

TEST(Lazy, AMillionDeepTakesNoStack) { EXPECT_EQ(sync_wait(chain(million)), million); }

Lazy<> failing_chain(int depth) {
  if (depth == 0) throw std::runtime_error("at the bottom");
  co_await failing_chain(depth - 1);
}

TEST(Lazy, AnExceptionFromDeepDownTakesNoStack) {
  EXPECT_THROW(sync_wait(failing_chain(20'000)), std::runtime_error);
}

Lazy<int> suspended_chain(int depth, Event& event) {
  if (depth == 0) {
    const auto waited = co_await event.async_wait();
    co_return waited ? 0 : -million;
  }
  co_return 1 + co_await suspended_chain(depth - 1, event);
}

// The same, but the way back begins on another thread's call.
TEST(Lazy, AMillionDeepMayBeSuspendedAtTheBottom) {
  Event event;
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  auto depth = spawn(pool, suspended_chain(million, event));
  ASSERT_TRUE(depth);
  eventually([&] { return event.stats().waiting_consumers == 1; }, 60s);
  event.set();
  EXPECT_EQ(depth->get(), million);
}

TEST(Lazy, TurnsBetweenTwoTakeNoStack) {
  BlockingQueue<int> there{{.capacity = 1}};
  BlockingQueue<int> back{{.capacity = 1}};
  WorkerPool pool{{.workers = 1, .capacity = 2}};
  constexpr int turns = 100'000;
  const auto echo = [&]() -> Lazy<> {
    while (auto item = co_await there.async_take()) {
      const auto put = co_await back.async_put(std::move(*item));
      if (!put) break;
    }
  };
  const auto ask = [&]() -> Lazy<int> {
    int sum = 0;
    for (int i = 0; i < turns; ++i) {
      const auto put = co_await there.async_put(1);
      const auto answer = co_await back.async_take();
      if (put && answer) sum += *answer;
    }
    there.close();
    co_return sum;
  };
  auto echoed = spawn(pool, echo());
  auto asked = spawn(pool, ask());
  ASSERT_TRUE(echoed && asked);
  EXPECT_EQ(asked->get(), turns);
  EXPECT_TRUE(echoed->get());
}

// -- The stop_token -------------------------------------------------------------------------------

Lazy<std::stop_token> stop_of_the_task() { co_return co_await current_stop(); }

TEST(CurrentStop, IsThatOfTheTaskAllTheWayDown) {
  const auto outer = []() -> Lazy<std::pair<std::stop_token, std::stop_token>> {
    auto own = co_await current_stop();
    auto inner = co_await stop_of_the_task();
    co_return std::pair(std::move(own), std::move(inner));
  };
  std::stop_source source;
  const auto [own, inner] = sync_wait(outer(), source.get_token());
  EXPECT_EQ(own, source.get_token());
  EXPECT_EQ(inner, source.get_token());
}

TEST(CurrentStop, IsEmptyIfNoneWasGiven) {
  EXPECT_FALSE(sync_wait(stop_of_the_task()).stop_possible());
}

TEST(CurrentStop, OfASpawnedOneIsThePools) {
  Event event;
  const auto ask = [&]() -> Lazy<bool> {
    const auto before = co_await current_stop();
    EXPECT_TRUE(before.stop_possible());
    EXPECT_FALSE(before.stop_requested());
    static_cast<void>(co_await event.async_wait());
    const auto inner = co_await stop_of_the_task();
    co_return inner == before&& inner.stop_requested();
  };
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  auto asked = spawn(pool, ask());
  ASSERT_TRUE(asked);
  eventually([&] { return event.stats().waiting_consumers == 1; });
  EXPECT_TRUE(pool.shutdown(interrupt()).is_complete());
  EXPECT_EQ(asked->get(), true);
}

// -- sync_wait ------------------------------------------------------------------------------------

TEST(SyncWait, StaysOnTheCallingThread) {
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto me = std::this_thread::get_id();
  const auto take = [&]() -> Lazy<bool> {
    const auto item = co_await queue.async_take();
    co_return item&& std::this_thread::get_id() == me;
  };
  std::jthread producer([&] {
    eventually([&] { return queue.stats().waiting_consumers == 1; });
    EXPECT_TRUE(queue.put(1));
  });
  EXPECT_TRUE(sync_wait(take()));
}

TEST(SyncWait, EndsTheWaitWhenAStopIsRequested) {
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto take = [&]() -> Lazy<Refusal> {
    const auto item = co_await queue.async_take();
    co_return item ? Refusal::full : item.error();
  };
  std::stop_source source;
  std::jthread stopper([&] {
    eventually([&] { return queue.stats().waiting_consumers == 1; });
    source.request_stop();
  });
  EXPECT_EQ(sync_wait(take(), source.get_token()), Refusal::stopped);
  EXPECT_EQ(queue.stats().waiting_consumers, 0u);
}

TEST(SyncWait, AskedToStopBeforehandWaitsForNothing) {
  BlockingQueue<int> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(1));
  const auto take = [&]() -> Lazy<Refusal> {
    const auto item = co_await queue.async_take();
    co_return item ? Refusal::full : item.error();
  };
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(sync_wait(take(), source.get_token()), Refusal::stopped) << "a stop comes first";
  EXPECT_EQ(queue.size(), 1u);
}

TEST(SyncWait, ThrowsWhatWasThrownAfterAWait) {
  Event event;
  const auto fail = [&]() -> Lazy<> {
    const auto waited = co_await event.async_wait();
    if (waited) throw std::runtime_error("after the wait");
  };
  std::jthread setter([&] {
    eventually([&] { return event.stats().waiting_consumers == 1; });
    event.set();
  });
  EXPECT_THROW(sync_wait(fail()), std::runtime_error);
}

// The loop is gone the moment the coroutine ends; who made it ready may not have returned yet.
TEST(SyncWait, MayReturnWhileTheOneThatWokeItIsStillAtIt) {
  constexpr int rounds = 3'000;
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto take = [&]() -> Lazy<int> {
    const auto item = co_await queue.async_take();
    co_return item ? *item : -1;
  };
  std::jthread producer([&] {
    for (int i = 0; i < rounds; ++i) EXPECT_TRUE(queue.put(int{i}));
  });
  for (int i = 0; i < rounds; ++i) EXPECT_EQ(sync_wait(take()), i);
}

TEST(SyncWait, MayBeStoppedAndWokenAtTheSameMoment) {
  constexpr int rounds = 2'000;
  BlockingQueue<int> queue{{.capacity = rounds}};
  std::atomic<int> round = 0;
  std::vector<std::stop_source> stops(rounds);
  std::jthread stopper([&] {
    for (int i = 0; i < rounds; ++i) {
      while (round < i) std::this_thread::yield();
      stops[static_cast<std::size_t>(i)].request_stop();
    }
  });
  std::jthread producer([&] {
    for (int i = 0; i < rounds; ++i) {
      while (round < i) std::this_thread::yield();
      EXPECT_TRUE(queue.put(1));
    }
  });
  const auto take = [&]() -> Lazy<int> {
    const auto item = co_await queue.async_take();
    co_return item ? *item : 0;
  };
  int taken = 0;
  for (; round < rounds; ++round) {
    taken += sync_wait(take(), stops[static_cast<std::size_t>(round)].get_token());
  }
  producer.join();
  EXPECT_EQ(static_cast<std::size_t>(taken) + queue.drain().size(), std::size_t{rounds})
      << "what was not taken is still there";
}

TEST(SyncWait, InsideACoroutineRunsOneInsideTheOther) {
  const auto outer = []() -> Lazy<int> {
    const int inner = sync_wait(number(1));
    co_return inner + co_await number(2);
  };
  EXPECT_EQ(sync_wait(outer()), 3);
}

// The job waits for a coroutine that needs a worker: with one worker a spare has to come in.
TEST(SyncWait, OnTheOnlyWorkerBringsInASpare) {
  BlockingQueue<int> queue{{.capacity = 1}};
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto take = [&]() -> Lazy<int> {
    const auto item = co_await queue.async_take();
    co_return item ? *item : -1;
  };
  const auto put = [&]() -> Lazy<> {
    const auto added = co_await queue.async_put(42);
    EXPECT_TRUE(added);
  };
  auto job = pool.submit([&] {
    auto producer = spawn(pool, put());
    EXPECT_TRUE(producer);
    return sync_wait(take());
  });
  ASSERT_TRUE(job);
  EXPECT_EQ(job->get(), 42);
}

// The same from inside a coroutine of the pool; and what the loop makes ready is for the spare.
TEST(SyncWait, InACoroutineOnTheOnlyWorkerBringsInASpare) {
  BlockingQueue<int> there{{.capacity = 1}};
  BlockingQueue<int> back{{.capacity = 1}};
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto echo = [&]() -> Lazy<> {
    while (auto item = co_await there.async_take()) {
      const auto put = co_await back.async_put(std::move(*item));
      EXPECT_TRUE(put);
    }
  };
  const auto ask = [&]() -> Lazy<int> {
    const auto put = co_await there.async_put(1);
    const auto answer = co_await back.async_take();
    co_return put&& answer ? *answer : 0;
  };
  const auto outer = [&]() -> Lazy<int> {
    int sum = 0;
    for (int i = 0; i < 500; ++i) sum += sync_wait(ask());
    there.close();
    co_return sum;
  };
  auto echoed = spawn(pool, echo());
  auto sum = spawn(pool, outer());
  ASSERT_TRUE(echoed && sum);
  EXPECT_EQ(sum->get(), 500);
  EXPECT_TRUE(echoed->get());
}

}  // namespace
}  // namespace handoff
