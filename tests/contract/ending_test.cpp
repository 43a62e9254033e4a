// How waits and queues end: close, stop, deadline, and the three ways to stop workers.
#include "contract/every_queue.hpp"

namespace handoff::contract {
namespace {

template <typename Kind>
class Ending : public ::testing::Test {};
TYPED_TEST_SUITE(Ending, EveryQueue, KindName);

// -- Close ----------------------------------------------------------------------------------------

TYPED_TEST(Ending, AClosedQueueRefusesEveryFormOfAddingAndLeavesTheItemAlone) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 1});
  queue.close();
  EXPECT_TRUE(queue.is_closed());

  auto item = std::make_unique<int>(1);
  EXPECT_EQ(queue.put(std::move(item)), closed);
  EXPECT_EQ(queue.offer(std::move(item)), closed);
  EXPECT_EQ(queue.offer(std::move(item), 1h), closed);
  EXPECT_EQ(queue.push(std::move(item)), closed);
  EXPECT_EQ(queue.put_all({&item, 1}).refusal, Refusal::closed);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(*item, 1);
}

TYPED_TEST(Ending, AClosedQueueIsDrainedBeforeItSaysClosed) {
  auto queue = TypeParam::template make<int>({.capacity = 3});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(int(i)));
  queue.close();
  EXPECT_EQ(queue.take(), 0);
  EXPECT_EQ(queue.poll(), 1);
  EXPECT_EQ(queue.poll(1h), 2);
  EXPECT_EQ(queue.take(), closed);
  EXPECT_EQ(queue.poll(), closed);
  EXPECT_EQ(queue.poll(1h), closed);
  EXPECT_EQ(queue.take_some(3), closed);
}

TYPED_TEST(Ending, CloseWakesBlockedProducersWithClosed) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 1});
  ASSERT_TRUE(queue.put(std::make_unique<int>(0)));
  std::vector<std::future<bool>> kept;
  for (int i = 0; i < 3; ++i) {
    kept.push_back(in_background([&] {
      auto item = std::make_unique<int>(1);
      return queue.put(std::move(item)) == closed && item != nullptr;
    }));
  }
  await_producers(queue, 3);

  queue.close();
  for (auto& each : kept) EXPECT_TRUE(each.get());
  EXPECT_EQ(queue.drain().size(), 1u);
}

TYPED_TEST(Ending, CloseWakesBlockedConsumersWithClosed) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  std::vector<std::future<std::expected<int, Refusal>>> takes;
  for (int i = 0; i < 3; ++i) takes.push_back(in_background([&] { return queue.take(); }));
  await_consumers(queue, 3);

  queue.close();
  for (auto& take : takes) EXPECT_EQ(take.get(), closed);
}

TYPED_TEST(Ending, WhatIsPutJustBeforeCloseReachesAWaitingConsumer) {
  for (int round = 0; round < 50; ++round) {
    auto queue = TypeParam::template make<int>({.capacity = 2});
    auto first = in_background([&] { return queue.take(); });
    auto second = in_background([&] { return queue.take(); });
    ASSERT_TRUE(queue.put(1));
    queue.close();
    const auto one = first.get();
    const auto other = second.get();
    EXPECT_EQ(one.has_value() + other.has_value(), 1);
    EXPECT_EQ(one ? other : one, closed);
  }
}

TYPED_TEST(Ending, PutAllInterruptedByCloseReportsWhatIsStillTheCallers) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 2});
  auto put = in_background([&] {
    std::vector<std::unique_ptr<int>> items;
    for (int i = 0; i < 5; ++i) items.push_back(std::make_unique<int>(i));
    auto result = queue.put_all(items);
    EXPECT_EQ(items[2] != nullptr && items[4] != nullptr, true);
    return result;
  });
  await_producers(queue, 1);
  queue.close();
  const auto result = put.get();
  EXPECT_EQ(result.accepted, 2u);
  EXPECT_EQ(result.refusal, Refusal::closed);
}

TYPED_TEST(Ending, ClosingAgainDoesNothing) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  ASSERT_TRUE(queue.put(1));
  queue.close();
  queue.close();
  EXPECT_EQ(queue.take(), 1);
  EXPECT_EQ(queue.take(), closed);
}

TYPED_TEST(Ending, RangeForEndsWhenClosedAndDrained) {
  auto queue = TypeParam::template make<int>({.capacity = 2});
  auto sum = in_background([&] {
    int total = 0;
    for (int& item : queue) total += item;
    return total;
  });
  for (int i = 1; i <= 100; ++i) ASSERT_TRUE(queue.put(int(i)));
  queue.close();
  EXPECT_EQ(sum.get(), 5050);
}

// -- Stop -----------------------------------------------------------------------------------------

TYPED_TEST(Ending, AStopRequestEndsAWaitingTake) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  std::stop_source stop;
  auto taken = in_background([&] { return queue.take({.stop = stop.get_token()}); });
  await_consumers(queue, 1);

  stop.request_stop();
  EXPECT_EQ(taken.get(), stopped);
  EXPECT_EQ(queue.stats().waiting_consumers, 0u);
}

TYPED_TEST(Ending, AStopRequestEndsAWaitingPutAndLeavesTheItemAlone) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 1});
  ASSERT_TRUE(queue.put(std::make_unique<int>(0)));
  std::stop_source stop;
  auto kept = in_background([&] {
    auto item = std::make_unique<int>(1);
    return queue.put(std::move(item), {.stop = stop.get_token()}) == stopped && item != nullptr;
  });
  await_producers(queue, 1);

  stop.request_stop();
  EXPECT_TRUE(kept.get());
  EXPECT_EQ(queue.size(), 1u);
}

TYPED_TEST(Ending, StoppedIsStickyAndComesBeforeWhatCouldBeDone) {
  auto queue = TypeParam::template make<int>({.capacity = 2});
  ASSERT_TRUE(queue.put(1));
  std::stop_source stop;
  stop.request_stop();
  const Wait wait{.stop = stop.get_token()};

  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(queue.take(wait), stopped);
    EXPECT_EQ(queue.take_some(1, wait), stopped);
    EXPECT_EQ(queue.put(2, wait), stopped);
    int item = 3;
    EXPECT_EQ(queue.put_all({&item, 1}, wait).refusal, Refusal::stopped);
  }
  EXPECT_EQ(queue.drain(), std::vector{1});
}

TYPED_TEST(Ending, AStoppedConsumerLeavesTheNextItemToTheOthers) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  std::stop_source stop;
  auto first = in_background([&] { return queue.take({.stop = stop.get_token()}); });
  await_consumers(queue, 1);
  auto second = in_background([&] { return queue.take(); });
  await_consumers(queue, 2);

  stop.request_stop();
  EXPECT_EQ(first.get(), stopped);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(second.get(), 1);
}

TYPED_TEST(Ending, AStoppedProducerLeavesTheRoomToTheOthers) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  ASSERT_TRUE(queue.put(0));
  std::stop_source stop;
  auto first = in_background([&] { return queue.put(1, {.stop = stop.get_token()}); });
  await_producers(queue, 1);
  auto second = in_background([&] { return queue.put(2); });
  await_producers(queue, 2);

  stop.request_stop();
  EXPECT_EQ(first.get(), stopped);
  EXPECT_EQ(queue.take(), 0);
  EXPECT_TRUE(second.get());
  EXPECT_EQ(queue.take(), 2);
}

// -- Deadline -------------------------------------------------------------------------------------

TYPED_TEST(Ending, ADeadlineEndsAWaitingPut) {
  ManualClock clock;
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 1});
  ASSERT_TRUE(queue.put(std::make_unique<int>(0)));
  auto kept = in_background([&] {
    auto item = std::make_unique<int>(1);
    return queue.offer(std::move(item), 100ms) == timed_out && item != nullptr;
  });
  eventually([&] { return clock.waiting() == 1; });

  clock.advance(99ms);
  EXPECT_EQ(clock.waiting(), 1u);
  clock.advance(1ms);
  EXPECT_TRUE(kept.get());
}

TYPED_TEST(Ending, ADeadlineEndsAWaitingTake) {
  ManualClock clock;
  auto queue = TypeParam::template make<int>({.capacity = 1});
  auto taken = in_background([&] { return queue.poll(100ms); });
  eventually([&] { return clock.waiting() == 1; });

  clock.advance(99ms);
  EXPECT_EQ(clock.waiting(), 1u);
  clock.advance(1ms);
  EXPECT_EQ(taken.get(), timed_out);
}

TYPED_TEST(Ending, ADeadlineOnTheRealClockEndsAWait) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  EXPECT_EQ(queue.poll(1ms), timed_out);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(queue.offer(2, 1ms), timed_out);
}

TYPED_TEST(Ending, PastADeadlineWhatNeedsNoWaitingIsStillDone) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  const Wait past{.deadline = now() - 1s};
  EXPECT_EQ(queue.take(past), timed_out);
  EXPECT_TRUE(queue.put(1, past));
  EXPECT_EQ(queue.put(2, past), timed_out);
  EXPECT_EQ(queue.take(past), 1);
}

TYPED_TEST(Ending, AConsumerThatTimesOutLeavesTheNextItemToTheOthers) {
  ManualClock clock;
  auto queue = TypeParam::template make<int>({.capacity = 1});
  auto first = in_background([&] { return queue.poll(10ms); });
  await_consumers(queue, 1);
  auto second = in_background([&] { return queue.take(); });
  await_consumers(queue, 2);
  eventually([&] { return clock.waiting() == 1; });

  clock.advance(10ms);
  EXPECT_EQ(first.get(), timed_out);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(second.get(), 1);
}

// -- Three ways to stop workers -------------------------------------------------------------------

TYPED_TEST(Ending, WorkersStopByInterruptAndTheRestIsHandedBack) {
  auto queue = TypeParam::template make<int>({.capacity = 100});
  std::atomic<int> handled = 0;
  {
    std::vector<std::jthread> workers;
    for (int i = 0; i < 3; ++i) {
      workers.emplace_back([&](std::stop_token stop) {
        while (queue.take({.stop = stop})) ++handled;
      });
    }
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(queue.put(int(i)));
  }
  EXPECT_EQ(static_cast<std::size_t>(handled) + queue.drain().size(), 50u);
}

TYPED_TEST(Ending, WorkersStopByPollingWithATimeoutAndAFlag) {
  auto queue = TypeParam::template make<int>({.capacity = 4});
  std::atomic<bool> running = true;
  std::atomic<int> handled = 0;
  std::vector<std::future<void>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(in_background([&] {
      while (running) {
        if (queue.poll(1ms)) ++handled;
      }
    }));
  }
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(queue.put(int(i)));
  eventually([&] { return handled == 50; });
  running = false;
  for (auto& worker : workers) worker.get();
}

TYPED_TEST(Ending, WorkersStopByOnePoisonPillEach) {
  constexpr int pill = -1;
  auto queue = TypeParam::template make<int>({.capacity = 4});
  std::vector<std::future<int>> workers;
  for (int i = 0; i < 3; ++i) {
    workers.push_back(in_background([&] {
      int handled = 0;
      while (queue.take().value_or(pill) != pill) ++handled;
      return handled;
    }));
  }
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(queue.put(int(i)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(int(pill)));
  int handled = 0;
  for (auto& worker : workers) handled += worker.get();
  EXPECT_EQ(handled, 50);
  EXPECT_EQ(queue.size(), 0u);
}

}  // namespace
}  // namespace handoff::contract
