#include "handoff/channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "support/move_probe.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using tests::MoveFailed;
using tests::MoveProbe;
using tests::throwing_after;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Sent = std::expected<void, Refusal>;
using Received = std::expected<int, Refusal>;

Sent refused_send(Refusal refusal) { return std::unexpected(refusal); }
Received refused(Refusal refusal) { return std::unexpected(refusal); }

template <typename Channel>
void await_senders(const Channel& channel, std::size_t count) {
  eventually([&] { return channel.stats().waiting_producers == count; });
}
template <typename Channel>
void await_receivers(const Channel& channel, std::size_t count) {
  eventually([&] { return channel.stats().waiting_consumers == count; });
}

template <typename F>
auto elsewhere(F f) {
  return std::async(std::launch::async, std::move(f));
}

// -- Every capacity -------------------------------------------------------------------------------

class ChannelOfEveryCapacity : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Capacities, ChannelOfEveryCapacity, ::testing::Values(0, 1, 2, 128));

TEST_P(ChannelOfEveryCapacity, HandsEveryItemOverInOrder) {
  Channel<int> channel{GetParam()};
  auto sender = elsewhere([&] {
    for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(channel.send(i));
    channel.close();
  });
  int expected = 0;
  for (const int item : channel) EXPECT_EQ(item, expected++);
  EXPECT_EQ(expected, 1'000);
  sender.get();
}

TEST_P(ChannelOfEveryCapacity, TrySendFillsTheBufferAndIsThenRefused) {
  Channel<int> channel{GetParam()};
  EXPECT_EQ(channel.capacity(), GetParam());
  for (std::size_t i = 0; i < GetParam(); ++i) EXPECT_TRUE(channel.try_send(1));
  EXPECT_EQ(channel.try_send(2), refused_send(Refusal::full));
  EXPECT_EQ(channel.size(), GetParam());
  EXPECT_EQ(channel.drain().size(), GetParam());
  EXPECT_EQ(channel.try_receive(), refused(Refusal::empty));
}

TEST_P(ChannelOfEveryCapacity, ASendPastTheBufferWaitsForAReceiver) {
  Channel<int> channel{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.try_send(static_cast<int>(i)));
  auto sender = elsewhere([&] { return channel.send(1'000); });
  await_senders(channel, 1);

  std::vector<int> received;
  for (std::size_t i = 0; i <= GetParam(); ++i) received.push_back(channel.receive().value());
  EXPECT_TRUE(sender.get());
  EXPECT_TRUE(std::ranges::is_sorted(received));
  EXPECT_EQ(received.back(), 1'000);
}

TEST_P(ChannelOfEveryCapacity, AWaitingReceiverGetsTheItemThatIsTried) {
  Channel<int> channel{GetParam()};
  auto receiver = elsewhere([&] { return channel.receive(); });
  await_receivers(channel, 1);
  EXPECT_TRUE(channel.try_send(7));
  EXPECT_EQ(receiver.get(), 7);
  EXPECT_EQ(channel.size(), 0U);
}

TEST_P(ChannelOfEveryCapacity, AWaitingSendersItemCanBeTried) {
  Channel<int> channel{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.try_send(1));
  auto sender = elsewhere([&] { return channel.send(2); });
  await_senders(channel, 1);
  EXPECT_TRUE(channel.try_receive());
  EXPECT_TRUE(sender.get());
  EXPECT_EQ(channel.size(), GetParam());
}

TEST_P(ChannelOfEveryCapacity, WaitersAreServedFirstComeFirstServed) {
  Channel<int> channel{GetParam()};
  std::vector<std::future<Received>> receivers;
  for (std::size_t i = 0; i < 5; ++i) {
    receivers.push_back(elsewhere([&] { return channel.receive(); }));
    await_receivers(channel, i + 1);
  }
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(channel.try_send(i));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(receivers[static_cast<std::size_t>(i)].get(), i);

  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.try_send(-1));
  std::vector<std::future<Sent>> senders;
  for (int i = 0; i < 5; ++i) {
    senders.push_back(elsewhere([&channel, i] { return channel.send(i); }));
    await_senders(channel, static_cast<std::size_t>(i) + 1);
  }
  for (std::size_t i = 0; i < GetParam(); ++i) EXPECT_EQ(channel.receive(), -1);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(channel.receive(), i);
  for (auto& each : senders) EXPECT_TRUE(each.get());
}

// -- Close ----------------------------------------------------------------------------------------

TEST_P(ChannelOfEveryCapacity, CloseLetsTheBufferDrainAndRefusesWhoWaitsToSend) {
  Channel<std::string> channel{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.try_send("kept"));
  std::string mine = "a string long enough not to be stored inside of the object";
  auto sender = elsewhere([&] { return channel.send(std::move(mine)); });
  await_senders(channel, 1);
  EXPECT_FALSE(channel.is_closed());
  channel.close();
  channel.close();
  EXPECT_TRUE(channel.is_closed());

  EXPECT_EQ(sender.get(), refused_send(Refusal::closed));
  EXPECT_EQ(mine, "a string long enough not to be stored inside of the object");
  EXPECT_EQ(channel.try_send(std::move(mine)), refused_send(Refusal::closed));
  EXPECT_EQ(channel.send(std::move(mine)), refused_send(Refusal::closed));
  EXPECT_FALSE(mine.empty());
  for (std::size_t i = 0; i < GetParam(); ++i) EXPECT_EQ(channel.receive().value(), "kept");
  EXPECT_EQ(channel.receive().error(), Refusal::closed);
  EXPECT_EQ(channel.try_receive().error(), Refusal::closed);
}

TEST_P(ChannelOfEveryCapacity, CloseWakesAllWhoWaitToReceive) {
  Channel<int> channel{GetParam()};
  std::vector<std::future<Received>> receivers;
  for (int i = 0; i < 9; ++i) receivers.push_back(elsewhere([&] { return channel.receive(); }));
  await_receivers(channel, 9);
  channel.close();
  for (auto& each : receivers) EXPECT_EQ(each.get(), refused(Refusal::closed));
}

// -- Deadline and stop ----------------------------------------------------------------------------

TEST_P(ChannelOfEveryCapacity, AReceiveGivesUpAfterItsTime) {
  ManualClock clock;
  Channel<int> channel{GetParam()};
  auto receiver = elsewhere([&] { return channel.receive(100ms); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(100ms);
  EXPECT_EQ(receiver.get(), refused(Refusal::timed_out));
  EXPECT_EQ(channel.stats().waiting_consumers, 0U);
  // Nobody is there any more who could take it.
  EXPECT_EQ(channel.try_send(1).has_value(), GetParam() > 0);
}

TEST_P(ChannelOfEveryCapacity, ASendGivesUpAfterItsTimeAndKeepsItsItem) {
  ManualClock clock;
  Channel<std::unique_ptr<int>> channel{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.send(std::make_unique<int>(1)));
  auto mine = std::make_unique<int>(7);
  auto sender = elsewhere([&] { return channel.send(std::move(mine), 100ms); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(100ms);
  EXPECT_EQ(sender.get(), refused_send(Refusal::timed_out));
  ASSERT_TRUE(mine);
  EXPECT_EQ(*mine, 7);
  EXPECT_EQ(channel.drain().size(), GetParam());
}

TEST_P(ChannelOfEveryCapacity, AStopEndsAWaitAndLeavesTheItemWithItsOwner) {
  Channel<std::unique_ptr<int>> channel{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.send(std::make_unique<int>(1)));
  std::stop_source stop;
  auto mine = std::make_unique<int>(7);
  auto sender =
      elsewhere([&] { return channel.send(std::move(mine), {.stop = stop.get_token()}); });
  await_senders(channel, 1);
  stop.request_stop();
  EXPECT_EQ(sender.get(), refused_send(Refusal::stopped));
  EXPECT_TRUE(mine);
  // Stopping is sticky.
  EXPECT_EQ(channel.send(std::move(mine), {.stop = stop.get_token()}),
            refused_send(Refusal::stopped));
  EXPECT_EQ(channel.receive({.stop = stop.get_token()}).error(), Refusal::stopped);
  EXPECT_TRUE(mine);
}

TEST(Channel, ADeadlineThatHasPassedStillTakesWhatIsThere) {
  Channel<int> channel{1};
  EXPECT_TRUE(channel.send(1, {.deadline = now() - 1s}));
  EXPECT_EQ(channel.send(2, {.deadline = now() - 1s}), refused_send(Refusal::timed_out));
  EXPECT_EQ(channel.receive({.deadline = now() - 1s}), 1);
  EXPECT_EQ(channel.receive({.deadline = now() - 1s}), refused(Refusal::timed_out));
}

// -- Items ----------------------------------------------------------------------------------------

TEST(Channel, ThrowingOnTheWayIntoTheBufferIsAsIfNothingHadHappened) {
  Channel<MoveProbe> channel{2};
  auto probe = throwing_after(0, 1);
  EXPECT_THROW(static_cast<void>(channel.try_send(std::move(probe))), MoveFailed);
  EXPECT_EQ(probe.value, 1);
  EXPECT_EQ(channel.size(), 0U);
  EXPECT_TRUE(channel.try_send(MoveProbe(2)));
  EXPECT_EQ(channel.try_receive()->value, 2);
}

TEST(Channel, ThrowingOnTheWayOutOfTheBufferReachesTheReceiverAndTheItemIsGone) {
  Channel<MoveProbe> channel{2};
  ASSERT_TRUE(channel.try_send(throwing_after(1)));
  ASSERT_TRUE(channel.try_send(MoveProbe(2)));
  EXPECT_THROW(static_cast<void>(channel.receive()), MoveFailed);
  EXPECT_EQ(channel.receive()->value, 2);
  EXPECT_EQ(channel.stats().takes, 2U);
}

TEST(Channel, ThrowingOnTheWayToAWaitingReceiverReachesTheReceiver) {
  Channel<MoveProbe> channel{0};
  auto receiver = elsewhere([&] { return channel.receive()->value; });
  await_receivers(channel, 1);
  EXPECT_TRUE(channel.send(throwing_after(0)));
  EXPECT_THROW(receiver.get(), MoveFailed);
}

TEST(Channel, ThrowingOnTheWayFromAWaitingSenderReachesTheReceiver) {
  Channel<MoveProbe> channel{0};
  auto sender = elsewhere([&] { return channel.send(throwing_after(0)); });
  await_senders(channel, 1);
  EXPECT_THROW(static_cast<void>(channel.receive()), MoveFailed);
  EXPECT_TRUE(sender.get());
}

TEST(Channel, ThrowingOnTheWayFromAWaitingSenderIntoTheBufferReachesTheSenderAndTheNextGoesIn) {
  Channel<MoveProbe> channel{1};
  ASSERT_TRUE(channel.try_send(MoveProbe(1)));
  auto first = elsewhere([&] { return channel.send(throwing_after(0)); });
  await_senders(channel, 1);
  auto second = elsewhere([&] { return channel.send(MoveProbe(3)); });
  await_senders(channel, 2);
  EXPECT_EQ(channel.receive()->value, 1);
  EXPECT_THROW(static_cast<void>(first.get()), MoveFailed);
  EXPECT_TRUE(second.get());
  EXPECT_EQ(channel.receive()->value, 3);
}

TEST(Channel, ItemsLeftInsideAreDestroyedWithIt) {
  const auto item = std::make_shared<int>(1);
  {
    Channel<std::shared_ptr<int>> channel{3};
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(channel.send(item));
    ASSERT_TRUE(channel.receive());
    ASSERT_TRUE(channel.send(item));
    EXPECT_EQ(item.use_count(), 4);
  }
  EXPECT_EQ(item.use_count(), 1);
}

TEST(Channel, DrainHandsOverTheBufferAndThoseWhoWaitToSend) {
  Channel<int> channel{2};
  ASSERT_TRUE(channel.send(1) && channel.send(2));
  auto sender = elsewhere([&] { return channel.send(3); });
  await_senders(channel, 1);
  EXPECT_THAT(channel.drain(), ElementsAre(1, 2, 3));
  EXPECT_TRUE(sender.get());
  EXPECT_THAT(channel.drain(), IsEmpty());

  Channel<MoveProbe> probes{2};
  ASSERT_TRUE(probes.send(MoveProbe(1)));
  int sum = 0;
  EXPECT_EQ(probes.drain([&](MoveProbe probe) { sum += probe.value; }), 1U);
  EXPECT_EQ(sum, 1);
}

TEST(Channel, WhoHasReceivedTheLastItemMayDestroyIt) {
  for (int i = 0; i < 2'000; ++i) {
    auto channel = std::make_unique<Channel<int>>(std::size_t{0});
    std::jthread sender([&reply = *channel] { EXPECT_TRUE(reply.send(7)); });
    EXPECT_EQ(channel->receive(), 7);
    channel.reset();
  }
}

// -- Looking --------------------------------------------------------------------------------------

TEST(Channel, CountsWhatGoesThrough) {
  Channel<int> channel{{.capacity = 2, .name = "counted"}};
  ASSERT_TRUE(channel.send(1) && channel.send(2));
  EXPECT_FALSE(channel.try_send(3));
  ASSERT_TRUE(channel.receive());
  const auto stats = channel.stats();
  EXPECT_EQ(stats.size, 1U);
  EXPECT_EQ(stats.capacity, 2U);
  EXPECT_EQ(stats.high_water, 2U);
  EXPECT_EQ(stats.puts, 2U);
  EXPECT_EQ(stats.takes, 1U);
  EXPECT_EQ(stats.refused, 1U);
  const auto all = snapshot();
  EXPECT_TRUE(std::ranges::any_of(
      all, [](const NamedStats& one) { return one.kind == "Channel" && one.name == "counted"; }));
}

TEST(Channel, CountsHowLongItsEndsWaited) {
  ManualClock clock;
  Channel<int> channel{0};
  auto receiver = elsewhere([&] { return channel.receive(); });
  await_receivers(channel, 1);
  clock.advance(3s);
  ASSERT_TRUE(channel.send(1));
  ASSERT_TRUE(receiver.get());
  EXPECT_EQ(channel.stats().consumer_waits, 1U);
  EXPECT_EQ(channel.stats().consumers_blocked, 3s);
  EXPECT_EQ(channel.stats().producer_waits, 0U);
}

TEST(Channel, ShowsWhoWaits) {
  Channel<int> channel{{.capacity = 0, .name = "meeting"}};
  auto sender = elsewhere([&] {
    name_this_thread("sender");
    return channel.send(1);
  });
  await_senders(channel, 1);
  const auto all = waits();
  const auto wait = std::ranges::find(all, "meeting", &WaitInfo::name);
  ASSERT_NE(wait, all.end());
  EXPECT_EQ(wait->thread, "sender");
  EXPECT_EQ(wait->operation, "send");
  EXPECT_EQ(wait->kind, "Channel");
  EXPECT_THAT(wait->where.file_name(), ::testing::EndsWith("channel_test.cpp"));
  EXPECT_EQ(channel.receive(), 1);
  EXPECT_TRUE(sender.get());
}

TEST(Channel, RefusesACapacityThatNoMemoryCouldHold) {
  EXPECT_THROW(Channel<int>{SIZE_MAX}, std::invalid_argument);
}

}  // namespace
}  // namespace handoff
