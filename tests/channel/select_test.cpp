#include "handoff/select.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/event.hpp"
#include "handoff/queue.hpp"
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

using Received = std::expected<int, Refusal>;
using Sent = std::expected<void, Refusal>;

Selected refused(Refusal refusal) { return std::unexpected(refusal); }
constexpr auto ignore = [](auto&&...) {};

template <typename F>
auto elsewhere(F f) {
  return std::async(std::launch::async, std::move(f));
}

std::size_t waiting_to_receive(const Channel<int>& channel) {
  return channel.stats().waiting_consumers;
}
std::size_t waiting_to_send(const Channel<int>& channel) {
  return channel.stats().waiting_producers;
}

// -- Channels -------------------------------------------------------------------------------------

TEST(Select, TakesTheOnlyCaseThatIsReady) {
  Channel<int> a{1}, b{1};
  ASSERT_TRUE(b.send(7));
  int got = 0;
  EXPECT_EQ(select(a.on_receive(ignore), b.on_receive([&](int item) { got = item; })), 1U);
  EXPECT_EQ(got, 7);
  EXPECT_EQ(a.size() + b.size(), 0U);
}

TEST(Select, SendsAnItemOnlyIfThatCaseHappens) {
  Channel<std::unique_ptr<int>> open{1}, full{0};
  auto one = std::make_unique<int>(1), two = std::make_unique<int>(2);
  EXPECT_EQ(select(full.on_send(std::move(one), ignore), open.on_send(std::move(two), ignore)), 1U);
  EXPECT_TRUE(one);
  EXPECT_FALSE(two);
  EXPECT_EQ(*open.receive().value(), 2);
}

TEST(Select, SendsACopyOfWhatItWasGivenByName) {
  Channel<std::string> lines{1};
  const std::string line = "a line";
  EXPECT_EQ(select(lines.on_send(line, [] {})), 0U);
  EXPECT_EQ(lines.receive(), "a line");
  EXPECT_EQ(line, "a line");
}

TEST(Select, WaitsUntilAPeerComesAndStandsInNoLineAfterwards) {
  Channel<int> a{0}, b{0};
  int got = 0;
  auto selecting = elsewhere(
      [&] { return select(a.on_receive([&](int item) { got = item; }), b.on_send(2, [] {})); });
  eventually([&] { return waiting_to_receive(a) == 1 && waiting_to_send(b) == 1; });
  EXPECT_TRUE(a.send(7));
  EXPECT_EQ(selecting.get(), 0U);
  EXPECT_EQ(got, 7);
  EXPECT_EQ(waiting_to_send(b), 0U);
  EXPECT_EQ(b.try_receive(), Received(std::unexpected(Refusal::empty)));
}

TEST(Select, TwoSelectsMeetOnEitherOfTwoChannels) {
  Channel<int> a{0}, b{0};
  constexpr int rounds = 20'000;
  std::array<int, 2> met{};
  long sum = 0;
  auto sending = elsewhere([&] {
    for (int i = 0; i < rounds; ++i) {
      const auto selected = select(b.on_send(i, [] {}), a.on_send(i, [] {}));
      EXPECT_TRUE(selected);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    const auto selected = select(a.on_receive([&](int item) { sum += item; }),
                                 b.on_receive([&](int item) { sum += item; }));
    ASSERT_TRUE(selected);
    ++met[*selected];
  }
  sending.get();
  EXPECT_EQ(sum, long{rounds} * (rounds - 1) / 2);
  EXPECT_EQ(met[0] + met[1], rounds);
  EXPECT_GT(met[0], 0);
  EXPECT_GT(met[1], 0);
}

TEST(Select, DoesNotMeetItself) {
  Channel<int> channel{0};
  Event go_on;
  auto selecting = elsewhere([&] {
    return select(channel.on_send(1, [] {}), channel.on_receive(ignore), on_set(go_on, [] {}));
  });
  eventually([&] { return waiting_to_send(channel) == 1 && waiting_to_receive(channel) == 1; });
  go_on.set();
  EXPECT_EQ(selecting.get(), 2U);
}

TEST(Select, TheSameChannelMayStandInSeveralCases) {
  Channel<int> channel{0};
  int got = 0;
  auto add = [&](int item) { got += item; };
  for (int i = 0; i < 100; ++i) {
    auto selecting = elsewhere([&] {
      return select(channel.on_receive(add), channel.on_receive(add), channel.on_receive(add));
    });
    EXPECT_TRUE(channel.send(1));
    EXPECT_TRUE(selecting.get());
  }
  EXPECT_EQ(got, 100);
}

// -- Fairness -------------------------------------------------------------------------------------

TEST(Select, ChoosesByLotAmongThoseThatAreReady) {
  Channel<int> a{1}, b{1}, c{1}, never{1};
  std::array<int, 4> times{};
  constexpr int rounds = 30'000;
  for (int i = 0; i < rounds; ++i) {
    static_cast<void>(a.try_send(1));
    static_cast<void>(b.try_send(1));
    static_cast<void>(c.try_send(1));
    const auto selected = select(never.on_receive(ignore), a.on_receive(ignore),
                                 b.on_receive(ignore), c.on_receive(ignore));
    ASSERT_TRUE(selected);
    ++times[*selected];
  }
  // 10,000 each with a standard deviation of 82: more than ten of them off would not happen by chance.
  EXPECT_EQ(times[0], 0);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_NEAR(times[i], rounds / 3, 1'000);
}

// -- Closed ---------------------------------------------------------------------------------------

TEST(Select, AClosedChannelsCaseIsReadyAndTellsAHandlerThatListens) {
  Channel<int> channel{1};
  channel.close();
  Received received = 0;
  EXPECT_EQ(select(channel.on_receive([&](Received r) { received = r; })), 0U);
  EXPECT_EQ(received, Received(std::unexpected(Refusal::closed)));
  Sent sent;
  int mine = 3;
  EXPECT_EQ(select(channel.on_send(std::move(mine), [&](Sent s) { sent = s; })), 0U);
  EXPECT_EQ(sent, Sent(std::unexpected(Refusal::closed)));
  EXPECT_EQ(mine, 3);
}

TEST(Select, ReportsClosedItselfIfTheHandlerOnlyTakesItems) {
  Channel<int> channel{1}, other{0};
  ASSERT_TRUE(channel.send(1));
  channel.close();
  int got = 0;
  const auto one = [&] {
    return select(channel.on_receive([&](int item) { got += item; }), other.on_receive(ignore));
  };
  EXPECT_EQ(one(), 0U);
  EXPECT_EQ(one(), refused(Refusal::closed));
  EXPECT_EQ(select(channel.on_send(1, [&] { got = -1; })), refused(Refusal::closed));
  EXPECT_EQ(got, 1);
}

TEST(Select, AClosingChannelEndsTheWait) {
  Channel<int> a{0}, b{0};
  auto receiving = elsewhere([&] { return select(a.on_receive([](int) {}), b.on_send(1, [] {})); });
  eventually([&] { return waiting_to_receive(a) == 1; });
  a.close();
  EXPECT_EQ(receiving.get(), refused(Refusal::closed));
  EXPECT_EQ(waiting_to_send(b), 0U);
}

// -- Time and stop --------------------------------------------------------------------------------

TEST(Select, OtherwiseNeverWaits) {
  Channel<int> a{0}, b{0};
  Event event;
  BlockingQueue<int> queue{{.capacity = 1}};
  bool ran = false;
  EXPECT_EQ(select(a.on_receive(ignore), b.on_send(1, [] {}), otherwise([&] { ran = true; }),
                   on_set(event, [] {}), queue.on_take(ignore)),
            2U);
  EXPECT_TRUE(ran);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(select(a.on_receive(ignore), otherwise([] {}), queue.on_take(ignore)), 2U);
  EXPECT_EQ(a.stats().consumer_waits, 0U);
}

TEST(Select, TheFirstTimerToComeHappens) {
  ManualClock clock;
  Channel<int> channel{0};
  auto selecting = elsewhere(
      [&] { return select(after(2s, [] {}), channel.on_receive(ignore), after(1s, [] {})); });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(selecting.get(), 2U);
  EXPECT_EQ(waiting_to_receive(channel), 0U);
}

TEST(Select, ATimeOfNothingIsReadyAtOnce) {
  Channel<int> channel{0};
  EXPECT_EQ(select(channel.on_receive(ignore), after(0s, [] {})), 1U);
  EXPECT_EQ(select(channel.on_receive(ignore), after(-1s, [] {})), 1U);
}

TEST(Select, EndsByItsDeadlineOrItsTimerWhicheverComesFirst) {
  ManualClock clock;
  Channel<int> channel{0};
  const auto one = [&](Duration deadline, Duration timer) {
    return elsewhere([&channel, deadline, timer] {
      return select({.deadline = within(deadline)}, channel.on_receive(ignore),
                    after(timer, [] {}));
    });
  };
  auto by_deadline = one(1s, 2s);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(by_deadline.get(), refused(Refusal::timed_out));
  auto by_timer = one(2s, 1s);
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(by_timer.get(), 1U);
}

TEST(Select, AStopEndsTheWaitAndTakesNothing) {
  Channel<int> channel{0};
  BlockingQueue<int> queue{{.capacity = 1}};
  Event event;
  std::stop_source stop;
  auto selecting = elsewhere([&] {
    return select({.stop = stop.get_token()}, channel.on_receive(ignore), queue.on_take(ignore),
                  on_set(event, [] {}));
  });
  eventually([&] { return waiting_to_receive(channel) == 1; });
  stop.request_stop();
  EXPECT_EQ(selecting.get(), refused(Refusal::stopped));
  EXPECT_EQ(waiting_to_receive(channel), 0U);
  EXPECT_EQ(queue.stats().waiting_consumers, 0U);
  ASSERT_TRUE(queue.put(1));
  EXPECT_EQ(select({.stop = stop.get_token()}, queue.on_take(ignore)), refused(Refusal::stopped));
  EXPECT_EQ(queue.size(), 1U);
}

// -- Ticker ---------------------------------------------------------------------------------------

TEST(Ticker, TicksOncePerPeriodAndSkipsWhatWasMissed) {
  ManualClock clock;
  Ticker ticker{100ms};
  const auto ticks_now = [&] { return select(ticker.on_tick([] {}), otherwise([] {})) == 0U; };
  EXPECT_FALSE(ticks_now());
  clock.advance(99ms);
  EXPECT_FALSE(ticks_now());
  clock.advance(1ms);
  EXPECT_TRUE(ticks_now());
  EXPECT_FALSE(ticks_now());
  clock.advance(350ms);  // Three have come, at 200, 300 and 400 ms: one is left of them.
  EXPECT_TRUE(ticks_now());
  EXPECT_FALSE(ticks_now());
  clock.advance(50ms);  // 500 ms: in step with the start still.
  EXPECT_TRUE(ticks_now());
  EXPECT_EQ(ticker.stats().takes, 3U);
}

TEST(Ticker, WakesTheOneWhoWaits) {
  ManualClock clock;
  Channel<int> channel{0};
  Ticker ticker{100ms, "heartbeat"};
  for (int i = 0; i < 5; ++i) {
    auto selecting =
        elsewhere([&] { return select(channel.on_receive(ignore), ticker.on_tick([] {})); });
    eventually([&] { return waiting_to_receive(channel) == 1 && clock.waiting() == 1; });
    clock.advance(100ms);
    EXPECT_EQ(selecting.get(), 1U);
  }
}

TEST(Ticker, EachTickIsForOneOfThoseWhoWait) {
  ManualClock clock;
  Ticker ticker{100ms};
  std::atomic<int> ticks = 0;
  std::vector<std::future<Selected>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(elsewhere([&] { return select(ticker.on_tick([&] { ++ticks; })); }));
  }
  eventually([&] { return ticker.stats().waiting_consumers == 4; });
  for (int i = 1; i <= 4; ++i) {
    eventually([&] { return clock.waiting() == 1; });
    clock.advance(100ms);
    eventually([&] { return ticks == i; });
    EXPECT_EQ(ticks, i);
  }
  for (auto& each : all) EXPECT_EQ(each.get(), 0U);
}

TEST(Ticker, ATickThatSomebodyElseTookIsWaitedForAgain) {
  ManualClock clock;
  Ticker ticker{100ms};
  auto waiting = elsewhere([&] { return select(ticker.on_tick([] {})); });
  eventually([&] { return ticker.stats().waiting_consumers == 1; });
  for (int i = 0; i < 50 && ticker.stats().waiting_consumers == 1; ++i) {
    clock.advance(100ms);
    static_cast<void>(select(ticker.on_tick([] {}), otherwise([] {})));
  }
  eventually([&] {
    clock.advance(100ms);
    return ticker.stats().waiting_consumers == 0;
  });
  EXPECT_EQ(waiting.get(), 0U);
}

TEST(Ticker, RefusesAPeriodThatIsNotPositive) { EXPECT_THROW(Ticker{0ms}, std::invalid_argument); }

// -- Queues and events ----------------------------------------------------------------------------

TEST(Select, TakesFromAQueue) {
  BlockingQueue<int> queue{{.capacity = 1}};
  Channel<int> channel{0};
  int got = 0;
  auto selecting = elsewhere([&] {
    return select(channel.on_receive(ignore), queue.on_take([&](int item) { got = item; }));
  });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  ASSERT_TRUE(queue.put(7));
  EXPECT_EQ(selecting.get(), 1U);
  EXPECT_EQ(got, 7);
  EXPECT_EQ(queue.size(), 0U);
  queue.close();
  EXPECT_EQ(select(queue.on_take([](int) {})), refused(Refusal::closed));
  EXPECT_EQ(select(queue.on_take(ignore)), 0U);
}

TEST(Select, AClosingQueueEndsTheWait) {
  BlockingQueue<int> queue{{.capacity = 1}};
  Channel<int> channel{0};
  auto selecting =
      elsewhere([&] { return select(channel.on_receive(ignore), queue.on_take([](int) {})); });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  queue.close();
  EXPECT_EQ(selecting.get(), refused(Refusal::closed));
}

TEST(Select, WaitsForAnEventAlsoIfItIsResetAtOnce) {
  Channel<int> channel{0};
  for (int i = 0; i < 200; ++i) {
    Event event;
    auto selecting =
        elsewhere([&] { return select(on_set(event, [] {}), channel.on_receive(ignore)); });
    eventually([&] { return event.stats().waiting_consumers == 1; });
    event.set();
    event.reset();
    EXPECT_EQ(selecting.get(), 0U);
  }
}

TEST(Select, ATurnAtAQueueThatIsNotUsedGoesToTheNext) {
  // The select is given its turn at the queue and at the channel at the same time; whichever it takes, the other is not lost.
  constexpr int rounds = 2'000;
  BlockingQueue<int> queue{{.capacity = 8}};
  Channel<int> channel{0};
  std::stop_source stop;
  std::atomic<int> taken = 0, received = 0;
  auto selecting = elsewhere([&] {
    while (select({.stop = stop.get_token()}, channel.on_receive([&](int) { ++received; }),
                  queue.on_take([&](int) { ++taken; }))) {
    }
  });
  auto taking = elsewhere([&] {
    while (queue.take({.stop = stop.get_token()})) ++taken;
  });
  auto sending = elsewhere([&] {
    for (int i = 0; i < rounds; ++i) EXPECT_TRUE(channel.send(i));
  });
  for (int i = 0; i < rounds; ++i) ASSERT_TRUE(queue.put(i));
  sending.get();
  eventually([&] { return taken == rounds && received == rounds; });
  stop.request_stop();
  selecting.get();
  taking.get();
}

// -- Handlers -------------------------------------------------------------------------------------

TEST(Select, TheHandlerMayUseTheSameChannels) {
  Channel<int> channel{1};
  ASSERT_TRUE(channel.send(1));
  int got = 0;
  EXPECT_TRUE(select(channel.on_receive([&](int item) {
    EXPECT_TRUE(channel.send(item + 1));
    EXPECT_TRUE(select(channel.on_receive([&](int next) { got = next; })));
  })));
  EXPECT_EQ(got, 2);
}

TEST(Select, WhatAHandlerThrowsPassesThroughAndTheCaseHasHappened) {
  Channel<int> channel{1};
  ASSERT_TRUE(channel.send(1));
  EXPECT_THROW(select(channel.on_receive([](int) { throw std::runtime_error("handler"); })),
               std::runtime_error);
  EXPECT_EQ(channel.size(), 0U);
}

TEST(Select, AThrowingMovePassesThroughAndLeavesNoTrace) {
  Channel<MoveProbe> channel{1}, other{0};
  BlockingQueue<MoveProbe> queue{{.capacity = 1}};
  ASSERT_TRUE(channel.send(throwing_after(1)));
  EXPECT_THROW(select(channel.on_receive(ignore), other.on_receive(ignore)), MoveFailed);
  ASSERT_TRUE(queue.put(throwing_after(1)));
  EXPECT_THROW(select(queue.on_take(ignore), other.on_receive(ignore)), MoveFailed);

  auto waiting = elsewhere([&] { return select(queue.on_take(ignore), other.on_receive(ignore)); });
  eventually([&] { return queue.stats().waiting_consumers == 1; });
  ASSERT_TRUE(queue.put(throwing_after(1)));
  EXPECT_THROW(waiting.get(), MoveFailed);
  EXPECT_EQ(other.stats().waiting_consumers + queue.stats().waiting_consumers, 0U);

  MoveProbe probe = throwing_after(0, 5);
  Channel<MoveProbe> buffer{1};
  EXPECT_THROW(select(buffer.on_send(std::move(probe), [] {})), MoveFailed);
  EXPECT_EQ(probe.value, 5);
  EXPECT_EQ(buffer.size(), 0U);
}

TEST(Select, ShowsWhatItWaitsFor) {
  Channel<int> a{{.name = "first choice"}}, b{{.name = "second choice"}};
  auto selecting = elsewhere([&] { return select(a.on_receive(ignore), b.on_receive(ignore)); });
  eventually([&] { return waiting_to_receive(b) == 1; });
  int shown = 0;
  for (const WaitInfo& wait : waits()) {
    if (wait.kind != "Channel") continue;
    ++shown;
    EXPECT_EQ(wait.operation, "select");
    EXPECT_THAT(wait.where.file_name(), ::testing::EndsWith("select_test.cpp"));
  }
  EXPECT_EQ(shown, 2);
  EXPECT_TRUE(a.send(1));
  EXPECT_EQ(selecting.get(), 0U);
}

// -- A list built at run time ---------------------------------------------------------------------

TEST(SelectList, WaitsForCasesAddedAtRunTime) {
  std::vector<std::unique_ptr<Channel<int>>> channels;
  Select list;
  int sum = 0;
  for (int i = 0; i < 100; ++i) {
    channels.push_back(std::make_unique<Channel<int>>(std::size_t{1}));
    EXPECT_EQ(list.add(channels.back()->on_receive([&](int item) { sum += item; })),
              static_cast<std::size_t>(i));
  }
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(channels[static_cast<std::size_t>(i)]->send(i));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(list.wait());
  EXPECT_EQ(sum, 99 * 100 / 2);
  EXPECT_EQ(list.wait({.deadline = now()}), refused(Refusal::timed_out));
}

TEST(SelectList, ACaseThatIsRemovedDoesNotHappenAndTheOthersKeepTheirNumbers) {
  Channel<int> a{0}, b{1};
  Select list;
  const auto first = list.add(a.on_receive(ignore));
  const auto second = list.add(b.on_receive(ignore));
  a.close();
  EXPECT_EQ(list.wait(), first);
  list.remove(first);
  EXPECT_EQ(list.size(), 1U);
  ASSERT_TRUE(b.send(1));
  EXPECT_EQ(list.wait(), second);
  list.remove(second);
  EXPECT_THROW(list.wait(), std::logic_error);
}

TEST(SelectList, CountsItsTimersFromTheBeginningOfEachWait) {
  ManualClock clock;
  Channel<int> channel{0};
  Select list;
  list.add(channel.on_receive(ignore));
  list.add(after(1s, [] {}));
  for (int i = 0; i < 3; ++i) {
    auto waiting = elsewhere([&] { return list.wait(); });
    eventually([&] { return clock.waiting() == 1; });
    clock.advance(1s);
    EXPECT_EQ(waiting.get(), 1U);
  }
}

TEST(SelectList, SixtyFourCasesMeetSixtyFourPeers) {
  constexpr int channels_count = 64, rounds = 200;
  std::vector<std::unique_ptr<Channel<int>>> channels;
  Select list;
  std::array<int, channels_count> got{};
  for (std::size_t i = 0; i < channels_count; ++i) {
    channels.push_back(std::make_unique<Channel<int>>(i % 3));
    list.add(channels[i]->on_receive([&got, i](int item) { got[i] += item; }));
  }
  std::vector<std::jthread> peers;
  for (auto& each : channels) {
    peers.emplace_back([&channel = *each] {
      for (int i = 0; i < rounds; ++i) EXPECT_TRUE(channel.send(1));
    });
  }
  for (int i = 0; i < channels_count * rounds; ++i) ASSERT_TRUE(list.wait());
  for (const int each : got) EXPECT_EQ(each, rounds);
}

}  // namespace
}  // namespace handoff
