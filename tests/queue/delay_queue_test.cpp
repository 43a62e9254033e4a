// What only a delay queue promises; what all queues promise is in tests/contract/.
#include <map>
#include <random>

#include "contract/every_queue.hpp"
#include "support/frozen_thread.hpp"

namespace handoff::contract {
namespace {

using Taken = std::expected<int, Refusal>;

struct DelayQueueTest : ::testing::Test {
  std::future<Taken> take_in_background(Wait wait = {}) {
    return in_background([this, wait] { return queue.take(wait); });
  }
  // Starts takers one after the other: the first watches the time, the others stand in line.
  std::vector<std::future<Taken>> takers(std::size_t count) {
    std::vector<std::future<Taken>> result;
    const auto before = queue.stats().waiting_consumers;
    for (std::size_t i = 1; i <= count; ++i) {
      result.push_back(take_in_background());
      await_consumers(queue, before + i);
    }
    return result;
  }
  void await_timers(std::size_t count) {
    eventually([&] { return clock.waiting() == count; });
  }
  static bool is_done(std::future<Taken>& taken) {
    return taken.wait_for(0s) == std::future_status::ready;
  }

  ManualClock clock;
  DelayQueue<int> queue{{.capacity = 10}};
};

// -- Order ----------------------------------------------------------------------------------------

TEST_F(DelayQueueTest, NothingComesOutBeforeItIsDue) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  EXPECT_EQ(queue.poll(), empty);
  clock.advance(10ms - 1ns);
  EXPECT_EQ(queue.poll(), empty);
  clock.advance(1ns);
  EXPECT_EQ(queue.poll(), 1);
}

TEST_F(DelayQueueTest, TheEarliestDueComesFirst) {
  const auto start = now();
  ASSERT_TRUE(queue.put(3, due_in(30ms)));
  ASSERT_TRUE(queue.put(1, due_at(start + 10ms)));
  ASSERT_TRUE(queue.offer(2, due_in(20ms)));
  clock.advance(1s);
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(queue.take(), i);
}

TEST_F(DelayQueueTest, ItemsDueAtTheSameMomentComeFirstInFirstOut) {
  std::vector<int> items{0, 1, 2, 3, 4};
  ASSERT_TRUE(queue.put_all(items, due_in(5ms)));
  for (int i = 5; i < 10; ++i) ASSERT_TRUE(queue.put(int(i), due_in(5ms)));
  clock.advance(5ms);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(queue.poll(), i);
}

TEST_F(DelayQueueTest, AnItemDueInThePastIsDueAtOnce) {
  ASSERT_TRUE(queue.put(1, due_in(-1h)));
  ASSERT_TRUE(queue.put(2, due_at(TimePoint::min())));
  EXPECT_EQ(queue.take(), 2);
  EXPECT_EQ(queue.take(), 1);
}

TEST_F(DelayQueueTest, ADelayTooLongToRepresentMeansNever) {
  ASSERT_TRUE(queue.put(1, due_in(std::chrono::hours::max())));
  clock.advance(24h * 365 * 100);
  EXPECT_EQ(queue.poll(), empty);
  EXPECT_EQ(queue.drain(), std::vector{1});
}

TEST_F(DelayQueueTest, TakeSomeTakesOnlyWhatIsDue) {
  ASSERT_TRUE(queue.put(1, due_in(1ms)));
  ASSERT_TRUE(queue.put(2, due_in(2ms)));
  ASSERT_TRUE(queue.put(3, due_in(3ms)));
  clock.advance(2ms);
  EXPECT_EQ(queue.take_some(10).value(), (std::vector{1, 2}));
}

TEST_F(DelayQueueTest, DrainHandsBackEverythingDueOrNot) {
  ASSERT_TRUE(queue.put(2, due_in(2h)));
  ASSERT_TRUE(queue.put(1, due_in(1h)));
  ASSERT_TRUE(queue.put(0, due_in(0s)));
  EXPECT_EQ(queue.drain(), (std::vector{0, 1, 2}));
}

TEST_F(DelayQueueTest, TheOrderIsThatOfAModelUnderRandomUse) {
  std::mt19937 random(11);
  std::map<std::pair<TimePoint, int>, bool> model;
  for (int i = 0; i < 5'000; ++i) {
    clock.advance(Duration(random() % 3));
    if (random() % 2 == 0) {
      const auto due = now() + Duration(random() % 20);
      const bool in = queue.offer(int(i), due_at(due)).has_value();
      ASSERT_EQ(in, model.size() < queue.capacity());
      if (in) model[{due, i}] = true;
    } else if (auto item = queue.poll()) {
      ASSERT_EQ(model.begin()->first.second, *item);
      ASSERT_LE(model.begin()->first.first, now());
      model.erase(model.begin());
    } else {
      ASSERT_TRUE(model.empty() || model.begin()->first.first > now());
    }
  }
}

// -- Waiting --------------------------------------------------------------------------------------

TEST_F(DelayQueueTest, TakeWaitsUntilTheFirstItemIsDue) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  auto taken = take_in_background();
  await_timers(1);
  clock.advance(9ms);
  EXPECT_FALSE(is_done(taken));
  clock.advance(1ms);
  EXPECT_EQ(taken.get(), 1);
}

TEST_F(DelayQueueTest, AnEarlierItemPutLaterShortensTheWait) {
  ASSERT_TRUE(queue.put(2, due_in(1h)));
  auto taken = take_in_background();
  await_timers(1);
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  eventually([&] {
    clock.advance(1ms);
    return is_done(taken);
  });
  EXPECT_EQ(taken.get(), 1);
}

TEST_F(DelayQueueTest, AnItemDueAtOnceEndsAWaitForALaterOne) {
  ASSERT_TRUE(queue.put(2, due_in(1h)));
  auto taken = take_in_background();
  await_timers(1);
  ASSERT_TRUE(queue.put(1, due_in(0s)));
  EXPECT_EQ(taken.get(), 1);
}

TEST_F(DelayQueueTest, TheWaitGoesOnIfTheItemItWasForIsDrained) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  auto taken = take_in_background();
  await_timers(1);
  EXPECT_EQ(queue.drain(), std::vector{1});
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  clock.advance(10ms);
  await_timers(1);
  EXPECT_FALSE(is_done(taken));
  eventually([&] {
    clock.advance(1ms);
    return is_done(taken);
  });
  EXPECT_EQ(taken.get(), 2);
}

TEST_F(DelayQueueTest, ADeadlineBeforeTheDueTimeEndsTheWait) {
  ASSERT_TRUE(queue.put(1, due_in(20ms)));
  auto taken = take_in_background({.deadline = within(10ms)});
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(taken.get(), timed_out);
  EXPECT_EQ(queue.size(), 1u);
}

TEST_F(DelayQueueTest, AnItemDueExactlyAtTheDeadlineIsTaken) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  auto taken = take_in_background({.deadline = within(10ms)});
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(taken.get(), 1);
}

TEST_F(DelayQueueTest, ADelayCountsFromTheCallNotFromWhenThereIsRoom) {
  DelayQueue<int> small{{.capacity = 1}};
  ASSERT_TRUE(small.put(1, due_in(0s)));
  auto put = in_background([&] { return small.put(2, due_in(10ms)); });
  await_producers(small, 1);
  clock.advance(10ms);
  EXPECT_EQ(small.take(), 1);
  ASSERT_TRUE(put.get());
  EXPECT_EQ(small.poll(), 2);
}

TEST(DelayQueueOnTheRealClock, ItemsComeOutWhenTheyAreDueAndNotBefore) {
  DelayQueue<TimePoint> queue{{.capacity = 10}};
  for (int i = 5; i >= 1; --i) {
    const auto due = now() + i * 2ms;
    ASSERT_TRUE(queue.put(TimePoint(due), due_at(due)));
  }
  queue.close();
  for (TimePoint& due : queue) EXPECT_LE(due, now());
}

// -- The watch ------------------------------------------------------------------------------------

TEST_F(DelayQueueTest, OnlyOneOfManyWaitingTakersSetsATimer) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  auto waiting = takers(5);
  await_timers(1);
  EXPECT_EQ(clock.waiting(), 1u);
  queue.drain();
  queue.close();
  for (auto& each : waiting) EXPECT_EQ(each.get(), closed);
}

// Which of the others is next is not said: one that has only just come in line may be up still, and sooner there.
TEST_F(DelayQueueTest, TheFirstTakerGetsTheFirstItemAndAnotherTakesOverTheWatch) {
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(queue.put(int(i), due_in(i * 10ms)));
  auto waiting = takers(3);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(waiting[0].get(), 1);
  waiting.erase(waiting.begin());
  for (int i = 2; i <= 3; ++i) {
    await_timers(1);
    clock.advance(10ms);
    auto next = waiting.end();
    eventually([&] {
      next = std::ranges::find_if(waiting, is_done);
      return next != waiting.end();
    });
    EXPECT_EQ(next->get(), i);
    waiting.erase(next);
  }
}

TEST_F(DelayQueueTest, ItemsDueAtTheSameMomentWakeAsManyTakers) {
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.put(int(i), due_in(10ms)));
  auto waiting = takers(4);
  await_timers(1);
  clock.advance(10ms);
  int sum = 0;
  for (auto& each : waiting) sum += each.get().value();
  EXPECT_EQ(sum, 6);
}

TEST_F(DelayQueueTest, AStoppedWatcherPassesTheWatchOn) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  std::stop_source stop;
  auto watcher = take_in_background({.stop = stop.get_token()});
  await_consumers(queue, 1);
  auto next = std::move(takers(1)[0]);
  await_timers(1);

  stop.request_stop();
  EXPECT_EQ(watcher.get(), stopped);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(next.get(), 1);
}

TEST_F(DelayQueueTest, AWatcherThatTimesOutPassesTheWatchOn) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  auto watcher = take_in_background({.deadline = within(5ms)});
  await_consumers(queue, 1);
  auto next = std::move(takers(1)[0]);
  await_timers(1);

  clock.advance(5ms);
  EXPECT_EQ(watcher.get(), timed_out);
  await_timers(1);
  clock.advance(5ms);
  EXPECT_EQ(next.get(), 1);
}

TEST_F(DelayQueueTest, AWatcherWhoseItemThrowsPassesTheWatchOn) {
  DelayQueue<Fragile> fragile{{.capacity = 2}};
  ASSERT_TRUE(fragile.put(Fragile(1, 1), due_in(10ms)));
  ASSERT_TRUE(fragile.put(Fragile(2), due_in(20ms)));
  auto first = in_background([&] { return fragile.take()->value; });
  await_consumers(fragile, 1);
  auto second = in_background([&] { return fragile.take()->value; });
  await_consumers(fragile, 2);
  await_timers(1);

  clock.advance(10ms);
  EXPECT_THROW(first.get(), std::runtime_error);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(second.get(), 2);
}

TEST_F(DelayQueueTest, ATakerInLineThatLeavesDoesNotDisturbTheOthers) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  ASSERT_TRUE(queue.put(2, due_in(20ms)));
  auto watcher = std::move(takers(1)[0]);
  std::stop_source stop;
  auto in_line = take_in_background({.stop = stop.get_token()});
  await_consumers(queue, 2);
  auto last = std::move(takers(1)[0]);

  stop.request_stop();
  EXPECT_EQ(in_line.get(), stopped);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(watcher.get(), 1);
  await_timers(1);
  clock.advance(10ms);
  EXPECT_EQ(last.get(), 2);
}

TEST_F(DelayQueueTest, APollNeverOvertakesTheWatcher) {
  for (int i = 0; i < 200; ++i) {
    auto watcher = std::move(takers(1)[0]);
    ASSERT_TRUE(queue.put(int(i), due_in(0s)));
    EXPECT_EQ(queue.poll(), empty);
    EXPECT_EQ(watcher.get(), i);
  }
}

TEST_F(DelayQueueTest, APollGivesTheWatcherItsItemAndTakesTheNext) {
  auto watcher = std::move(takers(1)[0]);
  std::vector<int> items{1, 2};
  // Both go in at the same moment as far as anybody can see: the watcher may be given its item by the poll.
  ASSERT_TRUE(queue.put_all(items, due_in(0s)));
  EXPECT_EQ(queue.take(), 2);
  EXPECT_EQ(watcher.get(), 1);
}

TEST_F(DelayQueueTest, ATakerInLineThatNeverGetsToRunIsOvertakenABoundedNumberOfTimes) {
  tests::FreezeSignal freeze;
  auto watcher = std::move(takers(1)[0]);
  Taken taken;
  std::jthread in_line([&] { taken = queue.take(); });
  await_consumers(queue, 2);
  const bool frozen = freeze.freeze(in_line.native_handle());
  ASSERT_TRUE(queue.put(-1, due_in(0s)));
  ASSERT_EQ(watcher.get(), -1);

  constexpr auto most = detail::Turnstile::max_overtakes;
  std::uint64_t overtakes = 0;
  while (overtakes <= most && queue.offer(1, due_in(0s)) && frozen && queue.poll()) ++overtakes;
  EXPECT_LE(overtakes, most);
  freeze.thaw();
  queue.close();
  in_line.join();
  EXPECT_EQ(taken, 1);
}

// -- Closing --------------------------------------------------------------------------------------

TEST_F(DelayQueueTest, AfterCloseWhatWasAcceptedIsStillDeliveredWhenDue) {
  ASSERT_TRUE(queue.put(1, due_in(10ms)));
  auto waiting = takers(2);
  await_timers(1);
  queue.close();
  EXPECT_EQ(queue.put(2, due_in(0s)), closed);
  EXPECT_EQ(queue.poll(), empty);
  await_timers(1);
  EXPECT_FALSE(is_done(waiting[0]) || is_done(waiting[1]));

  clock.advance(10ms);
  EXPECT_EQ(waiting[0].get(), 1);
  EXPECT_EQ(waiting[1].get(), closed);
  EXPECT_EQ(queue.poll(), closed);
}

TEST_F(DelayQueueTest, DrainingAClosedQueueEndsTheWaitsOfAll) {
  ASSERT_TRUE(queue.put(1, due_in(1h)));
  auto waiting = takers(4);
  queue.close();
  await_sleep();  // They have looked, and wait for the item to be due.
  EXPECT_EQ(queue.drain(), std::vector{1});
  for (auto& each : waiting) EXPECT_EQ(each.get(), closed);
}

// -- Dropping -------------------------------------------------------------------------------------

TEST_F(DelayQueueTest, DropOldestEvictsTheItemDueFirst) {
  std::vector<int> dropped;
  DelayQueue<int> small{{.capacity = 2, .when_full = WhenFull::drop_oldest},
                        [&](int& item) { dropped.push_back(item); }};
  const auto log_before = set_log([](std::string_view) {});
  small.push(2, due_in(20ms));
  small.push(1, due_in(10ms));
  EXPECT_TRUE(small.push(3, due_in(30ms)));
  EXPECT_TRUE(small.push(0, due_in(0s)));  // Due before all others, and in all the same.
  EXPECT_EQ(dropped, (std::vector{1, 2}));
  EXPECT_EQ(small.drain(), (std::vector{0, 3}));
  set_log(log_before);
}

TEST_F(DelayQueueTest, EvictingTheItemAWatcherWaitsForLeavesItWaitingForTheNext) {
  DelayQueue<int> small{{.capacity = 1, .when_full = WhenFull::drop_oldest}};
  const auto log_before = set_log([](std::string_view) {});
  small.push(1, due_in(10ms));
  auto taken = in_background([&] { return small.take(); });
  await_timers(1);
  small.push(2, due_in(20ms));
  eventually([&] {
    clock.advance(1ms);
    return is_done(taken);
  });
  EXPECT_EQ(taken.get(), 2);
  set_log(log_before);
}

}  // namespace
}  // namespace handoff::contract
