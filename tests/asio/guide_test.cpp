// The code of docs/guide/asio.md.

#include <gtest/gtest.h>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_future.hpp>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/asio.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/queue.hpp"
#include "handoff/refusal.hpp"

namespace {

using namespace std::chrono_literals;

struct Order {
  int id;
};
std::vector<int> shipped;

boost::asio::awaitable<void> send(Order order) {
  shipped.push_back(order.id);
  co_return;
}
handoff::Lazy<int> count_stock() { co_return 3; }

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}

namespace asio = boost::asio;

asio::awaitable<void> ship(handoff::BlockingQueue<Order>& orders) {
  while (auto order = co_await handoff::in_asio(orders.async_take())) {
    co_await send(*order);  // Ends when the queue is closed and drained.
  }
}

TEST(AsioGuide, ACoroutineShipsWhatAThreadOrders) {
  handoff::BlockingQueue<Order> orders{{.capacity = 100, .name = "orders"}};
  asio::io_context io;
  asio::co_spawn(io, ship(orders), rethrow);

  std::jthread clerk([&] {
    for (int id = 1; id <= 3; ++id) EXPECT_TRUE(orders.put({id}));
    orders.close();
  });
  io.run();  // Returns when the coroutine has ended: a suspended take is work.

  EXPECT_EQ(shipped, (std::vector{1, 2, 3}));
}

asio::awaitable<std::string> report(handoff::WorkerPool& pool) {
  auto job = pool.submit([] { return std::string("thumbnails"); });  // On a worker of the pool.
  const int stock = co_await handoff::in_asio(count_stock());        // A Lazy, on this executor.
  auto name = co_await handoff::in_asio(*job);                       // What job->get() gives.
  co_return *name + ": " + std::to_string(stock);
}

TEST(AsioGuide, AwaitsALazyAndAFuture) {
  handoff::WorkerPool pool{{.workers = 1, .capacity = 4}};
  asio::io_context io;
  auto text = asio::co_spawn(io, report(pool), asio::use_future);
  io.run();
  EXPECT_EQ(text.get(), "thumbnails: 3");
}

TEST(AsioGuide, FillsAFuture) {
  asio::io_context io;
  handoff::BlockingQueue<Order> orders{{.capacity = 1}};
  ASSERT_TRUE(orders.put({7}));

  auto stock = handoff::in_asio(count_stock(), asio::bind_executor(io, asio::use_future));
  auto order = handoff::in_asio([&] { return orders.async_take(); },
                                asio::bind_executor(io, asio::use_future));

  io.run();
  EXPECT_EQ(stock.get(), 3);
  EXPECT_EQ(order.get()->id, 7);
}

asio::awaitable<void> ship_one(handoff::BlockingQueue<Order>& orders) {
  auto order = co_await handoff::in_asio(orders.async_take());
  if (!order) co_return;  // Refusal::stopped, if it was cancelled.
  shipped.push_back(order->id);
}

asio::awaitable<void> ship_one_in_time(handoff::BlockingQueue<Order>& orders) {
  using namespace asio::experimental::awaitable_operators;
  auto order = co_await handoff::in_asio(orders.async_poll(1ms));  // Best: its own time limit.
  EXPECT_EQ(order.error(), handoff::Refusal::timed_out);

  asio::steady_timer timer(co_await asio::this_coro::executor, 1ms);
  co_await (ship_one(orders) || timer.async_wait(asio::use_awaitable));  // The taker keeps it.
}

TEST(AsioGuide, ATakeIsCancelled) {
  handoff::BlockingQueue<Order> orders{{.capacity = 1}};
  asio::io_context io;
  shipped.clear();
  asio::co_spawn(io, ship_one_in_time(orders), rethrow);
  io.run();
  EXPECT_TRUE(shipped.empty());
  EXPECT_EQ(orders.stats().waiting_consumers, 0U);
}

}  // namespace
