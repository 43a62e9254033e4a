// What items may be: move-only, large, over-aligned, not assignable, throwing when moved; and that each is destroyed once.
#include <array>

#include "contract/every_queue.hpp"

namespace handoff::contract {
namespace {

template <typename Kind>
class Items : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(Fragile::alive, 0); }
  void TearDown() override { EXPECT_EQ(Fragile::alive, 0); }
};
TYPED_TEST_SUITE(Items, EveryQueue, KindName);

TYPED_TEST(Items, MoveOnlyTypesGoThrough) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>({.capacity = 2});
  ASSERT_TRUE(queue.put(std::make_unique<int>(1)));
  ASSERT_TRUE(queue.offer(std::make_unique<int>(2)));
  EXPECT_EQ(**queue.take(), 1);
  EXPECT_EQ(*queue.drain().at(0), 2);
}

struct alignas(256) OverAligned {
  int value;
};

TYPED_TEST(Items, OverAlignedTypesStayAligned) {
  auto queue = TypeParam::template make<OverAligned>({.capacity = 3});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(queue.put(OverAligned{i}));
  for (int i = 0; i < 3; ++i) {
    const auto item = queue.take();
    ASSERT_TRUE(item);
    EXPECT_EQ(item->value, i);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&*item) % alignof(OverAligned), 0u);
  }
}

TYPED_TEST(Items, LargeTypesGoThroughWhole) {
  using Large = std::array<int, 10'000>;
  auto queue = TypeParam::template make<Large>({.capacity = 3});
  for (int i = 0; i < 3; ++i) {
    auto item = std::make_unique<Large>();
    item->fill(i);
    ASSERT_TRUE(queue.put(std::move(*item)));
  }
  for (int i = 0; i < 3; ++i) {
    const auto item = std::make_unique<std::expected<Large, Refusal>>(queue.take());
    ASSERT_TRUE(*item);
    EXPECT_EQ((*item)->front(), i);
    EXPECT_EQ((*item)->back(), i);
  }
}

TYPED_TEST(Items, TypesThatCannotBeAssignedGoThroughEveryForm) {
  std::vector<int> dropped;
  auto queue =
      TypeParam::template make<Fragile>({.capacity = 1, .when_full = WhenFull::drop_oldest},
                                        [&](Fragile& item) { dropped.push_back(item.value); });
  ASSERT_TRUE(queue.push(Fragile(1)));
  ASSERT_TRUE(queue.push(Fragile(2)));
  EXPECT_EQ(dropped, std::vector{1});
  EXPECT_EQ(queue.take_some(5).value().at(0).value, 2);
}

TYPED_TEST(Items, DestroyingANonEmptyQueueDestroysItsItemsOnce) {
  {
    auto queue = TypeParam::template make<Fragile>({.capacity = 5});
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(queue.put(Fragile(i)));
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(queue.take());
    ASSERT_TRUE(queue.put(Fragile(5)));
    EXPECT_EQ(Fragile::alive, 4);
  }
  EXPECT_EQ(Fragile::alive, 0);
}

// -- A move that throws ---------------------------------------------------------------------------

TYPED_TEST(Items, AThrowingMoveOnTheWayInChangesNothing) {
  auto queue = TypeParam::template make<Fragile>({.capacity = 2});
  ASSERT_TRUE(queue.put(Fragile(1)));
  Fragile broken(2, 0);
  EXPECT_THROW((void)queue.put(std::move(broken)), std::runtime_error);
  EXPECT_THROW((void)queue.offer(std::move(broken)), std::runtime_error);
  EXPECT_EQ(broken.value, 2);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.stats().puts, 1u);

  ASSERT_TRUE(queue.offer(Fragile(3)));
  EXPECT_EQ(queue.take()->value, 1);
  EXPECT_EQ(queue.take()->value, 3);
}

TYPED_TEST(Items, AThrowingMoveOnTheWayOutCountsAsTaken) {
  auto queue = TypeParam::template make<Fragile>({.capacity = 3});
  ASSERT_TRUE(queue.put(Fragile(1, 1)));
  ASSERT_TRUE(queue.put(Fragile(2, 1)));
  ASSERT_TRUE(queue.put(Fragile(3)));
  EXPECT_THROW((void)queue.take(), std::runtime_error);
  EXPECT_THROW((void)queue.poll(), std::runtime_error);
  EXPECT_EQ(queue.stats().takes, 2u);
  EXPECT_EQ(queue.size(), 1u);
  EXPECT_EQ(queue.take()->value, 3);
}

TYPED_TEST(Items, AThrowingMoveDuringPutAllIsReportedWithTheCount) {
  auto queue = TypeParam::template make<Fragile>({.capacity = 5});
  std::vector<Fragile> items;
  items.reserve(3);
  items.emplace_back(0);
  items.emplace_back(1, 0);
  items.emplace_back(2);
  const auto put = queue.put_all(items);
  EXPECT_FALSE(put);
  EXPECT_EQ(put.accepted, 1u);
  EXPECT_EQ(put.refusal, std::nullopt);
  EXPECT_THROW(std::rethrow_exception(put.error), std::runtime_error);
  EXPECT_EQ(items[1].value, 1);
  EXPECT_EQ(items[2].value, 2);
  EXPECT_EQ(queue.size(), 1u);
}

TYPED_TEST(Items, AWaitingConsumerGetsTheExceptionOfItsItem) {
  auto queue = TypeParam::template make<Fragile>({.capacity = 1});
  auto first = in_background([&] { return queue.take().has_value(); });
  await_consumers(queue, 1);
  auto second = in_background([&] { return queue.take().has_value(); });
  await_consumers(queue, 2);
  await_sleep();  // One that is still having its last look might overtake the first.

  ASSERT_TRUE(queue.put(Fragile(1, 1)));
  EXPECT_THROW(first.get(), std::runtime_error);
  ASSERT_TRUE(queue.put(Fragile(2)));
  EXPECT_TRUE(second.get());
}

TYPED_TEST(Items, AWaitingProducerGetsTheExceptionAndTheRoomGoesToTheNext) {
  auto queue = TypeParam::template make<Fragile>({.capacity = 1});
  ASSERT_TRUE(queue.put(Fragile(0)));
  auto first = in_background([&] { return queue.put(Fragile(1, 0)).has_value(); });
  await_producers(queue, 1);
  auto second = in_background([&] { return queue.put(Fragile(2)).has_value(); });
  await_producers(queue, 2);
  await_sleep();  // As above.

  EXPECT_EQ(queue.take()->value, 0);
  EXPECT_THROW(first.get(), std::runtime_error);
  EXPECT_TRUE(second.get());
  EXPECT_EQ(queue.take()->value, 2);
}

TYPED_TEST(Items, AnEvictionWhoseNewItemThrowsLeavesTheRoomToAWaitingProducer) {
  std::vector<int> dropped;
  auto queue =
      TypeParam::template make<Fragile>({.capacity = 1, .when_full = WhenFull::drop_oldest},
                                        [&](Fragile& item) { dropped.push_back(item.value); });
  ASSERT_TRUE(queue.put(Fragile(0)));
  auto waiting = in_background([&] { return queue.put(Fragile(1)).has_value(); });
  await_producers(queue, 1);

  EXPECT_THROW(queue.push(Fragile(2, 0)), std::runtime_error);
  EXPECT_EQ(dropped, std::vector{0});
  EXPECT_TRUE(eventually([&] { return queue.size() == 1; }, 2s));
  queue.close();
  EXPECT_TRUE(waiting.get());
  EXPECT_EQ(queue.take()->value, 1);
}

TYPED_TEST(Items, AVictimWhoseMoveThrowsIsCountedAsADrop) {
  auto log_before = set_log([](std::string_view) {});
  auto queue = TypeParam::template make<Fragile>(
      {.capacity = 1, .when_full = WhenFull::drop_oldest}, [](Fragile&) {});
  for (int moves = 1; moves <= 3; ++moves) {
    ASSERT_TRUE(queue.push(Fragile(0, moves)));
    try {
      queue.push(Fragile(1));
    } catch (const std::runtime_error&) {
    }
    queue.drain([](Fragile&&) {});
  }
  const auto stats = queue.stats();
  EXPECT_EQ(stats.dropped, 3u);
  EXPECT_EQ(stats.puts, stats.takes + stats.dropped);
  set_log(log_before);
}

}  // namespace
}  // namespace handoff::contract
