// The code of docs/guide/channels.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <memory>
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
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::Refusal;

struct Order {
  int id = 0;
};

TEST(ChannelsGuide, SenderAndReceiverMeet) {
  std::string printed;

  handoff::Channel<std::string> greetings{0};  // Nothing is buffered: sender and receiver meet.
  std::jthread greeter([&] {
    if (greetings.send("hello")) printed += "delivered";  // Somebody has it now.
  });
  auto greeting = greetings.receive();

  EXPECT_EQ(greeting, "hello");
  greeter.join();
  EXPECT_EQ(printed, "delivered");
}

TEST(ChannelsGuide, AFewAreBuffered) {
  std::vector<int> shipped;
  const auto ship = [&](const Order& order) { shipped.push_back(order.id); };

  handoff::Channel<Order> orders{{.capacity = 4, .name = "orders"}};
  std::jthread seller([&] {
    for (int id = 1; id <= 10; ++id) {
      if (!orders.send({id})) return;  // Refused only once it is closed.
    }
    orders.close();
  });
  for (const Order& order : orders) ship(order);  // Ends when it is closed and drained.

  EXPECT_EQ(shipped.size(), 10U);
}

TEST(ChannelsGuide, FourFormsOfEach) {
  handoff::Channel<Order> orders{4};
  Order order{1}, second{2}, third{3};
  const std::stop_token stop;

  auto waited = orders.send(std::move(order));          // Waits.
  auto now = orders.try_send(std::move(second));        // Never waits: `full` or `closed`.
  auto in_time = orders.send(std::move(third), 100ms);  // Waits for 100 ms at most.
  auto until = orders.receive({.deadline = handoff::within(1s), .stop = stop});
  auto next = orders.try_receive();  // Never waits: `empty` or `closed`.

  EXPECT_TRUE(waited && now && in_time && until && next);
}

TEST(ChannelsGuide, ARefusedItemStaysWithItsOwner) {
  handoff::Channel<std::unique_ptr<Order>> orders{0};
  std::string answer;

  auto order = std::make_unique<Order>(Order{7});
  if (auto sent = orders.send(std::move(order), 1ms); !sent) {
    answer = std::string(to_string(sent.error())) + ": " + std::to_string(order->id);
  }

  EXPECT_EQ(answer, "timed_out: 7");
}

struct Price {
  int cents = 0;
};

TEST(ChannelsGuide, SelectTakesTheFirstThatComes) {
  handoff::Channel<Price> prices{1};
  handoff::Channel<Order> orders{1};
  ASSERT_TRUE(prices.send({250}));
  ASSERT_TRUE(orders.send({0}));  // No room for another one.
  int cents = 0, sent = 0, late = 0;
  Order order{8};

  auto selected = handoff::select(
      prices.on_receive([&](Price price) { cents = price.cents; }),
      orders.on_send(std::move(order), [&] { ++sent; }),  // Moved from only if it is sent.
      handoff::after(1s, [&] { ++late; }));

  EXPECT_EQ(selected, 0U);
  EXPECT_EQ(cents, 250);
  EXPECT_EQ(sent + late, 0);
}

TEST(ChannelsGuide, OtherwiseNeverWaits) {
  handoff::Channel<Order> orders{1};
  bool idle = false;

  handoff::select(orders.on_receive([](Order) {}),            // Now,
                  handoff::otherwise([&] { idle = true; }));  // or not at all.

  EXPECT_TRUE(idle);
}

TEST(ChannelsGuide, ALoopEndsWhenAChannelIsClosed) {
  handoff::Channel<Order> orders{2};
  handoff::Channel<Price> prices{2};
  ASSERT_TRUE(orders.send({1}) && orders.send({2}));
  orders.close();
  std::vector<int> shipped;

  const auto ship = [&](Order order) { shipped.push_back(order.id); };
  const auto show = [](Price) {};
  while (handoff::select(orders.on_receive(ship), prices.on_receive(show))) {
  }  // Ends with `closed`: ship() takes nothing but orders.

  EXPECT_EQ(shipped.size(), 2U);
}

TEST(ChannelsGuide, AHandlerIsToldOfTheClose) {
  handoff::Channel<Order> orders{2};
  orders.close();
  bool is_open = true;

  auto selected = handoff::select(orders.on_receive([&](std::expected<Order, Refusal> order) {
    if (!order) is_open = false;  // order.error() is `closed`.
  }));

  EXPECT_EQ(selected, 0U);  // It is a case like any other then.
  EXPECT_FALSE(is_open);
}

TEST(ChannelsGuide, OtherThingsToWaitFor) {
  handoff::testing::ManualClock clock;
  handoff::BlockingQueue<Order> backlog{{.capacity = 10}};
  handoff::Event shut_down;
  int beats = 0;

  handoff::Ticker heartbeat{100ms};
  clock.advance(100ms);
  auto selected = handoff::select(
      backlog.on_take([](Order) {}),         // A queue.
      on_set(shut_down, [] {}),              // An event.
      heartbeat.on_tick([&] { ++beats; }));  // Every 100 ms; those missed are skipped.

  EXPECT_EQ(selected, 2U);
  EXPECT_EQ(beats, 1);
}

TEST(ChannelsGuide, AListBuiltAtRunTime) {
  std::vector<std::unique_ptr<handoff::Channel<Price>>> feeds;
  for (int i = 0; i < 3; ++i) {
    feeds.push_back(std::make_unique<handoff::Channel<Price>>(std::size_t{1}));
    ASSERT_TRUE(feeds.back()->send({i}));
    feeds.back()->close();
  }
  int sum = 0;

  handoff::Select list;
  for (auto& feed : feeds) {
    list.add(feed->on_receive([&](std::expected<Price, Refusal> price) {
      if (price) sum += price->cents;
    }));
  }
  while (list.size() > 0) {
    const auto number = list.wait();
    if (!number) break;
    if (feeds[*number]->is_closed() && feeds[*number]->size() == 0) list.remove(*number);
  }

  EXPECT_EQ(sum, 3);
}

handoff::Lazy<int> ask(handoff::Channel<int>& questions, handoff::Channel<int>& answers) {
  if (!co_await questions.async_send(6)) co_return -1;
  int answer = -1;
  auto selected =
      co_await handoff::async_select(answers.on_receive([&](int given) { answer = given; }),
                                     handoff::after(10s, [&] { answer = 0; }));
  co_return selected ? answer : -1;  // Not selected: `closed`, or `stopped` if the task was.
}

TEST(ChannelsGuide, Coroutines) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 10}};
  handoff::Channel<int> questions{0}, answers{0};
  auto asked = handoff::spawn(pool, ask(questions, answers));
  ASSERT_TRUE(asked);
  EXPECT_TRUE(answers.send(*questions.receive() * 7));  // This end is a thread.
  EXPECT_EQ(asked->get(), 42);
}

handoff::Lazy<std::string> named_handler(handoff::Channel<std::string>& names) {
  std::string result;
  const std::string title = "the Honourable ";

  auto greet = [title, &result](std::string name) { result = title + name; };  // Owns a string,
  auto selected = co_await handoff::async_select(names.on_receive(greet));     // so it has a name.

  co_return selected ? result : "";
}

TEST(ChannelsGuide, GccNeedsANameForSomeHandlers) {
  handoff::Channel<std::string> names{1};
  ASSERT_TRUE(names.send("Ada"));
  EXPECT_EQ(handoff::sync_wait(named_handler(names)), "the Honourable Ada");
}

}  // namespace
