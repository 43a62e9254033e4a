// What push() does by each policy, and how drops are counted, handed over and logged.
#include "contract/every_queue.hpp"

namespace handoff::contract {
namespace {

template <typename Kind>
class Dropping : public ::testing::Test {
 protected:
  Dropping() {
    before_ = set_log([this](std::string_view line) {
      std::scoped_lock guard(mutex_);
      lines_.emplace_back(line);
    });
  }
  ~Dropping() override { set_log(before_); }

  std::vector<std::string> lines() {
    std::scoped_lock guard(mutex_);
    return lines_;
  }

 private:
  LogSink before_;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};
TYPED_TEST_SUITE(Dropping, EveryQueue, KindName);

TYPED_TEST(Dropping, BlockMakesPushWait) {
  auto queue = TypeParam::template make<int>({.capacity = 1});
  ASSERT_TRUE(queue.push(1));
  EXPECT_EQ(queue.push(2, {.deadline = now()}), timed_out);
  auto pushed = in_background([&] { return queue.push(2); });
  await_producers(queue, 1);
  EXPECT_EQ(queue.take(), 1);
  EXPECT_TRUE(pushed.get());
}

TYPED_TEST(Dropping, RejectRefusesAtOnceAndDropsNothing) {
  auto queue = TypeParam::template make<int>({.capacity = 1, .when_full = WhenFull::reject});
  ASSERT_TRUE(queue.push(1));
  EXPECT_EQ(queue.push(2), full);
  EXPECT_EQ(queue.stats().refused, 1u);
  EXPECT_EQ(queue.stats().dropped, 0u);
  EXPECT_TRUE(this->lines().empty());
}

TYPED_TEST(Dropping, DropNewestRefusesTheNewItemAndCountsIt) {
  std::vector<int> dropped;
  auto queue = TypeParam::template make<int>({.capacity = 2, .when_full = WhenFull::drop_newest},
                                             [&](int& item) { dropped.push_back(item); });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(queue.push(int(i)).has_value(), i < 2);
  EXPECT_EQ(dropped, (std::vector{2, 3, 4}));
  EXPECT_EQ(queue.stats().dropped, 3u);
  EXPECT_EQ(queue.stats().refused, 0u);
  EXPECT_EQ(queue.stats().puts, 2u);
  EXPECT_EQ(queue.drain(), (std::vector{0, 1}));
}

TYPED_TEST(Dropping, DropNewestLeavesTheItemWithTheCaller) {
  auto queue = TypeParam::template make<std::unique_ptr<int>>(
      {.capacity = 1, .when_full = WhenFull::drop_newest});
  auto item = std::make_unique<int>(1);
  queue.push(std::make_unique<int>(0));
  EXPECT_EQ(queue.push(std::move(item)), full);
  EXPECT_NE(item, nullptr);
}

TYPED_TEST(Dropping, DropOldestHandsTheOldestItemToTheHook) {
  std::vector<std::unique_ptr<int>> dropped;
  auto queue = TypeParam::template make<std::unique_ptr<int>>(
      {.capacity = 2, .when_full = WhenFull::drop_oldest},
      [&](std::unique_ptr<int>& item) { dropped.push_back(std::move(item)); });
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.push(std::make_unique<int>(i)));
  ASSERT_EQ(dropped.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*dropped[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(**queue.take(), 3);
  EXPECT_EQ(**queue.take(), 4);
  EXPECT_EQ(queue.poll(), empty);
  const auto stats = queue.stats();
  EXPECT_EQ(stats.puts, 5u);
  EXPECT_EQ(stats.takes, 2u);
  EXPECT_EQ(stats.dropped, 3u);
  EXPECT_EQ(stats.high_water, 2u);
}

TYPED_TEST(Dropping, TheHookMayUseTheQueue) {
  std::size_t size_seen = 0;
  std::function<std::size_t()> size;
  auto queue = TypeParam::template make<int>({.capacity = 1, .when_full = WhenFull::drop_oldest},
                                             [&](int&) { size_seen = size(); });
  size = [&] { return queue.size(); };
  queue.push(1);
  queue.push(2);
  EXPECT_EQ(size_seen, 1u);
}

TYPED_TEST(Dropping, WhatTheHookThrowsReachesTheCaller) {
  auto queue = TypeParam::template make<int>({.capacity = 1, .when_full = WhenFull::drop_oldest},
                                             [](int&) { throw std::runtime_error("hook"); });
  queue.push(1);
  EXPECT_THROW(queue.push(2), std::runtime_error);
  EXPECT_EQ(queue.drain(), std::vector{2});
  EXPECT_EQ(queue.stats().dropped, 1u);
}

TYPED_TEST(Dropping, OnlyPushDrops) {
  auto queue = TypeParam::template make<int>({.capacity = 1, .when_full = WhenFull::drop_oldest});
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(queue.offer(2), full);
  EXPECT_EQ(queue.put(2, {.deadline = now()}), timed_out);
  EXPECT_EQ(queue.stats().dropped, 0u);
}

TYPED_TEST(Dropping, AClosedQueueDropsNothing) {
  for (auto policy : {WhenFull::drop_newest, WhenFull::drop_oldest}) {
    auto queue = TypeParam::template make<int>({.capacity = 1, .when_full = policy});
    queue.push(1);
    queue.close();
    EXPECT_EQ(queue.push(2), closed);
    EXPECT_EQ(queue.stats().dropped, 0u);
    EXPECT_EQ(queue.drain(), std::vector{1});
  }
}

TYPED_TEST(Dropping, DropsAreLoggedAtOnceThenAtMostOnceASecondAndALastTime) {
  ManualClock clock;
  {
    auto queue = TypeParam::template make<int>(
        {.capacity = 1, .name = "news", .when_full = WhenFull::drop_oldest});
    queue.push(0);
    for (int i = 0; i < 10; ++i) queue.push(int(i));
    ASSERT_EQ(this->lines().size(), 1u);
    EXPECT_NE(this->lines()[0].find("\"news\" is full: dropped 1 "), std::string::npos);

    clock.advance(999ms);
    queue.push(0);
    EXPECT_EQ(this->lines().size(), 1u);
    clock.advance(1ms);
    queue.push(0);
    ASSERT_EQ(this->lines().size(), 2u);
    EXPECT_NE(this->lines()[1].find("dropped 11 "), std::string::npos) << this->lines()[1];

    queue.push(0);
    queue.close();
    ASSERT_EQ(this->lines().size(), 3u);
    EXPECT_NE(this->lines()[2].find("13 in all"), std::string::npos) << this->lines()[2];
  }
  EXPECT_EQ(this->lines().size(), 3u);
}

TYPED_TEST(Dropping, AnEvictingPushGivesWaitingConsumersWhatIsThere) {
  auto queue = TypeParam::template make<int>({.capacity = 1, .when_full = WhenFull::drop_oldest});
  auto taken = in_background([&] { return queue.take(); });
  await_consumers(queue, 1);
  queue.push(1);
  EXPECT_EQ(taken.get(), 1);
}

}  // namespace
}  // namespace handoff::contract
