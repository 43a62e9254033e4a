// Adding and taking: what fits, what waits, what is refused, in which order.
#include "contract/every_queue.hpp"
#include "support/frozen_thread.hpp"

namespace handoff::contract {
namespace {

constexpr auto most = detail::Turnstile::max_overtakes;

template <typename Kind>
class AddingAndTaking : public ::testing::Test {};
TYPED_TEST_SUITE(AddingAndTaking, EveryQueue, KindName);

TYPED_TEST(AddingAndTaking, WhatGoesInFirstComesOutFirst) {
  auto queue = TypeParam::template make<int>({.capacity = 5});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue.put(int(i)));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.take(), i);
}

TYPED_TEST(AddingAndTaking, TheOrderHoldsWhenTheQueueIsFilledAndEmptiedOverAndOver) {
  auto queue = TypeParam::template make<int>({.capacity = 7});
  int in = 0;
  int out = 0;
  for (int round = 1; round <= 200; ++round) {
    for (int i = 0; i < round % 8 && queue.offer(int(in)); ++i) ++in;
    for (int i = 0; i < round % 5 && out < in; ++i) ASSERT_EQ(queue.poll(), out++);
  }
  while (out < in) ASSERT_EQ(queue.poll(), out++);
}

TYPED_TEST(AddingAndTaking, AFullQueueRefusesAnOfferAndLeavesTheItemAlone) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 1});
  ASSERT_TRUE(queue.offer(std::make_unique<int>(1)));

  auto second = std::make_unique<int>(2);
  EXPECT_EQ(queue.offer(std::move(second)), full);
  ASSERT_NE(second, nullptr);
  EXPECT_EQ(*second, 2);
}

TYPED_TEST(AddingAndTaking, AnEmptyQueueRefusesAPoll) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  EXPECT_EQ(queue.poll(), empty);
}

TYPED_TEST(AddingAndTaking, CapacityZeroIsRefusedWithAClearMessage) {
  try {
    auto queue = TypeParam::template make<int>({.capacity = 0});
    FAIL() << "capacity 0 was accepted";
  } catch (const std::invalid_argument& error) {
    const std::string message = error.what();
    EXPECT_NE(message.find("capacity must be from 1"), std::string::npos) << message;
    EXPECT_NE(message.find("got 0"), std::string::npos) << message;
  }
}

TYPED_TEST(AddingAndTaking, ACapacityBeyondMemoryIsRefusedAsInvalid) {
  EXPECT_THROW(TypeParam::template make<int>({.capacity = SIZE_MAX / 2}), std::invalid_argument);
}

TYPED_TEST(AddingAndTaking, CapacityIsExactForOddValues) {
  for (std::size_t capacity : {1u, 2u, 3u, 5u, 7u, 100u}) {
    auto queue = TypeParam::template make<int>({.capacity = capacity});
    EXPECT_EQ(queue.capacity(), capacity);
    for (std::size_t i = 0; i < capacity; ++i) ASSERT_TRUE(queue.offer(0));
    EXPECT_EQ(queue.offer(0), full);
    EXPECT_EQ(queue.size(), capacity);
  }
}

TYPED_TEST(AddingAndTaking, PutWaitsUntilAConsumerMakesRoom) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  ASSERT_TRUE(queue.put(1));
  auto second_put = in_background([&] { return queue.put(2); });
  await_producers(queue, 1);

  EXPECT_EQ(queue.take(), 1);
  EXPECT_TRUE(second_put.get());
  EXPECT_EQ(queue.take(), 2);
}

TYPED_TEST(AddingAndTaking, TakeWaitsUntilAProducerAddsAnItem) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  auto taken = in_background([&] { return queue.take(); });
  await_consumers(queue, 1);

  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(taken.get(), 1);
}

TYPED_TEST(AddingAndTaking, EveryWaitingConsumerGetsOneOfTheItemsPutAtOnce) {
  auto queue = TypeParam::template make<int>({.capacity = 4});
  std::vector<std::future<std::expected<int, Refusal>>> takes;
  for (int i = 0; i < 4; ++i) takes.push_back(in_background([&] { return queue.take(); }));
  await_consumers(queue, 4);

  std::vector<int> items{1, 2, 3, 4};
  ASSERT_TRUE(queue.put_all(items));
  int sum = 0;
  for (auto& take : takes) sum += take.get().value();
  EXPECT_EQ(sum, 10);
}

TYPED_TEST(AddingAndTaking, EveryWaitingProducerGetsInWhenTheQueueIsDrained) {
  auto queue = TypeParam::template make<int>({.capacity = 3});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(0));
  std::vector<std::future<bool>> puts;
  for (int i = 1; i <= 3; ++i) {
    puts.push_back(in_background([&, i] { return queue.put(int(i)).has_value(); }));
  }
  await_producers(queue, 3);

  const auto drained = queue.drain().size();  // Who gets in meanwhile may be drained as well.
  for (auto& put : puts) EXPECT_TRUE(put.get());
  EXPECT_EQ(drained + queue.size(), 6u);
}

TYPED_TEST(AddingAndTaking, WaitingProducersGetInFirstComeFirstServed) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  ASSERT_TRUE(queue.put(0));
  std::vector<std::future<bool>> puts;
  for (int i = 1; i <= 4; ++i) {
    puts.push_back(in_background([&, i] { return queue.put(int(i)).has_value(); }));
    await_producers(queue, static_cast<std::size_t>(i));
  }
  await_sleep();
  for (int i = 0; i <= 4; ++i) EXPECT_EQ(queue.take(), i);
  for (auto& put : puts) EXPECT_TRUE(put.get());
}

TYPED_TEST(AddingAndTaking, WaitingConsumersAreServedFirstComeFirstServed) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  std::vector<std::future<std::expected<int, Refusal>>> takes;
  for (int i = 1; i <= 4; ++i) {
    takes.push_back(in_background([&] { return queue.take(); }));
    await_consumers(queue, static_cast<std::size_t>(i));
  }
  await_sleep();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(queue.put(int(i)));
    EXPECT_EQ(takes[static_cast<std::size_t>(i)].get(), i);
  }
}

TYPED_TEST(AddingAndTaking, AConsumerThatNeverGetsToRunIsOvertakenABoundedNumberOfTimes) {
  tests::FreezeSignal freeze;
  auto queue = TypeParam::template make<std::uint64_t>({.capacity = 1});
  std::expected<std::uint64_t, Refusal> taken;
  std::jthread sleeper([&] { taken = queue.take(); });
  await_consumers(queue, 1);
  const bool frozen = freeze.freeze(sleeper.native_handle());

  std::uint64_t overtakes = 0;
  if (!frozen) {
    ASSERT_TRUE(queue.offer(std::uint64_t(overtakes)));
  } else {
    while (overtakes <= most && queue.offer(std::uint64_t(overtakes)) && queue.poll()) ++overtakes;
    EXPECT_LE(overtakes, most);
    EXPECT_EQ(queue.stats().takes, overtakes + 1) << "it has its item, though it has not run yet";
  }
  freeze.thaw();
  queue.close();
  sleeper.join();
  EXPECT_EQ(taken, overtakes);
}

TYPED_TEST(AddingAndTaking, AProducerThatNeverGetsToRunIsOvertakenABoundedNumberOfTimes) {
  tests::FreezeSignal freeze;
  auto queue = TypeParam::template make<std::uint64_t>({.capacity = 1});
  ASSERT_TRUE(queue.put(0));
  std::jthread sleeper([&] { EXPECT_TRUE(queue.put(UINT64_MAX)); });
  await_producers(queue, 1);
  if (freeze.freeze(sleeper.native_handle())) {
    std::uint64_t overtakes = 0;
    while (overtakes <= most && queue.poll() && queue.offer(std::uint64_t(overtakes))) ++overtakes;
    EXPECT_LE(overtakes, most);
    EXPECT_EQ(queue.poll(), UINT64_MAX);
  } else {
    ASSERT_TRUE(queue.poll());
    EXPECT_EQ(queue.take(), UINT64_MAX);
  }
  freeze.thaw();
  queue.close();
}

// -- Many at once ---------------------------------------------------------------------------------

TYPED_TEST(AddingAndTaking, PutAllReportsHowManyWentIn) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 2});
  std::vector<std::unique_ptr<int>> items;
  for (int i = 0; i < 3; ++i) items.push_back(std::make_unique<int>(i));

  const auto put = queue.put_all(items, {.deadline = now()});
  EXPECT_FALSE(put);
  EXPECT_EQ(put.accepted, 2u);
  EXPECT_EQ(put.refusal, Refusal::timed_out);
  EXPECT_EQ(queue.stats().refused, 1u);
  EXPECT_EQ(items[1], nullptr);
  ASSERT_NE(items[2], nullptr);
  EXPECT_EQ(*items[2], 2);
}

TYPED_TEST(AddingAndTaking, PutAllWaitsForRoomAndKeepsTheOrder) {
  auto queue = TypeParam::template make<int>({.capacity = 2});
  auto all_in = in_background([&] {
    std::vector<int> items{0, 1, 2, 3, 4, 5, 6};
    return queue.put_all(items).accepted;
  });
  for (int i = 0; i < 7; ++i) EXPECT_EQ(queue.take(), i);
  EXPECT_EQ(all_in.get(), 7u);
}

TYPED_TEST(AddingAndTaking, PutAllOfNothingSucceeds) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  EXPECT_TRUE(queue.put_all({}));
}

TYPED_TEST(AddingAndTaking, TakeSomeTakesWhatIsThere) {
  auto queue = TypeParam::template make<int>({.capacity = 5});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(int(i)));
  EXPECT_EQ(queue.take_some(10).value(), (std::vector{0, 1, 2}));
}

TYPED_TEST(AddingAndTaking, TakeSomeTakesNoMoreThanItIsAllowedTo) {
  auto queue = TypeParam::template make<int>({.capacity = 5});
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue.put(int(i)));
  EXPECT_EQ(queue.take_some(2).value(), (std::vector{0, 1}));
  EXPECT_EQ(queue.take_some(0).value(), std::vector<int>{});
  EXPECT_EQ(queue.size(), 3u);
}

TYPED_TEST(AddingAndTaking, TakeSomeWaitsForTheFirstItem) {
  auto queue = TypeParam::template make<int>({.capacity = 5});
  auto taken = in_background([&] { return queue.take_some(3); });
  await_consumers(queue, 1);
  ASSERT_TRUE(queue.put(7));
  EXPECT_EQ(taken.get().value(), std::vector{7});
}

TYPED_TEST(AddingAndTaking, DrainHandsBackEverythingInOrder) {
  auto queue = TypeParam::template make<int>({.capacity = 5});
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(queue.put(int(i)));
  EXPECT_EQ(queue.drain(), (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(queue.drain(), std::vector<int>{});
  EXPECT_EQ(queue.size(), 0u);
}

TYPED_TEST(AddingAndTaking, DrainIntoASinkHandsBackEverythingInOrder) {
  auto queue = TypeParam::template make<Fragile>({.capacity = 3});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(Fragile(i)));
  std::vector<int> values;
  EXPECT_EQ(queue.drain([&](Fragile item) { values.push_back(item.value); }), 3u);
  EXPECT_EQ(values, (std::vector{0, 1, 2}));
}

// -- Counting and looking -------------------------------------------------------------------------

TYPED_TEST(AddingAndTaking, StatsCountEverythingOnce) {
  auto queue = TypeParam::template make<int>({.capacity = 3});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(int(i)));
  EXPECT_FALSE(queue.offer(3));
  EXPECT_FALSE(queue.put(3, {.deadline = now()}));
  ASSERT_TRUE(queue.take());
  ASSERT_TRUE(queue.push(4));
  EXPECT_EQ(queue.drain().size(), 3u);
  queue.close();
  EXPECT_FALSE(queue.put(5));

  const auto stats = queue.stats();
  EXPECT_EQ(stats.puts, 4u);
  EXPECT_EQ(stats.takes, 4u);
  EXPECT_EQ(stats.refused, 3u);
  EXPECT_EQ(stats.dropped, 0u);
  EXPECT_EQ(stats.size, 0u);
  EXPECT_EQ(stats.capacity, 3u);
  EXPECT_EQ(stats.high_water, 3u);
  EXPECT_EQ(stats.producer_waits, 0u);
  EXPECT_EQ(stats.consumer_waits, 0u);
}

TYPED_TEST(AddingAndTaking, TheHighWaterMarkIsTheLargestSizeSoFar) {
  auto queue = TypeParam::template make<int>({.capacity = 5});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(int(i)));
  EXPECT_EQ(queue.drain().size(), 3u);
  ASSERT_TRUE(queue.put(3));
  EXPECT_EQ(queue.stats().high_water, 3u);
}

TYPED_TEST(AddingAndTaking, StatsCountAWaitOfEachSide) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  auto taken = in_background([&] { return queue.take(); });
  await_consumers(queue, 1);
  ASSERT_TRUE(queue.put(1));
  ASSERT_TRUE(taken.get());
  ASSERT_TRUE(queue.put(2));
  auto third = in_background([&] { return queue.put(3); });
  await_producers(queue, 1);
  ASSERT_TRUE(queue.take());
  ASSERT_TRUE(third.get());

  const auto stats = queue.stats();
  EXPECT_EQ(stats.consumer_waits, 1u);
  EXPECT_EQ(stats.producer_waits, 1u);
  EXPECT_EQ(stats.waiting_consumers + stats.waiting_producers, 0u);
  EXPECT_GT(stats.consumers_blocked, Duration::zero());
  EXPECT_GT(stats.producers_blocked, Duration::zero());
}

TYPED_TEST(AddingAndTaking, ANamedQueueIsInTheSnapshotUntilItIsDestroyed) {
  const auto count = [] {
    std::size_t found = 0;
    for (const auto& each : snapshot()) {
      if (each.name == "orders" && each.kind == TypeParam::kind) found += each.stats.size;
    }
    return found;
  };
  {
    auto queue = TypeParam::template make<int>({.capacity = 2, .name = "orders"});
    ASSERT_TRUE(queue.put(1));
    EXPECT_EQ(count(), 1u);
  }
  EXPECT_EQ(count(), 0u);
}

TYPED_TEST(AddingAndTaking, WaitsShowsWhoWaitsAndWhere) {
  auto queue = TypeParam::template make<int>({.capacity = 1, .name = "letters"});
  const auto line = std::source_location::current().line() + 3;
  auto taken = in_background([&] {
    name_this_thread("postman");
    return queue.take();
  });
  await_consumers(queue, 1);

  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].thread, "postman");
  EXPECT_EQ(all[0].operation, "take");
  EXPECT_EQ(all[0].kind, TypeParam::kind);
  EXPECT_EQ(all[0].name, "letters");
  EXPECT_EQ(all[0].where.line(), line);
  EXPECT_NE(std::string(all[0].where.file_name()).find("adding_and_taking_test"),
            std::string::npos);
  queue.close();
  EXPECT_EQ(taken.get(), closed);
  EXPECT_TRUE(waits().empty());
}

TYPED_TEST(AddingAndTaking, WaitsShowsAProducerThatWaits) {
  auto queue = TypeParam::template make<int>({.capacity = 1, .name = "letters"});
  ASSERT_TRUE(queue.put(1));
  auto put = in_background([&] { return queue.put(2); });
  await_producers(queue, 1);

  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].operation, "put");
  EXPECT_EQ(queue.take(), 1);
  EXPECT_TRUE(put.get());
}

TYPED_TEST(AddingAndTaking, AQueueCanBeMadeAndDestroyedWhileOthersLookAtAllOfThem) {
  std::atomic<bool> done = false;
  auto looks = in_background([&] {
    std::size_t largest = 0;
    while (!done) largest = std::max(largest, snapshot().size() + waits().size());
    return largest;
  });
  for (int i = 0; i < 300; ++i) {
    auto queue = TypeParam::template make<int>({.capacity = 1, .name = "short lived"});
    ASSERT_TRUE(queue.put(int(i)));
  }
  done = true;
  EXPECT_LE(looks.get(), 1u);
}

}  // namespace
}  // namespace handoff::contract
