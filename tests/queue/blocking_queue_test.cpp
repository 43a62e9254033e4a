// What is special about BlockingQueue; what all queues promise is in tests/contract.
#include <gtest/gtest.h>

#include <future>
#include <latch>
#include <thread>

#include "handoff/log.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "support/await_sleep.hpp"
#include "support/frozen_thread.hpp"
#include "support/move_probe.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::ManualClock;
using tests::await_sleep;
using tests::FreezeSignal;
using tests::MoveFailed;
using tests::MoveProbe;

constexpr auto max_overtakes = detail::Turnstile::max_overtakes;

// -- A put that is half-way in ---------------------------------------------------------------------

// A producer that has taken its place and is held in the middle of filling its slot.
class HalfWayPut {
 public:
  explicit HalfWayPut(BlockingQueue<MoveProbe>& queue) {
    put_ = std::async(std::launch::async, [this, &queue] {
      MoveProbe item(1);
      item.on_move = [this] {
        inside_.count_down();
        go_on_.wait();
      };
      return queue.put(std::move(item));
    });
    inside_.wait();
  }
  std::expected<void, Refusal> finish() {
    go_on_.count_down();
    return put_.get();
  }

 private:
  std::latch inside_{1};
  std::latch go_on_{1};
  std::future<std::expected<void, Refusal>> put_;
};

TEST(BlockingQueue, APutThatIsHalfWayInWhenTheQueueClosesIsDelivered) {
  BlockingQueue<MoveProbe> queue{{.capacity = 4}};
  HalfWayPut put(queue);
  auto close = std::async(std::launch::async, [&] { queue.close(); });
  EXPECT_FALSE(queue.is_closed()) << "the put came first, so the close must wait for it";

  EXPECT_TRUE(put.finish());
  close.get();
  auto item = queue.take();
  ASSERT_TRUE(item);
  EXPECT_EQ(item->value, 1);
  EXPECT_EQ(queue.poll().error(), Refusal::closed);
}

TEST(BlockingQueue, APutBehindOneThatIsHalfWayInHasNotReturnedSoEmptyIsTrue) {
  BlockingQueue<MoveProbe> queue{{.capacity = 4}};
  HalfWayPut first(queue);
  std::atomic<bool> second_returned = false;
  std::jthread second([&] {
    EXPECT_TRUE(queue.put(MoveProbe(2)));
    second_returned = true;
  });
  // Both facts must hold together: nothing is there, and nobody was told that something is.
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(queue.poll().error(), Refusal::empty);
    EXPECT_FALSE(second_returned);
  }
  EXPECT_TRUE(first.finish());
  second.join();
  EXPECT_EQ(queue.take()->value, 1);
  EXPECT_EQ(queue.take()->value, 2);
}

// -- Order among waiters ---------------------------------------------------------------------------

TEST(BlockingQueue, WaitingConsumersAreServedFirstComeFirstServed) {
  BlockingQueue<int> queue{{.capacity = 4}};
  std::vector<std::future<std::expected<int, Refusal>>> takes;
  for (std::size_t i = 0; i < 4; ++i) {
    takes.push_back(std::async(std::launch::async, [&] { return queue.take(); }));
    eventually([&] { return queue.stats().waiting_consumers == i + 1; });
  }
  await_sleep();  // One that is still having its last look might overtake the others.
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue.put(int(i)));
    EXPECT_EQ(takes[static_cast<std::size_t>(i)].get(), i);
  }
}

TEST(BlockingQueue, WaitingProducersAreServedFirstComeFirstServed) {
  BlockingQueue<int> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(-1));
  std::vector<std::jthread> producers;
  for (int i = 0; i < 4; ++i) {
    producers.emplace_back([&queue, i] { EXPECT_TRUE(queue.put(int(i))); });
    eventually([&] { return queue.stats().waiting_producers == static_cast<std::size_t>(i) + 1; });
  }
  await_sleep();  // As above.
  for (int i = -1; i < 4; ++i) EXPECT_EQ(queue.take(), i);
}

TEST(BlockingQueue, AConsumerThatNeverGetsToRunIsOvertakenABoundedNumberOfTimesAndThenServed) {
  FreezeSignal freeze;
  BlockingQueue<std::uint64_t> queue{{.capacity = 4}};
  std::expected<std::uint64_t, Refusal> taken;
  std::jthread taker([&] { taken = queue.take(); });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  const bool frozen = freeze.freeze(taker.native_handle());

  std::uint64_t overtakes = 0;
  while (true) {
    ASSERT_TRUE(queue.offer(overtakes));
    if (!frozen || !queue.poll()) break;  // The item went to the one who had waited too long.
    ++overtakes;
    ASSERT_LE(overtakes, max_overtakes);
  }
  if (frozen) {
    EXPECT_EQ(overtakes, max_overtakes);
    EXPECT_EQ(queue.stats().waiting_consumers, 0U) << "it has its item, though it has not run yet";
  }
  freeze.thaw();
  taker.join();
  EXPECT_EQ(taken, overtakes) << "and it got the oldest one";
}

TEST(BlockingQueue, AProducerThatNeverGetsToRunIsOvertakenABoundedNumberOfTimesAndThenServed) {
  FreezeSignal freeze;
  BlockingQueue<std::uint64_t> queue{{.capacity = 1}};
  constexpr std::uint64_t from_sleeper = UINT64_MAX;
  ASSERT_TRUE(queue.put(0));
  std::jthread producer([&] { EXPECT_TRUE(queue.put(std::uint64_t(from_sleeper))); });
  eventually([&] { return queue.stats().waiting_producers == 1; });
  const bool frozen = freeze.freeze(producer.native_handle());

  std::uint64_t overtakes = 0;
  while (true) {
    ASSERT_TRUE(queue.poll());
    if (!frozen || !queue.offer(overtakes)) break;
    ++overtakes;
    ASSERT_LE(overtakes, max_overtakes);
  }
  if (frozen) {
    EXPECT_EQ(overtakes, max_overtakes);
  }
  EXPECT_EQ(queue.take(), from_sleeper);
  freeze.thaw();
}

TEST(BlockingQueue, ASleepingProducerIsServedByPushesThatEvictToo) {
  FreezeSignal freeze;
  BlockingQueue<std::uint64_t> queue{{.capacity = 1, .when_full = WhenFull::drop_oldest}};
  ASSERT_TRUE(queue.put(0));
  std::jthread producer([&] { EXPECT_TRUE(queue.put(7)); });
  eventually([&] { return queue.stats().waiting_producers == 1; });
  const bool frozen = freeze.freeze(producer.native_handle());
  set_log([](std::string_view) {});
  // Each push evicts the item before it, and overtakes the sleeping producer.
  const std::uint64_t most = max_overtakes + 2;
  for (std::uint64_t i = 0; i < most; ++i) ASSERT_TRUE(queue.push(std::uint64_t(i)));
  if (frozen) {
    EXPECT_EQ(queue.stats().waiting_producers, 0U);
  }
  freeze.thaw();
  producer.join();
  const auto stats = queue.stats();
  EXPECT_EQ(stats.puts, most + 2) << "the sleeper's item went in exactly once";
  EXPECT_EQ(stats.puts, stats.takes + stats.size + stats.dropped);
  queue.close();  // Says the last of what was dropped.
  set_log({});
}

TEST(BlockingQueue, AMoveThatThrowsOnTheWayOutReachesTheSleeperItWasMeantFor) {
  FreezeSignal freeze;
  BlockingQueue<MoveProbe> queue{{.capacity = 1}};
  std::jthread taker([&] { EXPECT_THROW(static_cast<void>(queue.take()), MoveFailed); });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  const bool frozen = freeze.freeze(taker.native_handle());
  for (std::uint64_t i = 0; frozen && i < max_overtakes; ++i) {
    ASSERT_TRUE(queue.offer(MoveProbe(1)));
    ASSERT_TRUE(queue.poll());
  }
  ASSERT_TRUE(queue.offer(tests::throwing_after(1)));
  if (frozen) {
    EXPECT_EQ(queue.poll().error(), Refusal::empty);
  }
  freeze.thaw();
  taker.join();
  EXPECT_EQ(queue.stats().takes, queue.stats().puts)
      << "an item that failed to move counts as taken";
}

TEST(BlockingQueue, AMoveThatThrowsOnTheWayInReachesTheSleeperWhoseItemItIs) {
  FreezeSignal freeze;
  BlockingQueue<MoveProbe> queue{{.capacity = 1}};
  ASSERT_TRUE(queue.put(MoveProbe(0)));
  MoveProbe item = tests::throwing_after(0, 7);
  std::jthread producer(
      [&] { EXPECT_THROW(static_cast<void>(queue.put(std::move(item))), MoveFailed); });
  eventually([&] { return queue.stats().waiting_producers == 1; });
  const bool frozen = freeze.freeze(producer.native_handle());
  for (std::uint64_t i = 0; frozen && i < max_overtakes; ++i) {
    ASSERT_TRUE(queue.poll());
    ASSERT_TRUE(queue.offer(MoveProbe(1)));
  }
  ASSERT_TRUE(queue.poll());
  if (frozen) {
    EXPECT_TRUE(queue.offer(MoveProbe(2))) << "the room is still there";
  }
  freeze.thaw();
  producer.join();
  EXPECT_EQ(item.value, 7) << "untouched, and still its owner's";
}

// -- Linearizable, also without waiting ------------------------------------------------------------

// One consumer polls while producers put. If more puts had returned before a poll began than items were taken,
// the poll must find one.
TEST(BlockingQueue, PollNeverMissesAnItemWhosePutHasReturned) {
  BlockingQueue<int> queue{{.capacity = 5}};
  constexpr int producers = 3;
  constexpr std::uint64_t each = 20'000;
  std::atomic<std::uint64_t> returned = 0;
  std::vector<std::jthread> threads;
  for (int p = 0; p < producers; ++p) {
    threads.emplace_back([&] {
      for (std::uint64_t i = 0; i < each; ++i) {
        ASSERT_TRUE(queue.put(0));
        returned.fetch_add(1);
      }
    });
  }
  std::uint64_t taken = 0;
  while (taken < producers * each) {
    const auto returned_before = returned.load();
    if (queue.poll()) {
      ++taken;
    } else {
      EXPECT_LE(returned_before, taken) << "empty, though a put that had returned was not taken";
    }
  }
}

TEST(BlockingQueue, OfferNeverMissesRoomWhoseTakeHasReturned) {
  constexpr std::uint64_t capacity = 5;
  BlockingQueue<int> queue{{.capacity = capacity}};
  constexpr int consumers = 3;
  constexpr std::uint64_t all = 60'000;
  std::atomic<std::uint64_t> returned = 0;
  std::vector<std::jthread> threads;
  for (int c = 0; c < consumers; ++c) {
    threads.emplace_back([&] {
      while (queue.take()) returned.fetch_add(1);
    });
  }
  for (std::uint64_t put = 0; put < all;) {
    const auto returned_before = returned.load();
    if (queue.offer(0)) {
      ++put;
    } else {
      ASSERT_GE(put - returned_before, capacity)
          << "full, though a take that had returned made room";
    }
  }
  queue.close();
}

TEST(BlockingQueue, ItemsOfOneProducerReachOneConsumerInOrder) {
  BlockingQueue<std::pair<int, int>> queue{{.capacity = 3}};
  std::vector<std::jthread> producers;
  for (int p = 0; p < 4; ++p) {
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < 5'000; ++i) ASSERT_TRUE(queue.put({p, i}));
    });
  }
  std::array<int, 4> next{};
  for (int i = 0; i < 20'000; ++i) {
    const auto item = queue.take();
    ASSERT_TRUE(item);
    ASSERT_EQ(item->second, next[static_cast<std::size_t>(item->first)]++);
  }
}

// -- Bulk ------------------------------------------------------------------------------------------

TEST(BlockingQueue, PutAllLargerThanTheCapacityWaitsForRoomAndKeepsTheOrder) {
  BlockingQueue<int> queue{{.capacity = 3}};
  std::vector<int> items(1'000);
  for (int i = 0; i < 1'000; ++i) items[static_cast<std::size_t>(i)] = i;
  std::jthread producer([&] {
    const auto put = queue.put_all(items);
    EXPECT_TRUE(put);
    EXPECT_EQ(put.accepted, 1'000U);
  });
  for (int i = 0; i < 1'000; ++i) ASSERT_EQ(queue.take(), i);
}

TEST(BlockingQueue, PutAllStopsAtAMoveThatThrowsAndSaysWhatWentIn) {
  BlockingQueue<MoveProbe> queue{{.capacity = 8}};
  std::vector<MoveProbe> items;
  items.reserve(4);
  for (int i = 0; i < 4; ++i) items.emplace_back(i);
  items[2].moves_until_throw = 0;
  const auto put = queue.put_all(items);
  EXPECT_FALSE(put);
  EXPECT_EQ(put.accepted, 2U);
  EXPECT_THROW(std::rethrow_exception(put.error), MoveFailed);
  EXPECT_EQ(items[2].value, 2);
  EXPECT_EQ(items[3].value, 3) << "what is behind it is untouched";
  EXPECT_EQ(queue.drain([](MoveProbe&&) {}), 2U);
}

TEST(BlockingQueue, CapacityIsTheSameForSingleAndBulkAndWrapsAnywhere) {
  BlockingQueue<int> queue{{.capacity = 7}};
  int next_in = 0;
  int next_out = 0;
  for (int round = 0; round < 100; ++round) {
    std::vector<int> items;
    for (int i = 0; i < 1 + round % 7; ++i) items.push_back(next_in++);
    ASSERT_TRUE(queue.put_all(items));
    auto some = queue.take_some(10);
    ASSERT_TRUE(some);
    for (int item : *some) ASSERT_EQ(item, next_out++);
  }
  EXPECT_EQ(next_out, next_in);
}

// -- Looking ---------------------------------------------------------------------------------------

TEST(BlockingQueue, HighWaterIsTheLargestSizeSoFar) {
  BlockingQueue<int> queue{{.capacity = 10}};
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(queue.put(int(i)));
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(queue.take());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(int(i)));
  EXPECT_EQ(queue.stats().high_water, 6U);
}

TEST(BlockingQueue, TimeSpentBlockedIsCountedForEachSide) {
  ManualClock clock;
  BlockingQueue<int> queue{{.capacity = 1}};
  const auto pass = [&](Duration time) {
    eventually([&] { return clock.waiting() == 1; });
    clock.advance(time);
  };
  auto polling = std::async(std::launch::async, [&] { return queue.poll(2s).error(); });
  pass(2s);
  EXPECT_EQ(polling.get(), Refusal::timed_out);
  ASSERT_TRUE(queue.put(1));
  auto offering = std::async(std::launch::async, [&] { return queue.offer(2, 3s).error(); });
  pass(3s);
  EXPECT_EQ(offering.get(), Refusal::timed_out);
  const auto stats = queue.stats();
  EXPECT_EQ(stats.consumers_blocked, 2s);
  EXPECT_EQ(stats.producers_blocked, 3s);
  EXPECT_EQ(stats.consumer_waits, 1U);
  EXPECT_EQ(stats.producer_waits, 1U);
}

TEST(BlockingQueueDeathTest, DestroyingAQueueThatSomebodyWaitsForStopsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        auto* queue = new BlockingQueue<int>{{.capacity = 1}};
        std::thread([queue] { static_cast<void>(queue->take()); }).detach();
        eventually([&] { return queue->stats().waiting_consumers == 1; });
        delete queue;
      },
      "broken invariant");
}

}  // namespace
}  // namespace handoff
