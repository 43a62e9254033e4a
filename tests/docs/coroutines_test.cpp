// The code of docs/guide/coroutines.md. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/async_trace.hpp"
#include "handoff/channel.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/mutex.hpp"
#include "handoff/offload.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/rate_limiter.hpp"
#include "handoff/select.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/waits.hpp"
#include "handoff/when.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;

struct Photo {
  std::string file;
};
struct Order {
  int id = 0;
  std::string customer;
};

std::string resize(const Photo& photo) { return "small " + photo.file; }

// -- GCC 12 ---------------------------------------------------------------------------------------

handoff::Lazy<std::string> thumbnail(handoff::WorkerPool& pool, Photo photo) {
  auto work = [photo] { return resize(photo); };  // A closure that owns something: name it first.
  auto image = handoff::offload(pool, work);
  if (!image) co_return "busy";
  auto small = co_await *image;
  co_return small ? *small : "stopped";
}

handoff::Lazy<bool> place(handoff::BlockingQueue<Order>& orders, std::string customer) {
  auto order = Order{.id = 7, .customer = customer};  // So too a struct with members that own.
  co_return (co_await orders.async_put(std::move(order))).has_value();
}

handoff::Lazy<> greet(handoff::Channel<std::string>& out, std::string name) {
  std::string line = "Hello " + name;  // A coroutine with parameters, not a lambda with captures.
  co_await out.async_send(std::move(line));
}

TEST(CoroutinesGuide, TheSafeSpellingsAreSafe) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 10}};
  const std::string long_name = "a name that does not fit into the string itself";
  EXPECT_EQ(handoff::sync_wait(thumbnail(pool, {long_name})), "small " + long_name);

  handoff::BlockingQueue<Order> orders{{.capacity = 1}};
  EXPECT_TRUE(handoff::sync_wait(place(orders, long_name)));
  EXPECT_EQ(orders.take()->customer, long_name);

  handoff::Channel<std::string> out{1};
  handoff::sync_wait(greet(out, long_name));
  EXPECT_EQ(out.receive(), "Hello " + long_name);
}

// -- Lazy -----------------------------------------------------------------------------------------

handoff::Lazy<int> price(handoff::BlockingQueue<int>& prices) {
  auto next = co_await prices.async_take();  // std::expected<int, Refusal>; holds no thread.
  if (!next) throw std::runtime_error("no more prices");
  co_return *next;
}

handoff::Lazy<int> total(handoff::BlockingQueue<int>& prices, int count) {
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += co_await price(prices);  // What it throws comes out here.
  co_return sum;
}

TEST(CoroutinesGuide, ACoroutineAwaitsAnother) {
  handoff::BlockingQueue<int> prices{{.capacity = 10, .name = "prices"}};
  for (int i = 1; i <= 3; ++i) ASSERT_TRUE(prices.put(int(i)));
  const int sum = handoff::sync_wait(total(prices, 3));  // Runs here, and waits for it.
  EXPECT_EQ(sum, 6);
  prices.close();
  EXPECT_THROW(handoff::sync_wait(total(prices, 1)), std::runtime_error);
}

TEST(CoroutinesGuide, APoolRunsACoroutine) {
  handoff::WorkerPool pool{{.workers = 2, .capacity = 100, .name = "shop"}};
  handoff::BlockingQueue<int> prices{{.capacity = 10}};
  auto sum = handoff::spawn(pool, total(prices, 2));  // expected<Future<int>, Refusal>
  ASSERT_TRUE(sum);                                   // Refused: the pool is full, or closed.
  ASSERT_TRUE(prices.put(20));
  ASSERT_TRUE(prices.put(22));
  EXPECT_EQ(sum->get(), 42);  // From a thread; a coroutine writes co_await *sum.
}

// -- Stop -----------------------------------------------------------------------------------------

handoff::Lazy<int> count_words(handoff::Channel<std::string>& words) {
  const auto stop = co_await handoff::current_stop();
  int count = 0;
  while (auto word = co_await words.async_receive()) {  // Ends with `closed`, or with `stopped`.
    ++count;
  }
  co_return stop.stop_requested() ? -count : count;
}

TEST(CoroutinesGuide, AStopEndsWhatTheTaskWaitsFor) {
  handoff::Channel<std::string> words{2};
  ASSERT_TRUE(words.send("one"));
  ASSERT_TRUE(words.send("two"));
  std::stop_source stop;
  std::jthread stopper([&] {
    eventually([&] { return words.stats().waiting_consumers == 1; });
    stop.request_stop();
  });
  EXPECT_EQ(handoff::sync_wait(count_words(words), stop.get_token()), -2);
}

// -- Everything can be awaited --------------------------------------------------------------------

struct Account {
  handoff::Mutex mutex{{.name = "account"}};
  int cents = 0;
};

handoff::Lazy<> pay_in(Account& account, handoff::BlockingQueue<int>& payments) {
  auto held = co_await account.mutex.async_lock();
  if (!held) co_return;                               // Asked to stop.
  if (auto payment = co_await payments.async_take())  // Held across a co_await.
    account.cents += *payment;
}

handoff::Lazy<int> call_gently(handoff::Semaphore& lines, handoff::RateLimiter& calls) {
  auto line = co_await lines.async_hold();
  if (!line) co_return 0;
  if (!co_await calls.async_acquire()) co_return 0;
  co_return 1;
}

handoff::Lazy<std::string> first_word(handoff::Channel<std::string>& left,
                                      handoff::Channel<std::string>& right) {
  std::string said;
  co_await handoff::async_select(
      left.on_receive([&](std::string word) { said = "left: " + word; }),
      right.on_receive([&](std::string word) { said = "right: " + word; }),
      handoff::after(5s, [&] { said = "nobody"; }));
  co_return said;
}

TEST(CoroutinesGuide, LocksPermitsAndSelectAreAwaited) {
  Account account;
  handoff::BlockingQueue<int> payments{{.capacity = 1}};
  ASSERT_TRUE(payments.put(500));
  handoff::sync_wait(pay_in(account, payments));
  EXPECT_EQ(account.cents, 500);

  handoff::Semaphore lines{{.permits = 1}};
  handoff::RateLimiter calls{{.rate = handoff::per_second(1'000), .burst = 10}};
  EXPECT_EQ(handoff::sync_wait(call_gently(lines, calls)), 1);

  handoff::Channel<std::string> left{1};
  handoff::Channel<std::string> right{1};
  ASSERT_TRUE(right.send("hello"));
  EXPECT_EQ(handoff::sync_wait(first_word(left, right)), "right: hello");
}

// -- Several at once ------------------------------------------------------------------------------

handoff::Lazy<std::string> name_of(int id) { co_return "customer " + std::to_string(id); }
handoff::Lazy<int> orders_of(int id) { co_return id * 2; }

handoff::Lazy<std::string> page(int id) {
  auto [name, orders] = co_await handoff::when_all(name_of(id), orders_of(id));
  co_return name + " has " + std::to_string(orders) + " orders";
}

handoff::Lazy<int> slow(int value, handoff::Duration time) {
  handoff::Event never;
  auto waited = co_await never.async_wait(handoff::within(time));
  if (waited.error() == handoff::Refusal::stopped) throw std::runtime_error("stopped");
  co_return value;
}

handoff::Lazy<int> fastest() {
  std::vector<handoff::Lazy<int>> mirrors;
  mirrors.push_back(slow(1, 1h));
  mirrors.push_back(slow(2, 1ms));
  auto first = co_await handoff::first_success(std::move(mirrors));
  co_return first.result;  // 2. The other has been stopped, and has ended.
}

TEST(CoroutinesGuide, SeveralAtOnce) {
  EXPECT_EQ(handoff::sync_wait(page(3)), "customer 3 has 6 orders");
  EXPECT_EQ(handoff::sync_wait(fastest()), 2);
}

// -- Time -----------------------------------------------------------------------------------------

using Reply = std::expected<std::string, handoff::Refusal>;

handoff::Lazy<Reply> ask(handoff::Channel<std::string>& replies) {
  co_return co_await replies.async_receive();
}

handoff::Lazy<std::string> ask_for_a_while(handoff::Channel<std::string>& replies) {
  auto reply = co_await handoff::with_timeout(2ms, ask(replies));
  co_return reply ? *reply : std::string(to_string(reply.error()));  // "timed_out"
}

handoff::Lazy<> save(handoff::Channel<std::string>& disk) {
  std::string state = "saved";
  co_await disk.async_send(std::move(state));
}

handoff::Lazy<> work(handoff::Event& never, handoff::Channel<std::string>& disk) {
  co_await never.async_wait();               // Until we are asked to stop.
  co_await handoff::shield(5s, save(disk));  // This is finished all the same, within 5 s.
}

TEST(CoroutinesGuide, TimesAndShields) {
  handoff::Channel<std::string> replies{1};
  EXPECT_EQ(handoff::sync_wait(ask_for_a_while(replies)), "timed_out");

  handoff::Event never;
  handoff::Channel<std::string> disk{0};
  std::stop_source stop;
  std::string saved;
  std::jthread reader([&] {
    eventually([&] { return never.stats().waiting_consumers == 1; });
    stop.request_stop();
    if (auto state = disk.receive()) saved = *state;
  });
  handoff::sync_wait(work(never, disk), stop.get_token());
  reader.join();
  EXPECT_EQ(saved, "saved");
}

// -- Who waits ------------------------------------------------------------------------------------

handoff::Lazy<int> load(handoff::BlockingQueue<int>& replies) {
  auto reply = co_await replies.async_take();
  co_return reply.value_or(0);
}

handoff::Lazy<int> serve(handoff::BlockingQueue<int>& replies) { co_return co_await load(replies); }

TEST(CoroutinesGuide, TheChainIsInTheTable) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 10, .name = "server"}};
  handoff::BlockingQueue<int> replies{{.capacity = 1, .name = "replies"}};
  auto served = handoff::spawn(pool, serve(replies));
  ASSERT_TRUE(served);
  eventually([&] { return replies.stats().waiting_consumers == 1; });

  const auto table = handoff::to_table(handoff::waits());
  SCOPED_TRACE(table);
  EXPECT_NE(table.find("awaited at"), std::string::npos);
  EXPECT_NE(table.find("spawned at"), std::string::npos);
  replies.close();
  EXPECT_EQ(served->get(), 0);
}

handoff::Lazy<int> fail() {
  throw std::runtime_error("no such customer");
  co_return 0;
}
handoff::Lazy<int> customer() { co_return co_await fail(); }

TEST(CoroutinesGuide, AnExceptionTellsThroughWhomItCame) {
  std::string log;
  handoff::keep_async_traces(true);
  try {
    handoff::sync_wait(customer());
  } catch (const std::exception& error) {
    const auto trace = handoff::async_trace(std::current_exception());
    log = std::string(error.what()) + ", awaited at " + handoff::to_string(trace);
  }
  handoff::keep_async_traces(false);
  SCOPED_TRACE(log);
  EXPECT_NE(log.find("no such customer, awaited at "), std::string::npos);
  EXPECT_NE(log.find("customer)"), std::string::npos);
}

}  // namespace
