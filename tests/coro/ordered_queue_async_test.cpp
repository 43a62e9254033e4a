// Coroutines and selects at the ends of a priority queue and of a delay queue. See queue_async_test.cpp for the plain one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coro/manual_executor.hpp"
#include "handoff/channel.hpp"
#include "handoff/delay_queue.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/select.hpp"
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
using testing::ManualClock;
using tests::Begun;
using tests::hurried;
using tests::Item;
using tests::Ledger;
using tests::ManualExecutor;
using tests::MoveFailed;
using tests::MoveProbe;
using tests::StopSlot;
using tests::throwing_after;

using Taken = std::expected<int, Refusal>;
using Added = std::expected<void, Refusal>;

const auto stopped = std::unexpected(Refusal::stopped);
const auto timed_out = std::unexpected(Refusal::timed_out);
const auto closed = std::unexpected(Refusal::closed);

template <typename F>
auto elsewhere(F f) {
  return std::async(std::launch::async, std::move(f));
}

// -- Both under the same verbs --------------------------------------------------------------------

template <typename T>
struct Urgent {
  explicit Urgent(std::size_t capacity)
      : queue({.capacity = capacity}, [](const T&) { return 0; }) {}
  auto put(T&& item, const Wait& wait = {}) { return queue.put(std::move(item), wait); }
  auto offer(T&& item) { return queue.offer(std::move(item)); }
  auto async_put(T&& item, Deadline deadline = {}) {
    return queue.async_put(std::move(item), deadline);
  }
  auto async_offer(T&& item, Duration patience) {
    return queue.async_offer(std::move(item), patience);
  }
  PriorityBlockingQueue<T> queue;
};

// Due at once, or a little later, one after the other.
template <typename T>
struct Delayed {
  explicit Delayed(std::size_t capacity, Duration longest = {})
      : queue({.capacity = capacity}), longest_delay(longest) {}
  auto put(T&& item, const Wait& wait = {}) { return queue.put(std::move(item), due(), wait); }
  auto offer(T&& item) { return queue.offer(std::move(item), due()); }
  auto async_put(T&& item, Deadline deadline = {}) {
    return queue.async_put(std::move(item), due(), deadline);
  }
  auto async_offer(T&& item, Duration patience) {
    return queue.async_offer(std::move(item), due(), patience);
  }
  Due due() {
    if (longest_delay == Duration::zero()) return due_at(TimePoint{});
    return due_in(longest_delay * (++puts % 4) / 3);
  }
  DelayQueue<T> queue;
  const Duration longest_delay;
  std::atomic<unsigned> puts = 0;
};

struct Priority {
  template <typename T>
  using Of = Urgent<T>;
};
struct Delay {
  template <typename T>
  using Of = Delayed<T>;
};
struct RandomDelay {
  template <typename T>
  struct Of : Delayed<T> {
    explicit Of(std::size_t capacity) : Delayed<T>(capacity, 150us) {}
  };
};

template <typename At>
Lazy<Taken> take_one(At& at, Deadline deadline = {}) {
  co_return co_await at.queue.async_take(deadline);
}
template <typename At>
Lazy<Taken> poll_one(At& at, Duration patience) {
  co_return co_await at.queue.async_poll(patience);
}
template <typename At>
Lazy<Added> put_one(At& at, int item, Deadline deadline = {}) {
  co_return co_await at.async_put(std::move(item), deadline);
}
Lazy<Taken> take_from(DelayQueue<int>& queue, Deadline deadline = {}) {
  co_return co_await queue.async_take(deadline);
}

template <typename Kind>
class AsyncOrderedQueue : public ::testing::Test {};
using BothQueues = ::testing::Types<Priority, Delay>;
TYPED_TEST_SUITE(AsyncOrderedQueue, BothQueues);

TYPED_TEST(AsyncOrderedQueue, TakesWhatWasPut) {
  typename TypeParam::template Of<int> at{2};
  EXPECT_TRUE(sync_wait(put_one(at, 1)));
  EXPECT_TRUE(sync_wait(put_one(at, 2)));
  EXPECT_EQ(sync_wait(take_one(at)), 1);
  EXPECT_EQ(sync_wait(poll_one(at, 1h)), 2);
}

TYPED_TEST(AsyncOrderedQueue, SaysWhyItRefuses) {
  typename TypeParam::template Of<int> at{1};
  EXPECT_EQ(sync_wait(take_one(at, within(-1h))), timed_out);
  EXPECT_EQ(sync_wait(poll_one(at, 0ms)), timed_out);
  EXPECT_TRUE(sync_wait(put_one(at, 1, within(-1h)))) << "what needs no wait is done";
  EXPECT_EQ(sync_wait(put_one(at, 2, within(1us))), timed_out);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(sync_wait(put_one(at, 2), stop.get_token()), stopped);
  EXPECT_EQ(sync_wait(take_one(at), stop.get_token()), stopped);
  at.queue.close();
  EXPECT_EQ(sync_wait(put_one(at, 2)), closed);
  EXPECT_EQ(sync_wait(take_one(at)), 1);
  EXPECT_EQ(sync_wait(take_one(at)), closed);
  EXPECT_EQ(at.queue.stats().refused, 3u);
}

TYPED_TEST(AsyncOrderedQueue, ASuspendedTakeGetsTheItemThatComes) {
  typename TypeParam::template Of<int> at{1};
  ManualExecutor executor;
  Begun<Taken> taking(executor, take_one(at));
  EXPECT_EQ(at.queue.stats().waiting_consumers, 1u);
  ASSERT_TRUE(at.put(7));
  EXPECT_EQ(executor.run(), 1u);
  ASSERT_TRUE(taking.is_done());
  EXPECT_EQ(taking.result(), 7);
}

TYPED_TEST(AsyncOrderedQueue, ASuspendedPutGetsTheRoomThatIsMade) {
  typename TypeParam::template Of<int> at{1};
  ASSERT_TRUE(at.put(1));
  ManualExecutor executor;
  Begun<Added> putting(executor, put_one(at, 2));
  EXPECT_EQ(at.queue.stats().waiting_producers, 1u);
  EXPECT_EQ(at.queue.poll(), 1);
  EXPECT_EQ(executor.run(), 1u);
  ASSERT_TRUE(putting.is_done());
  EXPECT_TRUE(putting.result());
  EXPECT_EQ(at.queue.poll(), 2);
}

TYPED_TEST(AsyncOrderedQueue, AStoppedPutLeavesTheValueWithTheCaller) {
  typename TypeParam::template Of<Item> at{1};
  ASSERT_TRUE(at.put(std::make_unique<std::size_t>(1)));
  auto item = std::make_unique<std::size_t>(2);
  const auto put = [&]() -> Lazy<Added> { co_return co_await at.async_put(std::move(item)); };
  std::stop_source stop;
  ManualExecutor executor;
  Begun<Added> putting(executor, put(), stop.get_token());
  stop.request_stop();
  ASSERT_EQ(at.queue.poll().value() == nullptr, false);  // Too late.
  executor.run();
  EXPECT_EQ(putting.result(), stopped);
  ASSERT_TRUE(item);
  EXPECT_EQ(*item, 2u);
  EXPECT_EQ(at.queue.size(), 0u);
}

TYPED_TEST(AsyncOrderedQueue, AStoppedTakeLeavesTheItemInTheQueue) {
  typename TypeParam::template Of<int> at{1};
  std::stop_source stop;
  ManualExecutor executor;
  Begun<Taken> taking(executor, take_one(at), stop.get_token());
  stop.request_stop();
  ASSERT_TRUE(at.put(7));  // Too late.
  executor.run();
  EXPECT_EQ(taking.result(), stopped);
  EXPECT_EQ(at.queue.poll(), 7);
}

TYPED_TEST(AsyncOrderedQueue, CloseReachesTheSuspended) {
  typename TypeParam::template Of<int> empty{1}, full{1};
  ASSERT_TRUE(full.put(0));
  WorkerPool pool{{.workers = 1, .capacity = 16}};
  std::vector<Future<Taken>> takes;
  std::vector<Future<Added>> puts;
  for (int i = 0; i < 5; ++i) {
    takes.push_back(*spawn(pool, take_one(empty)));
    puts.push_back(*spawn(pool, put_one(full, i)));
  }
  eventually([&] {
    return empty.queue.stats().waiting_consumers == 5 && full.queue.stats().waiting_producers == 5;
  });
  empty.queue.close();
  full.queue.close();
  for (auto& each : takes) EXPECT_EQ(each.get().value(), closed);
  for (auto& each : puts) EXPECT_EQ(each.get().value(), closed);
  EXPECT_EQ(full.queue.size(), 1u);
}

TYPED_TEST(AsyncOrderedQueue, EndsByTheClock) {
  ManualClock clock;
  typename TypeParam::template Of<int> empty{1};
  typename TypeParam::template Of<Item> full{1};
  ASSERT_TRUE(full.put(std::make_unique<std::size_t>(1)));
  auto item = std::make_unique<std::size_t>(2);
  const auto offer = [&]() -> Lazy<Added> {
    co_return co_await full.async_offer(std::move(item), 10ms);
  };
  ManualExecutor executor;
  Begun<Taken> taking(executor, poll_one(empty, 10ms));
  Begun<Added> putting(executor, offer());
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(10ms);
  eventually([&] {
    executor.run();
    return taking.is_done() && putting.is_done();
  });
  EXPECT_EQ(taking.result(), timed_out);
  EXPECT_EQ(putting.result(), timed_out);
  EXPECT_TRUE(item && *item == 2);
  EXPECT_EQ(empty.queue.stats().waiting_consumers, 0u);
  EXPECT_EQ(clock.waiting(), 0u);
}

TYPED_TEST(AsyncOrderedQueue, ATakeWhoseMoveThrowsThrowsAtItsCoAwaitAndTheNextGetsTheNext) {
  typename TypeParam::template Of<MoveProbe> at{2};
  const auto take = [&]() -> Lazy<int> {
    try {
      const auto item = co_await at.queue.async_take();
      co_return item ? item->value : -1;
    } catch (const MoveFailed&) {
      co_return -2;
    }
  };
  ManualExecutor executor;
  Begun<int> first(executor, take());
  Begun<int> second(executor, take());
  ASSERT_TRUE(at.put(throwing_after(1)));  // In, and not out again.
  executor.run();
  EXPECT_EQ(first.result(), -2);
  EXPECT_EQ(at.queue.size(), 0u) << "it counts as taken";
  EXPECT_FALSE(second.is_done());
  ASSERT_TRUE(at.put(MoveProbe(7)));
  executor.run();
  EXPECT_EQ(second.result(), 7);
  EXPECT_EQ(at.queue.stats().waiting_consumers, 0u);
}

TYPED_TEST(AsyncOrderedQueue, APutWhoseMoveThrowsThrowsAtItsCoAwaitAndPassesTheRoomOn) {
  typename TypeParam::template Of<MoveProbe> at{1};
  ASSERT_TRUE(at.put(MoveProbe(0)));
  const auto put = [&](int moves, int value) -> Lazy<int> {
    auto item = throwing_after(moves, value);
    try {
      const auto result = co_await at.async_put(std::move(item));
      co_return result ? -1 : -3;
    } catch (const MoveFailed&) {
      co_return item.value;  // NOLINT: as it was.
    }
  };
  ManualExecutor executor;
  Begun<int> first(executor, put(0, 5));
  Begun<int> second(executor, put(-1, 6));
  EXPECT_EQ(at.queue.poll()->value, 0);
  executor.run();
  EXPECT_EQ(first.result(), 5);
  EXPECT_EQ(second.result(), -1);
  EXPECT_EQ(at.queue.poll()->value, 6);
}

// The producer lost its room to others too often: the next who finds room puts its item in first.
TYPED_TEST(AsyncOrderedQueue, APutterThatLostItsTurnsIsServed) {
  typename TypeParam::template Of<int> at{1};
  ASSERT_TRUE(at.put(0));
  ManualExecutor executor;
  Begun<Added> putting(executor, put_one(at, 42));
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(at.queue.poll(), i);  // Its turn,
    ASSERT_TRUE(at.offer(i + 1));   // but another is faster.
    executor.run();
    ASSERT_FALSE(putting.is_done());
  }
  ASSERT_EQ(at.queue.poll(), 4);
  EXPECT_EQ(at.offer(7), std::unexpected(Refusal::full)) << "its item goes first";
  EXPECT_EQ(at.queue.poll(), 42);
  executor.run();
  EXPECT_TRUE(putting.result());
}

// A coroutine may have to wait for a worker, for as long as others compute. Threads must not have to wait for that.
TYPED_TEST(AsyncOrderedQueue, ACoroutineWithoutAWorkerHoldsUpNoThread) {
  typename TypeParam::template Of<int> at{4};
  ManualExecutor executor;
  Begun<Taken> taking(executor, take_one(at));
  auto thread = elsewhere([&] { return at.queue.take(); });
  eventually([&] { return at.queue.stats().waiting_consumers == 2; });
  ASSERT_TRUE(at.put(1));  // The coroutine's turn.
  ASSERT_TRUE(at.put(2));
  EXPECT_EQ(thread.wait_for(10s), std::future_status::ready) << "two items, and it sleeps";
  executor.run();
  EXPECT_TRUE(thread.get());
  EXPECT_TRUE(taking.result());
}

TYPED_TEST(AsyncOrderedQueue, IsShownWhileItWaits) {
  typename TypeParam::template Of<int> at{1};
  ManualExecutor executor;
  Begun<Taken> taking(executor, take_one(at));
  const auto is_shown = [] {
    for (const auto& each : waits()) {
      if (each.operation == "take" && each.thread == "by hand") return true;
    }
    return false;
  };
  EXPECT_TRUE(is_shown());
  ASSERT_TRUE(at.put(1));
  executor.run();
  EXPECT_FALSE(is_shown());
}

// -- Order ----------------------------------------------------------------------------------------

TEST(AsyncPriorityQueue, HandsOutTheMostUrgentFirst) {
  PriorityBlockingQueue<int> queue{{.capacity = 8}};
  const auto take_all = [&]() -> Lazy<std::vector<int>> {
    std::vector<int> items;
    while (auto item = co_await queue.async_take()) items.push_back(*item);
    co_return items;
  };
  const auto put_all = [&]() -> Lazy<> {
    for (int item : {3, 1, 4, 1, 5}) {
      const auto put = co_await queue.async_put(std::move(item));
      EXPECT_TRUE(put);
    }
    queue.close();
  };
  sync_wait(put_all());
  EXPECT_EQ(sync_wait(take_all()), (std::vector{5, 4, 3, 1, 1}));
}

TEST(AsyncPriorityQueue, ATakerThatLostItsTurnsIsServed) {
  PriorityBlockingQueue<int> queue{{.capacity = 4}};
  ManualExecutor executor;
  const auto take = [&]() -> Lazy<Taken> { co_return co_await queue.async_take(); };
  Begun<Taken> taking(executor, take());
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue.put(int(i)));  // Its turn,
    ASSERT_EQ(queue.poll(), i);      // but another is faster.
    executor.run();
    ASSERT_FALSE(taking.is_done());
  }
  ASSERT_TRUE(queue.put(42));
  EXPECT_EQ(queue.poll(), std::unexpected(Refusal::empty)) << "it is served first";
  executor.run();
  EXPECT_EQ(taking.result(), 42);
}

// -- Due times ------------------------------------------------------------------------------------

struct AsyncDelayQueue : ::testing::Test {
  void await_timers(std::size_t count) {
    eventually([&] { return clock.waiting() == count; });
  }
  void await_takers(std::size_t count) {
    eventually([&] { return queue.stats().waiting_consumers == count; });
  }
  // The timers run on a thread of their own.
  void await_ready(std::size_t count) {
    eventually([&] { return executor.ready() == count; });
    executor.run();
  }

  ManualClock clock;
  ManualExecutor executor;
  DelayQueue<int> queue{{.capacity = 100}};
};

TEST_F(AsyncDelayQueue, ATakerGetsItsItemWhenItIsDueAndNotBefore) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  Begun<Taken> taking(executor, take_from(queue));
  await_timers(1);
  clock.advance(10ms - 1ns);
  await_timers(1);
  EXPECT_EQ(executor.run(), 0u);
  clock.advance(1ns);
  await_ready(1);
  EXPECT_EQ(taking.result(), 1);
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST_F(AsyncDelayQueue, TakersGetTheItemsInOrderOfDueTimeFirstComeFirstServed) {
  Begun<Taken> first(executor, take_from(queue));
  Begun<Taken> second(executor, take_from(queue));
  Begun<Taken> third(executor, take_from(queue));
  for (int i = 3; i >= 1; --i) ASSERT_TRUE(queue.put(int(i), due_in(i * 10ms)));
  await_timers(1);
  clock.advance(1s);
  await_ready(3);
  EXPECT_EQ(first.result(), 1);
  EXPECT_EQ(second.result(), 2);
  EXPECT_EQ(third.result(), 3);
}

TEST_F(AsyncDelayQueue, OneTimerDoesForAllTakers) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  std::vector<std::unique_ptr<Begun<Taken>>> taking;
  for (int i = 0; i < 5; ++i) {
    taking.push_back(std::make_unique<Begun<Taken>>(executor, take_from(queue)));
  }
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(taking[0]->result(), 1);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(taking[1]->result(), 2);
  EXPECT_EQ(clock.waiting(), 0u) << "there is nothing to be due";
  queue.close();
  EXPECT_EQ(executor.run(), 3u);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(taking[i]->result(), closed);
}

TEST_F(AsyncDelayQueue, AnEarlierItemPutLaterMovesTheMomentForward) {
  ASSERT_TRUE(queue.put(2, due_in(1h)));
  Begun<Taken> taking(executor, take_from(queue));
  await_timers(1);
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  eventually([&] {
    clock.advance(1ms);
    return executor.run() == 1;
  });
  EXPECT_EQ(taking.result(), 1);
}

TEST_F(AsyncDelayQueue, AnItemDueAtOnceIsHandedOverByWhoPutsIt) {
  ASSERT_TRUE(queue.put(2, due_in(1h)));
  Begun<Taken> first(executor, take_from(queue));
  Begun<Taken> second(executor, take_from(queue));
  ASSERT_TRUE(queue.put(1, due_in(0s)));
  EXPECT_EQ(queue.size(), 1u) << "it was never to be had by others";
  EXPECT_EQ(executor.run(), 1u);
  EXPECT_EQ(first.result(), 1);
  await_timers(1);
  clock.advance(1h);
  await_ready(1);
  EXPECT_EQ(second.result(), 2);
}

// The producer lost its room to others too often, and somebody else puts its item in.
TEST_F(AsyncDelayQueue, AnItemPutInForItsProducerIsHandedOverToo) {
  DelayQueue<int> small{{.capacity = 1}};
  ASSERT_TRUE(small.put(0, due_in(1h)));
  const auto put = [&]() -> Lazy<Added> {
    int item = 42;
    co_return co_await small.async_put(std::move(item), due_in(0s));
  };
  Begun<Taken> taking(executor, take_from(small));
  Begun<Added> putting(executor, put());
  for (int i = 0; i < 4; ++i) {
    ASSERT_EQ(small.drain().size(), 1u);
    ASSERT_TRUE(small.offer(1, due_in(1h)));
    executor.run();
    ASSERT_FALSE(putting.is_done() || taking.is_done());
  }
  ASSERT_EQ(small.drain().size(), 1u);
  EXPECT_TRUE(small.offer(2, due_in(1h))) << "there is room again at once";
  executor.run();
  EXPECT_TRUE(putting.result());
  EXPECT_EQ(taking.result(), 42);
}

TEST_F(AsyncDelayQueue, TheWaitGoesOnIfTheItemItWasForIsDrained) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  Begun<Taken> taking(executor, take_from(queue));
  await_timers(1);
  EXPECT_EQ(queue.drain(), std::vector{1});
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  clock.advance(10ms);
  await_timers(1);
  EXPECT_EQ(executor.run(), 0u);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(taking.result(), 2);
}

TEST_F(AsyncDelayQueue, TheFirstInLineIsNeverOvertaken) {
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(queue.put(int(i), due_in(10ms)));
    Begun<Taken> taking(executor, take_from(queue));
    clock.advance(10ms);
    // Whoever comes first, this or the timer.
    EXPECT_EQ(queue.poll(), std::unexpected(Refusal::empty));
    await_ready(1);
    EXPECT_EQ(taking.result(), i);
  }
}

TEST_F(AsyncDelayQueue, AThreadThatComesLaterStandsBehind) {
  Begun<Taken> first(executor, take_from(queue));
  auto second = elsewhere([&] { return queue.take(); });
  await_takers(2);
  Begun<Taken> third(executor, take_from(queue));
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(queue.put(int(i), due_in(i * 10ms)));
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(first.result(), 1);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(second.get(), 2);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(third.result(), 3);
}

// What becomes due while the first has no worker goes to the others all the same.
TEST_F(AsyncDelayQueue, ATakerWithoutAWorkerHoldsUpNobodysDueTime) {
  Begun<Taken> first(executor, take_from(queue));
  auto second = elsewhere([&] { return queue.take(); });
  await_takers(2);
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  await_timers(1);
  clock.advance(10ms);
  eventually([&] { return executor.ready() == 1; });
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(second.get(), 2);
  executor.run();
  EXPECT_EQ(first.result(), 1);
}

TEST_F(AsyncDelayQueue, AHundredItemsDueAtTheSameMomentReachAHundredTakersInOrder) {
  std::vector<std::unique_ptr<Begun<Taken>>> taking;
  for (int i = 0; i < 100; ++i) {
    taking.push_back(std::make_unique<Begun<Taken>>(executor, take_from(queue)));
    ASSERT_TRUE(queue.put(int(i), due_in(10ms)));
  }
  await_timers(1);
  clock.advance(10ms);
  await_ready(100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(taking[static_cast<std::size_t>(i)]->result(), i);
}

TEST_F(AsyncDelayQueue, AThreadThatStopsWatchingHandsTheWatchOn) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  std::stop_source stop;
  auto watcher = elsewhere([&] { return queue.take({.stop = stop.get_token()}); });
  await_takers(1);
  Begun<Taken> next(executor, take_from(queue));
  await_timers(1);
  stop.request_stop();
  EXPECT_EQ(watcher.get(), stopped);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(next.result(), 1);
}

TEST_F(AsyncDelayQueue, AThreadThatGetsItsItemHandsTheWatchOn) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  auto watcher = elsewhere([&] { return queue.take(); });
  await_takers(1);
  Begun<Taken> next(executor, take_from(queue));
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(watcher.get(), 1);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(next.result(), 2);
}

TEST_F(AsyncDelayQueue, ACoroutineThatIsStoppedLeavesTheWatchToAThread) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  std::stop_source stop;
  Begun<Taken> first(executor, take_from(queue), stop.get_token());
  auto next = elsewhere([&] { return queue.take(); });
  await_takers(2);
  await_timers(1);
  stop.request_stop();
  executor.run();
  EXPECT_EQ(first.result(), stopped);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(next.get(), 1);
}

TEST_F(AsyncDelayQueue, ACoroutineThatIsStoppedLeavesTheWatchToTheNext) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  std::stop_source stop;
  Begun<Taken> first(executor, take_from(queue), stop.get_token());
  Begun<Taken> next(executor, take_from(queue));
  stop.request_stop();
  executor.run();
  EXPECT_EQ(first.result(), stopped);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(next.result(), 1);
}

// It is claimed, and has not heard of it yet: what is due meanwhile goes to the next.
TEST_F(AsyncDelayQueue, OneThatWasStoppedAndHasNoWorkerIsPassedOver) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  std::stop_source stop;
  Begun<Taken> first(executor, take_from(queue), stop.get_token());
  auto next = elsewhere([&] { return queue.take(); });
  await_takers(2);
  await_timers(1);
  stop.request_stop();
  clock.advance(10ms);
  EXPECT_EQ(next.get(), 1);
  executor.run();
  EXPECT_EQ(first.result(), stopped);
}

// The next takes for itself then, and the timer is set for those behind it.
TEST_F(AsyncDelayQueue, OneThatIsPassedOverDoesNotCostTheOthersTheirDueTime) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  std::stop_source stop;
  Begun<Taken> first(executor, take_from(queue), stop.get_token());
  Begun<Taken> second(executor, take_from(queue));
  Begun<Taken> third(executor, take_from(queue));
  stop.request_stop();
  await_timers(1);
  clock.advance(10ms);
  await_ready(2);
  EXPECT_EQ(first.result(), stopped);
  EXPECT_EQ(second.result(), 1);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(third.result(), 2);
}

TEST_F(AsyncDelayQueue, ADeadlineBeforeTheDueTimeEndsTheWaitAndLeavesTheItem) {
  ASSERT_TRUE(queue.put(1, due_in(20ms)));
  Begun<Taken> taking(executor, take_from(queue, within(10ms)));
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(taking.result(), timed_out);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST_F(AsyncDelayQueue, AnItemDueExactlyAtTheDeadlineIsTaken) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  Begun<Taken> first(executor, take_from(queue, within(10ms)));
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(first.result(), 1);

  // The deadline is known before the due time here, and comes first.
  Begun<Taken> second(executor, take_from(queue, within(10ms)));
  ASSERT_TRUE(queue.put(2, due_in(10ms)));
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(second.result(), 2);
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST_F(AsyncDelayQueue, AfterCloseWhatWasAcceptedIsStillDeliveredWhenDue) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  Begun<Taken> first(executor, take_from(queue));
  Begun<Taken> second(executor, take_from(queue));
  queue.close();
  executor.run();
  EXPECT_FALSE(first.is_done() || second.is_done());
  await_timers(1);
  clock.advance(10ms);
  eventually([&] {
    executor.run();
    return first.is_done() && second.is_done();
  });
  EXPECT_EQ(first.result(), 1);
  EXPECT_EQ(second.result(), closed);
}

TEST_F(AsyncDelayQueue, DrainingAClosedQueueEndsTheWaitsOfAll) {
  ASSERT_TRUE(queue.put(1, due_in(1h)));
  Begun<Taken> first(executor, take_from(queue));
  auto second = elsewhere([&] { return queue.take(); });
  await_takers(2);
  queue.close();
  executor.run();
  EXPECT_FALSE(first.is_done());
  EXPECT_EQ(queue.drain(), std::vector{1});
  executor.run();
  EXPECT_EQ(first.result(), closed);
  EXPECT_EQ(second.get(), closed);
}

TEST_F(AsyncDelayQueue, AnItemThatThrowsOnItsWayToTheFirstLeavesTheOthersTheirs) {
  DelayQueue<MoveProbe> fragile{{.capacity = 2}};
  ASSERT_TRUE(fragile.put(throwing_after(1), due_in(10ms)));
  ASSERT_TRUE(fragile.put(MoveProbe(2), due_in(20ms)));
  const auto take = [&]() -> Lazy<int> { co_return (co_await fragile.async_take())->value; };
  Begun<int> first(executor, take());
  auto second = elsewhere([&] { return fragile.take()->value; });
  eventually([&] { return fragile.stats().waiting_consumers == 2; });
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_THROW(first.result(), MoveFailed);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(second.get(), 2);
}

// -- Select ---------------------------------------------------------------------------------------

constexpr auto ignore = [](auto&&...) {};

TYPED_TEST(AsyncOrderedQueue, IsTakenFromByASelect) {
  typename TypeParam::template Of<int> at{1};
  Channel<int> channel{0};
  int got = 0;
  const auto choose = [&] {
    return select(channel.on_receive(ignore), at.queue.on_take([&](int item) { got = item; }));
  };
  ASSERT_TRUE(at.put(1));
  EXPECT_EQ(choose(), 1u);
  EXPECT_EQ(got, 1);
  auto selecting = elsewhere(choose);
  eventually([&] { return at.queue.stats().waiting_consumers == 1; });
  ASSERT_TRUE(at.put(2));
  EXPECT_EQ(selecting.get(), 1u);
  EXPECT_EQ(got, 2);
  EXPECT_EQ(at.queue.size(), 0u);
  at.queue.close();
  EXPECT_EQ(choose(), std::unexpected(Refusal::closed));
  EXPECT_EQ(select(at.queue.on_take(ignore)), 0u);
}

TYPED_TEST(AsyncOrderedQueue, AClosingQueueEndsASelect) {
  typename TypeParam::template Of<int> at{1};
  Channel<int> channel{0};
  auto selecting =
      elsewhere([&] { return select(channel.on_receive(ignore), at.queue.on_take([](int) {})); });
  eventually([&] { return at.queue.stats().waiting_consumers == 1; });
  at.queue.close();
  EXPECT_EQ(selecting.get(), std::unexpected(Refusal::closed));
}

TYPED_TEST(AsyncOrderedQueue, ASelectThatTakesSomethingElseLeavesTheItemToTheNext) {
  typename TypeParam::template Of<int> at{1};
  Channel<int> channel{1};
  ManualExecutor executor;
  const auto choose = [&]() -> Lazy<Selected> {
    co_return co_await async_select(at.queue.on_take(ignore), channel.on_receive(ignore));
  };
  Begun<Selected> selecting(executor, choose());
  Begun<Taken> taking(executor, take_one(at));
  ASSERT_TRUE(channel.send(1));
  ASSERT_TRUE(at.put(7));  // The select is claimed, and has not left yet.
  executor.run();
  EXPECT_EQ(selecting.result(), 1u);
  EXPECT_EQ(taking.result(), 7);
}

TEST_F(AsyncDelayQueue, ASelectTakesAnItemWhenItIsDue) {
  Channel<int> channel{0};
  int got = 0;
  const auto choose = [&] {
    return select(channel.on_receive(ignore), queue.on_take([&](int item) { got = item; }));
  };
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  EXPECT_EQ(select(queue.on_take(ignore), otherwise([] {})), 1u) << "nothing is due";
  auto selecting = elsewhere(choose);
  await_takers(1);
  await_timers(1);
  ASSERT_TRUE(queue.put(0, due_in(5ms)));
  eventually([&] {
    clock.advance(1ms);
    return selecting.wait_for(0s) == std::future_status::ready;
  });
  EXPECT_EQ(selecting.get(), 1u);
  EXPECT_EQ(got, 0);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(clock.waiting(), 0u);
}

TEST_F(AsyncDelayQueue, ASelectBehindAWatchingThreadGetsTheNextItem) {
  Channel<int> channel{0};
  int got = 0;
  const auto choose = [&]() -> Lazy<Selected> {
    co_return co_await async_select(queue.on_take([&](int item) { got = item; }),
                                    channel.on_receive(ignore));
  };
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  auto watcher = elsewhere([&] { return queue.take(); });
  await_takers(1);
  Begun<Selected> selecting(executor, choose());
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(watcher.get(), 1);
  await_timers(1);
  clock.advance(10ms);
  await_ready(1);
  EXPECT_EQ(selecting.result(), 0u);
  EXPECT_EQ(got, 2);
}

// Selects of threads and of coroutines, threads and coroutines that only take, stops; items due now and a little later, and a channel that
// has something at the same moments. Each item and each message is got once.
TYPED_TEST(AsyncOrderedQueue, ExactlyOneCaseOfASelectHappens) {
  using Kind = std::conditional_t<std::is_same_v<TypeParam, Priority>, Priority, RandomDelay>;
  constexpr int rounds = 3'000;
  typename Kind::template Of<int> at{8};
  Channel<int> channel{0};
  std::vector<std::atomic<int>> taken(rounds), received(rounds);
  std::atomic<int> got = 0, happened = 0;
  const auto take = [&](int item) {
    ++taken[static_cast<std::size_t>(item)];
    ++got;
  };
  const auto receive = [&](int item) {
    ++received[static_cast<std::size_t>(item)];
    ++got;
  };
  std::stop_source stop;
  const auto select_in_coroutine = [&]() -> Lazy<> {
    while (true) {
      const auto selected =
          co_await async_select(within(200us), channel.on_receive(receive), at.queue.on_take(take));
      if (selected) {
        ++happened;
      } else if (selected.error() != Refusal::timed_out) {
        break;
      }
    }
  };
  const auto take_in_coroutine = [&]() -> Lazy<> {
    while (auto item = co_await at.queue.async_take()) {
      take(*item);
      ++happened;
    }
  };
  {
    WorkerPool pool{{.workers = 2, .capacity = 16}};
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(spawn(pool, select_in_coroutine()));
      ASSERT_TRUE(spawn(pool, take_in_coroutine()));
    }
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      while (
          select({.stop = stop.get_token()}, channel.on_receive(receive), at.queue.on_take(take))) {
        ++happened;
      }
    });
    threads.emplace_back([&] {
      while (true) {
        const auto item = at.queue.take({.deadline = within(300us), .stop = stop.get_token()});
        if (item) {
          take(*item);
          ++happened;
        } else if (item.error() != Refusal::timed_out) {
          break;
        }
      }
    });
    threads.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) EXPECT_TRUE(channel.send(int(i)));
    });
    for (int i = 0; i < rounds; ++i) ASSERT_TRUE(at.put(int(i)));
    eventually([&] { return got == 2 * rounds; });
    stop.request_stop();
    static_cast<void>(pool.shutdown(interrupt()));
  }
  EXPECT_EQ(happened, 2 * rounds);
  for (const auto& count : taken) ASSERT_EQ(count, 1);
  for (const auto& count : received) ASSERT_EQ(count, 1);
  EXPECT_EQ(at.queue.size(), 0u);
}

// -- Conservation ---------------------------------------------------------------------------------

template <typename Kind>
class OrderedConservation : public ::testing::Test {};
using AllQueues = ::testing::Types<Priority, Delay, RandomDelay>;
TYPED_TEST_SUITE(OrderedConservation, AllQueues);

// Threads and coroutines at both ends, each stopped at any moment; deadlines of microseconds; closed in the middle.
TYPED_TEST(OrderedConservation, OfItemsWhoseOwnersAreStopped) {
  constexpr unsigned of_each = 4;  // Every other one is a thread, the others are coroutines.
  constexpr std::size_t items = 4'000;
  for (const std::size_t capacity : {1u, 16u}) {
    typename TypeParam::template Of<Item> at{capacity};
    Ledger ledger(items);
    std::array<StopSlot, 2 * of_each> stops;
    std::atomic<unsigned> running = 2 * of_each;
    const auto async_put = [&](Item& item, Deadline deadline) -> Lazy<Added> {
      co_return co_await at.async_put(std::move(item), deadline);
    };
    const auto async_take = [&](Deadline deadline) -> Lazy<std::expected<Item, Refusal>> {
      co_return co_await at.queue.async_take(deadline);
    };
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < of_each; ++i) {
      threads.emplace_back([&, i] {
        std::minstd_rand random(i + 1);
        while (Item item = ledger.next()) {
          const auto number = *item;
          if (number == items * 9 / 10) at.queue.close();
          const auto deadline = hurried(random);
          const auto stop = stops[i].renew();
          const auto result = i % 2 == 0 ? sync_wait(async_put(item, deadline), stop)
                                         : at.put(std::move(item), {deadline, stop});
          ledger.put(number, item, result);  // NOLINT: refused, it is ours still.
        }
        at.queue.close();
        --running;
      });
      threads.emplace_back([&, i] {
        std::minstd_rand random(i + 100);
        while (true) {
          const auto deadline = hurried(random);
          const auto stop = stops[of_each + i].renew();
          const auto result =
              i % 2 == 0 ? sync_wait(async_take(deadline), stop) : at.queue.take({deadline, stop});
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
    ledger.check(at.queue);
    if (this->HasFatalFailure()) return;
  }
}

// Coroutines on a pool that is interrupted half-way, against threads at the same queue.
TYPED_TEST(OrderedConservation, OfItemsWhoseOwnersArePoolsThatAreInterrupted) {
  for (unsigned round = 0; round < 20; ++round) {
    constexpr std::size_t items = 500;
    typename TypeParam::template Of<Item> at{round % 2 == 0 ? 2u : 64u};
    Ledger ledger(items);
    const auto produce = [&](unsigned seed) -> Lazy<> {
      std::minstd_rand random(seed + 1);
      while (Item item = ledger.next()) {
        const auto number = *item;
        const auto put = co_await at.async_put(std::move(item), hurried(random));
        ledger.put(number, item, put);  // NOLINT
        if (!put && put.error() == Refusal::stopped) break;
      }
    };
    const auto consume = [&](unsigned seed) -> Lazy<> {
      std::minstd_rand random(seed + 100);
      while (true) {
        const auto item = co_await at.queue.async_take(hurried(random));
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
        const auto put = at.put(std::move(item));
        ledger.put(number, item, put);  // NOLINT
      }
      at.queue.close();
    });
    std::jthread consumer([&] {
      while (const auto item = at.queue.take()) ledger.took(*item);
    });
    {
      WorkerPool pool{{.workers = 2, .capacity = 64}};
      for (unsigned i = 0; i < 6; ++i) {
        ASSERT_TRUE(spawn(pool, produce(i)));
        ASSERT_TRUE(spawn(pool, consume(i)));
      }
      const std::uint64_t half = (round * 37) % 400;
      while (at.queue.stats().puts < half && !at.queue.is_closed()) std::this_thread::yield();
      EXPECT_TRUE(pool.shutdown(interrupt()).still_running.empty());
    }
    producer.join();
    consumer.join();
    ledger.check(at.queue);
    if (this->HasFatalFailure()) return;
  }
}

// Later ones first, so that each put moves the first due time forward; takers of both sorts, in both orders.
TEST(AsyncDelayQueueStress, NoTakerSleepsThroughADueTimeWhenTheWatchPassesOften) {
  WorkerPool pool{{.workers = 2, .capacity = 16}};
  for (int round = 0; round < 200; ++round) {
    DelayQueue<int> queue{{.capacity = 8}};
    std::vector<std::future<Taken>> threads;
    std::vector<Future<Taken>> coroutines;
    for (int i = 0; i < 4; ++i) {
      if ((i + round) % 2 == 0) {
        threads.push_back(elsewhere([&] { return queue.take(); }));
      } else {
        coroutines.push_back(*spawn(pool, take_from(queue)));
      }
    }
    for (int i = 4; i > 0; --i) ASSERT_TRUE(queue.put(int(i), due_in(i * 100us)));
    for (auto& each : threads) EXPECT_TRUE(each.get());
    for (auto& each : coroutines) EXPECT_TRUE(each.get().value());
  }
}

}  // namespace
}  // namespace handoff
