// Channels and select between coroutines, and between coroutines and threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
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

using Item = std::unique_ptr<int>;
using Sent = std::expected<void, Refusal>;

Lazy<int> send_numbers(Channel<int>& channel, int how_many) {
  int sent = 0;
  for (int i = 0; i < how_many; ++i) {
    if (co_await channel.async_send(int{i})) ++sent;
  }
  co_return sent;
}

Lazy<int> send_numbers_and_close(Channel<int>& channel, int how_many) {
  const int sent = co_await send_numbers(channel, how_many);
  channel.close();
  co_return sent;
}

Lazy<long> add_up(Channel<int>& channel) {
  long sum = 0;
  while (auto item = co_await channel.async_receive()) sum += *item;
  co_return sum;
}

class AsyncChannel : public ::testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Capacities, AsyncChannel, ::testing::Values(0, 1, 2, 128));

constexpr int count = 5'000;
constexpr long sum_of_all = long{count} * (count - 1) / 2;

TEST_P(AsyncChannel, CoroutinesAtBothEnds) {
  Channel<int> channel{GetParam()};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  auto sum = spawn(pool, add_up(channel));
  auto sent = spawn(pool, send_numbers_and_close(channel, count));
  ASSERT_TRUE(sum && sent);
  EXPECT_EQ(sum->get(), sum_of_all);
  EXPECT_EQ(sent->get(), count);
}

TEST_P(AsyncChannel, AThreadSendsToACoroutine) {
  Channel<int> channel{GetParam()};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  auto sum = spawn(pool, add_up(channel));
  for (int i = 0; i < count; ++i) EXPECT_TRUE(channel.send(i));
  channel.close();
  EXPECT_EQ(sum->get(), sum_of_all);
}

TEST_P(AsyncChannel, ACoroutineSendsToAThread) {
  Channel<int> channel{GetParam()};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  auto sent = spawn(pool, send_numbers_and_close(channel, count));
  long sum = 0;
  for (const int item : channel) sum += item;
  EXPECT_EQ(sum, sum_of_all);
  EXPECT_EQ(sent->get(), count);
}

TEST_P(AsyncChannel, ACancelledSendGivesItsItemBack) {
  Channel<Item> channel{GetParam()};
  for (std::size_t i = 0; i < GetParam(); ++i) ASSERT_TRUE(channel.send(std::make_unique<int>(0)));
  std::stop_source stop;
  Item mine = std::make_unique<int>(7);
  std::jthread stopper([&] {
    eventually([&] { return channel.stats().waiting_producers == 1; });
    stop.request_stop();
  });
  const auto send = [](Channel<Item>& to, Item& item) -> Lazy<Sent> {
    co_return co_await to.async_send(std::move(item));
  };
  EXPECT_EQ(sync_wait(send(channel, mine), stop.get_token()),
            Sent(std::unexpected(Refusal::stopped)));
  ASSERT_TRUE(mine);
  EXPECT_EQ(*mine, 7);
  EXPECT_EQ(channel.drain().size(), GetParam());
}

TEST_P(AsyncChannel, ACancelledReceiveLeavesTheItem) {
  Channel<int> channel{GetParam()};
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return channel.stats().waiting_consumers == 1; });
    stop.request_stop();
  });
  EXPECT_EQ(sync_wait(add_up(channel), stop.get_token()), 0);
  auto sender = std::async(std::launch::async, [&] { return channel.send(1); });
  EXPECT_EQ(channel.receive(), 1);
  EXPECT_TRUE(sender.get());
}

TEST_P(AsyncChannel, ADeadlineEndsAWait) {
  ManualClock clock;
  Channel<int> channel{GetParam()};
  std::jthread mover([&] {
    eventually([&] { return channel.stats().waiting_consumers == 1 && clock.waiting() == 1; });
    clock.advance(1s);
  });
  const auto receive = [](Channel<int>& from) -> Lazy<std::expected<int, Refusal>> {
    co_return co_await from.async_receive(within(1s));
  };
  EXPECT_EQ(sync_wait(receive(channel)),
            (std::expected<int, Refusal>(std::unexpected(Refusal::timed_out))));
}

TEST_P(AsyncChannel, CloseEndsTheWaitsOfCoroutines) {
  Channel<int> channel{GetParam()};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  std::vector<Future<long>> receivers;
  for (int i = 0; i < 20; ++i) receivers.push_back(spawn(pool, add_up(channel)).value());
  eventually([&] { return channel.stats().waiting_consumers == 20; });
  channel.close();
  for (auto& each : receivers) EXPECT_EQ(each.get(), 0);
}

TEST(AsyncChannelAlone, WhatAMoveThrowsReachesTheCoroutineItIsFor) {
  Channel<MoveProbe> channel{0};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  const auto receive = [](Channel<MoveProbe>& from) -> Lazy<int> {
    auto probe = co_await from.async_receive();
    co_return probe->value;
  };
  auto received = spawn(pool, receive(channel));
  eventually([&] { return channel.stats().waiting_consumers == 1; });
  EXPECT_TRUE(channel.send(throwing_after(0)));
  EXPECT_THROW(static_cast<void>(received->get()), MoveFailed);
}

TEST(AsyncChannelAlone, ShowsTheCoroutineThatWaits) {
  Channel<int> channel{{.capacity = 0, .name = "shown"}};
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto sum = spawn(pool, add_up(channel));
  eventually([&] { return channel.stats().waiting_consumers == 1; });
  bool shown = false;
  for (const WaitInfo& wait : waits()) {
    if (wait.name != "shown") continue;
    shown = true;
    EXPECT_EQ(wait.operation, "receive");
    EXPECT_FALSE(wait.awaited_by.empty());
  }
  EXPECT_TRUE(shown);
  channel.close();
  EXPECT_EQ(sum->get(), 0);
}

// -- Select ---------------------------------------------------------------------------------------

TEST(AsyncSelect, ReceivesFromWhicheverComesFirst) {
  Channel<int> a{0}, b{1}, c{0}, d{2};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  const auto all = [](Channel<int>& w, Channel<int>& x, Channel<int>& y,
                      Channel<int>& z) -> Lazy<long> {
    long sum = 0;
    for (int i = 0; i < 4 * count; ++i) {
      const auto selected = co_await async_select(w.on_receive([&](int item) { sum += item; }),
                                                  x.on_receive([&](int item) { sum += item; }),
                                                  y.on_receive([&](int item) { sum += item; }),
                                                  z.on_receive([&](int item) { sum += item; }));
      EXPECT_TRUE(selected);
    }
    co_return sum;
  };
  auto sum = spawn(pool, all(a, b, c, d));
  auto from_a = spawn(pool, send_numbers(a, count)), from_b = spawn(pool, send_numbers(b, count));
  // Two of the senders are threads. None closes: the case of a closed channel is always ready.
  std::jthread thread([&] {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(c.send(i));
  });
  for (int i = 0; i < count; ++i) EXPECT_TRUE(d.send(i));
  EXPECT_EQ(sum->get(), 4 * sum_of_all);
  EXPECT_EQ(from_a->get(), count);
  EXPECT_EQ(from_b->get(), count);
}

TEST(AsyncSelect, TwoCoroutinesThatSelectMeet) {
  Channel<int> a{0}, b{0};
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  const auto sending = [](Channel<int>& x, Channel<int>& y) -> Lazy<int> {
    int sent = 0;
    for (int i = 0; i < count; ++i) {
      if (co_await async_select(x.on_send(i, [] {}), y.on_send(i, [] {}))) ++sent;
    }
    co_return sent;
  };
  const auto receiving = [](Channel<int>& x, Channel<int>& y) -> Lazy<long> {
    long sum = 0;
    auto add = [&](int item) { sum += item; };
    for (int i = 0; i < count; ++i) {
      static_cast<void>(co_await async_select(y.on_receive(add), x.on_receive(add)));
    }
    co_return sum;
  };
  auto sum = spawn(pool, receiving(a, b));
  auto sent = spawn(pool, sending(a, b));
  EXPECT_EQ(sum->get(), sum_of_all);
  EXPECT_EQ(sent->get(), count);
}

TEST(AsyncSelect, WaitsForTimersEventsAndQueuesToo) {
  ManualClock clock;
  Channel<int> channel{0};
  BlockingQueue<int> queue{{.capacity = 1}};
  Event event;
  Ticker ticker{10s};
  const auto one = [&]() -> Lazy<Selected> {
    co_return co_await async_select(channel.on_receive([](int) {}), queue.on_take([](int) {}),
                                    on_set(event, [] {}), after(1s, [] {}), ticker.on_tick([] {}));
  };
  const auto waits = [&] {
    return channel.stats().waiting_consumers == 1 && queue.stats().waiting_consumers == 1 &&
           event.stats().waiting_consumers == 1;
  };
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  const auto selected_after = [&](auto act) {
    auto selecting = spawn(pool, one());
    eventually(waits);
    act();
    return selecting->get().value();
  };
  EXPECT_EQ(selected_after([&] { EXPECT_TRUE(channel.send(1)); }), 0U);
  EXPECT_EQ(selected_after([&] { EXPECT_TRUE(queue.put(1)); }), 1U);
  EXPECT_EQ(selected_after([&] { event.set(); }), 2U);
  event.reset();
  EXPECT_EQ(selected_after([&] {
              eventually([&] { return clock.waiting() == 1; });
              clock.advance(1s);
            }),
            3U);
  clock.advance(9s);
  EXPECT_EQ(sync_wait(one()), 4U);
}

TEST(AsyncSelect, OtherwiseNeverSuspends) {
  Channel<int> channel{0};
  const auto one = [&]() -> Lazy<Selected> {
    co_return co_await async_select(channel.on_receive([](int) {}), otherwise([] {}));
  };
  EXPECT_EQ(sync_wait(one()), 1U);
  EXPECT_EQ(channel.stats().consumer_waits, 0U);
}

TEST(AsyncSelect, AStopOfTheTaskEndsTheWait) {
  Channel<int> channel{0};
  BlockingQueue<int> queue{{.capacity = 1}};
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return channel.stats().waiting_consumers == 1; });
    stop.request_stop();
  });
  const auto one = [&]() -> Lazy<Selected> {
    co_return co_await async_select(channel.on_receive([](int) {}), queue.on_take([](int) {}));
  };
  EXPECT_EQ(sync_wait(one(), stop.get_token()), Selected(std::unexpected(Refusal::stopped)));
  EXPECT_EQ(channel.stats().waiting_consumers, 0U);
  EXPECT_EQ(queue.stats().waiting_consumers, 0U);
}

TEST(AsyncSelect, AHandlerWithANameMayOwnWhatItNeeds) {
  Channel<std::string> channel{1};
  std::vector<std::string> log;
  const auto run = [&]() -> Lazy<int> {
    int rounds = 0;
    for (; rounds < 100; ++rounds) {
      std::string text = "an item long enough to need memory of its own " + std::to_string(rounds);
      auto note = [prefix = std::string("a prefix long enough to need memory of its own: "),
                   &log](std::string item) { log.push_back(prefix + item); };
      EXPECT_TRUE(co_await channel.async_send(std::move(text)));
      auto selecting = async_select(channel.on_receive(note), after(1h, [] {}));
      EXPECT_EQ(co_await selecting, 0U);
    }
    co_return rounds;
  };
  EXPECT_EQ(sync_wait(run()), 100);
  EXPECT_EQ(log.size(), 100U);
  EXPECT_EQ(
      log.back(),
      "a prefix long enough to need memory of its own: an item long enough to need memory of its "
      "own 99");
}

// What g++ 12 must not destroy twice: see select.hpp. Items own memory, so that a sanitizer would notice.
TEST(AsyncSelect, TheNaturalSpellingIsSafe) {
  Channel<std::string> from{1}, to{1};
  const auto run = [&]() -> Lazy<std::size_t> {
    const std::string copied = "a copy long enough to need memory of its own";
    std::string moved = "an item long enough to need memory of its own";
    std::size_t total = 0;
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(co_await from.async_send(std::string(copied)));
      EXPECT_EQ(
          co_await async_select(from.on_receive([&](std::string item) { total += item.size(); }),
                                after(1h, [&] { total = 0; })),
          0U);
      EXPECT_TRUE(co_await async_select(to.on_send(copied, [&] { ++total; }),
                                        from.on_receive([&](std::string) { total = 0; })));
      if (auto item = co_await to.async_receive()) total += item->size();
      moved = copied;
      EXPECT_TRUE(co_await async_select(
          to.on_send(std::move(moved), [&] { ++total; }),
          from.on_receive([&](const auto& item) { total = item.has_value() ? 0 : 1; })));
      total += (co_await to.async_receive()).value().size();
    }
    co_return total;
  };
  EXPECT_EQ(sync_wait(run()), 100 * (3 * 44 + 2));
}

TEST(AsyncSelect, AListBuiltAtRunTimeCanBeAwaitedAgainAndAgain) {
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  std::vector<std::unique_ptr<Channel<int>>> channels;
  for (std::size_t i = 0; i < 64; ++i) {
    channels.push_back(std::make_unique<Channel<int>>(i % 2));
  }
  const auto collect = [&]() -> Lazy<long> {
    long sum = 0;
    Select list;
    for (auto& each : channels) {
      list.add(
          each->on_receive([&](std::expected<int, Refusal> item) { sum += item.value_or(0); }));
    }
    while (list.size() > 0) {
      const auto number = co_await list.async_wait();
      EXPECT_TRUE(number);
      auto& channel = *channels[*number];
      if (channel.is_closed() && channel.size() == 0) list.remove(*number);
    }
    co_return sum;
  };
  auto sum = spawn(pool, collect());
  std::vector<Future<int>> senders;
  for (auto& each : channels)
    senders.push_back(spawn(pool, send_numbers_and_close(*each, 100)).value());
  for (auto& each : senders) EXPECT_EQ(each.get(), 100);
  EXPECT_EQ(sum->get(), 64L * 99 * 100 / 2);
}

// -- Races ----------------------------------------------------------------------------------------

struct Tally {
  std::atomic<int> sent = 0, received = 0, kept = 0;
};

// Sends its items, each within a short time; what is refused is still here.
Lazy<> send_hastily(Channel<Item>& a, Channel<Item>& b, Tally& tally, int items, unsigned seed) {
  std::minstd_rand random(seed);
  for (int i = 0; i < items; ++i) {
    Item item = std::make_unique<int>(i);
    const Deadline deadline =
        random() % 3 == 0 ? Deadline{} : within(std::chrono::microseconds(random() % 100));
    bool is_sent = false;
    const auto told = [&](Sent sent) { is_sent = sent.has_value(); };
    if (random() % 2 == 0) {
      is_sent = (co_await a.async_send(std::move(item), deadline)).has_value();
    } else {
      static_cast<void>(co_await async_select(deadline, a.on_send(std::move(item), told),
                                              b.on_send(std::move(item), told)));
    }
    EXPECT_EQ(is_sent, item == nullptr);
    ++(is_sent ? tally.sent : tally.kept);
  }
}

Lazy<> receive_hastily(Channel<Item>& a, Channel<Item>& b, Tally& tally, unsigned seed) {
  std::minstd_rand random(seed);
  bool open = true;
  const auto told = [&](std::expected<Item, Refusal> item) {
    if (item) ++tally.received;
    if (!item && item.error() == Refusal::closed) open = false;
  };
  while (open) {
    const Deadline deadline =
        random() % 3 == 0 ? Deadline{} : within(std::chrono::microseconds(random() % 100));
    if (random() % 2 == 0) {
      told(co_await b.async_receive(within(std::chrono::microseconds(random() % 100))));
    } else {
      static_cast<void>(co_await async_select(deadline, a.on_receive(told), b.on_receive(told)));
    }
  }
}

TEST_P(AsyncChannel, NothingIsLostOrDoubledByDeadlinesAndTheClose) {
  for (unsigned round = 0; round < 3; ++round) {
    Channel<Item> a{GetParam()}, b{GetParam()};
    WorkerPool pool{{.workers = 2, .capacity = 100}};
    Tally tally;
    std::vector<Future<void>> senders, receivers;
    for (unsigned i = 0; i < 4; ++i) {
      receivers.push_back(spawn(pool, receive_hastily(a, b, tally, 10 * round + i)).value());
      senders.push_back(spawn(pool, send_hastily(a, b, tally, 300, 10 * round + i + 5)).value());
    }
    // A thread at each end too.
    std::jthread sender([&] {
      for (int i = 0; i < 300; ++i) {
        Item item = std::make_unique<int>(i);
        ++(b.send(std::move(item), 50us) ? tally.sent : tally.kept);
      }
    });
    std::jthread receiver([&] {
      while (auto item = a.receive()) ++tally.received;
    });
    for (auto& each : senders) EXPECT_TRUE(each.get());
    sender.join();
    a.close();
    b.close();
    for (auto& each : receivers) EXPECT_TRUE(each.get());
    receiver.join();
    tally.received += static_cast<int>(a.drain().size() + b.drain().size());
    EXPECT_EQ(tally.sent, tally.received);
    EXPECT_EQ(tally.sent + tally.kept, 5 * 300);
  }
}

Lazy<> stopped_while_sending(Channel<Item>& channel, Tally& tally) {
  while (true) {
    Item item = std::make_unique<int>(1);
    const auto sent = co_await channel.async_send(std::move(item));
    EXPECT_EQ(sent.has_value(), item == nullptr);
    if (!sent) co_return;
    ++tally.sent;
  }
}

TEST_P(AsyncChannel, AStopAtAnyMomentLosesNothing) {
  for (int round = 0; round < 200; ++round) {
    Channel<Item> channel{GetParam()};
    Tally tally;
    std::stop_source stop;
    std::jthread receiver([&] {
      for (int i = 0; i <= round % 50; ++i) {
        if (channel.receive({.stop = stop.get_token()})) ++tally.received;
      }
      stop.request_stop();
    });
    sync_wait(stopped_while_sending(channel, tally), stop.get_token());
    receiver.join();
    tally.received += static_cast<int>(channel.drain().size());
    ASSERT_EQ(tally.sent, tally.received);
  }
}

}  // namespace
}  // namespace handoff
