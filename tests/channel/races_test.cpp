// Every way in which a send or a receive can end, all at once: whatever happens, every item accepted is received exactly once, and every
// item refused is still with its owner.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/event.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

using Item = std::unique_ptr<int>;

// What became of the items, told by everybody for himself.
class Ledger {
 public:
  explicit Ledger(int items)
      : received_(static_cast<std::size_t>(items)), sent_(received_.size()) {}

  Item next() {
    const int number = issued_++;
    return number < static_cast<int>(sent_.size()) ? std::make_unique<int>(number) : nullptr;
  }
  void sent(int number) { ++sent_[static_cast<std::size_t>(number)]; }
  void received(const Item& item) {
    ASSERT_TRUE(item);
    ++received_[static_cast<std::size_t>(*item)];
  }
  void check() const {
    std::size_t accepted = 0;
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      ASSERT_LE(sent_[i], 1);
      ASSERT_EQ(sent_[i], received_[i]) << "item " << i;
      accepted += static_cast<std::size_t>(sent_[i]);
    }
    EXPECT_GT(accepted, 0U);
  }

 private:
  std::atomic<int> issued_ = 0;
  std::vector<std::atomic<int>> received_;
  std::vector<std::atomic<int>> sent_;
};

// Ends in one of the ways that a wait can end.
Wait some_wait(std::minstd_rand& random, std::stop_token stop) {
  switch (random() % 4) {
    case 0: return {.deadline = {}, .stop = std::move(stop)};
    case 1: return {.deadline = within(std::chrono::microseconds(random() % 50)), .stop = {}};
    case 2:
      return {.deadline = within(std::chrono::microseconds(random() % 200)),
              .stop = std::move(stop)};
    default: return {.deadline = within(0us), .stop = {}};
  }
}

class ChannelRaces : public ::testing::TestWithParam<std::tuple<std::size_t, bool>> {
 protected:
  std::size_t capacity() const { return std::get<0>(GetParam()); }
  bool with_select() const { return std::get<1>(GetParam()); }
};
INSTANTIATE_TEST_SUITE_P(Capacities, ChannelRaces,
                         ::testing::Combine(::testing::Values(0, 1, 2, 128), ::testing::Bool()));

// Stops go off all the time: whoever uses a source that has stopped gets a new one.
class Stops {
 public:
  std::stop_token token() {
    const std::lock_guard lock(mutex_);
    return source_.get_token();
  }
  void stop() {
    take().request_stop();  // Without the mutex: it runs what waits for it.
  }

 private:
  std::stop_source take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(source_, {});
  }

  std::mutex mutex_;
  std::stop_source source_;
};

TEST_P(ChannelRaces, NothingIsLostOrDoubledByStopsDeadlinesAndTheClose) {
  constexpr int rounds = 8, items = 600;
  for (unsigned round = 0; round < rounds; ++round) {
    Ledger ledger(items);
    Channel<Item> a{capacity()}, b{capacity()};
    Stops stops;
    std::atomic<bool> done = false;
    std::atomic<int> senders_done = 0;
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        std::minstd_rand random(round * 10 + t);
        while (Item item = ledger.next()) {
          const int number = *item;
          bool is_sent = false;
          // Some tries, then it gives up; the last close refuses the rest.
          for (int tries = 0; tries < 6 && !is_sent; ++tries) {
            const Wait wait = some_wait(random, stops.token());
            if (with_select() && random() % 2 == 0) {
              // The item is in two cases, and is sent by one of them at most.
              const auto told = [&](std::expected<void, Refusal> sent) {
                is_sent = sent.has_value();
              };
              static_cast<void>(
                  select(wait, a.on_send(std::move(item), told), b.on_send(std::move(item), told)));
            } else {
              is_sent = (random() % 2 == 0 ? a : b).send(std::move(item), wait).has_value();
            }
            ASSERT_EQ(is_sent, item == nullptr);
            if (!is_sent) {
              ASSERT_EQ(*item, number);
            }
          }
          if (is_sent) ledger.sent(number);
        }
        ++senders_done;
      });
    }
    std::vector<std::jthread> receivers;
    for (unsigned t = 0; t < 3; ++t) {
      receivers.emplace_back([&, t] {
        std::minstd_rand random(round * 10 + t + 5);
        while (!done) {
          const Wait wait = some_wait(random, stops.token());
          if (with_select() && random() % 2 == 0) {
            const auto told = [&](std::expected<Item, Refusal> item) {
              if (item) ledger.received(*item);
            };
            static_cast<void>(select(wait, a.on_receive(told), b.on_receive(told)));
          } else if (auto item = (random() % 2 == 0 ? a : b).receive(wait)) {
            ledger.received(*item);
          }
        }
      });
    }
    std::jthread stopper([&] {
      while (!done) stops.stop();
    });
    // Half of the rounds are closed while senders are at it.
    if (round % 2 == 0) {
      while (a.stats().puts + b.stats().puts < items / 4 && senders_done < 3) {
        std::this_thread::yield();
      }
      a.close();
      b.close();
    }
    threads.clear();
    done = true;
    a.close();
    b.close();
    receivers.clear();
    stopper.join();
    for (Channel<Item>* each : {&a, &b}) {
      for (const Item& item : each->drain()) ledger.received(item);
      EXPECT_EQ(each->stats().waiting_producers + each->stats().waiting_consumers, 0U);
    }
    ledger.check();
  }
}

TEST(SelectRaces, AQueueAnEventAndChannelsInOneSelectLoseNothing) {
  constexpr int rounds = 6, items = 1'500;
  for (unsigned round = 0; round < rounds; ++round) {
    Ledger ledger(items);
    Channel<Item> channel{round % 3};
    BlockingQueue<Item> queue{{.capacity = 1 + round % 2}};
    Event event;
    Stops stops;
    std::atomic<bool> done = false;
    std::vector<std::jthread> senders, receivers;
    for (unsigned t = 0; t < 2; ++t) {
      senders.emplace_back([&, t] {
        for (unsigned i = t; Item item = ledger.next(); ++i) {
          const int number = *item;
          const auto sent = i % 2 == 0 ? channel.send(std::move(item)) : queue.put(std::move(item));
          ASSERT_TRUE(sent);
          ledger.sent(number);
        }
      });
    }
    for (unsigned t = 0; t < 3; ++t) {
      receivers.emplace_back([&, t] {
        std::minstd_rand random(round * 10 + t);
        const auto told = [&](std::expected<Item, Refusal> item) {
          if (item) ledger.received(*item);
        };
        while (!done) {
          const Wait wait = some_wait(random, stops.token());
          switch (random() % 4) {
            case 0:
              static_cast<void>(select(wait, queue.on_take(told), channel.on_receive(told)));
              break;
            case 1:
              static_cast<void>(select(wait, channel.on_receive(told), on_set(event, [] {}),
                                       queue.on_take(told)));
              break;
            case 2:
              if (auto item = queue.take(wait)) ledger.received(*item);
              break;
            default:
              if (auto item = channel.receive(wait)) ledger.received(*item);
          }
        }
      });
    }
    std::jthread setter([&] {
      while (!done) {
        event.set();
        event.reset();
        stops.stop();
      }
    });
    senders.clear();
    done = true;
    channel.close();
    queue.close();
    receivers.clear();
    setter.join();
    for (const Item& item : channel.drain()) ledger.received(item);
    for (const Item& item : queue.drain()) ledger.received(item);
    ledger.check();
    EXPECT_EQ(queue.stats().waiting_consumers, 0U);
    EXPECT_EQ(event.stats().waiting_consumers, 0U);
  }
}

// A mixed select goes to sleep and is woken for nothing again and again, while a peer comes to its channel: they must meet.
TEST(SelectRaces, ASelectThatLooksInVainStillMeetsItsPeer) {
  constexpr int rounds = 3'000;
  Channel<int> channel{0};
  BlockingQueue<int> queue{{.capacity = 1}};
  std::atomic<bool> done = false;
  std::jthread teaser([&] {  // Puts an item and takes it away again: a turn for nothing, often.
    while (!done) {
      static_cast<void>(queue.offer(0));
      static_cast<void>(queue.poll());
    }
  });
  std::jthread sender([&] {
    for (int i = 0; i < rounds; ++i) {
      if (i % 2 == 0) {
        EXPECT_TRUE(channel.send(i));
      } else {
        EXPECT_TRUE(select(channel.on_send(i, [] {}), queue.on_take([](int) {})));
      }
    }
    done = true;
    queue.close();
  });
  int received = 0;
  bool open = true;
  while (open) {
    const auto selected =
        select(channel.on_receive([&](int) { ++received; }),
               queue.on_take([&](std::expected<int, Refusal> item) { open = item.has_value(); }));
    ASSERT_TRUE(selected);
  }
  sender.join();
  EXPECT_LE(received, rounds);
}

// Many selects, each with sends and receives on the same few channels, in different orders.
TEST(SelectRaces, ManySelectsMeetOnTheSameChannels) {
  constexpr int threads = 8, rounds = 500;
  Channel<int> a{0}, b{0}, c{1};
  std::atomic<long> sent = 0, received = 0;
  std::atomic<int> finished = 0;
  std::vector<std::jthread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      const auto got = [&](int item) { received += item; };
      for (int i = 0; i < rounds; ++i) {
        const int item = t * rounds + i + 1;
        const auto gone = [&] { sent += item; };
        // All but the last few could go on for ever; the deadline ends what has no peer left.
        const Wait wait{.deadline = within(200us), .stop = {}};
        switch ((t + i) % 3) {
          case 0: static_cast<void>(select(wait, a.on_send(item, gone), b.on_receive(got))); break;
          case 1:
            static_cast<void>(
                select(wait, c.on_receive(got), b.on_send(item, gone), a.on_receive(got)));
            break;
          default:
            static_cast<void>(select(wait, b.on_receive(got), a.on_send(item, gone),
                                     c.on_send(item, gone), a.on_receive(got)));
        }
      }
      ++finished;
    });
  }
  all.clear();
  for (const int item : c.drain()) received += item;
  EXPECT_EQ(sent, received);
  EXPECT_GT(sent, 0);
  for (const auto* each : {&a, &b, &c}) {
    EXPECT_EQ(each->stats().waiting_producers + each->stats().waiting_consumers, 0U);
  }
}

}  // namespace
}  // namespace handoff
