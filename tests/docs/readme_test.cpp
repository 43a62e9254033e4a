// The code of README.md that is not an example of its own. tests/docs/snippets keeps the two equal.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <stop_token>

#include "handoff/monitor.hpp"
#include "handoff/mutex.hpp"
#include "handoff/pool.hpp"

namespace {

using namespace std::chrono_literals;

struct Order {
  int id = 0;
};

TEST(Readme, LocksInShort) {
  const std::stop_token stop;
  int balance = 0;

  handoff::Mutex accounts{{.name = "accounts"}};
  {
    auto held = accounts.hold();  // std::scoped_lock and std::unique_lock work too.
    balance += 100;
  }
  auto held = accounts.acquire({.deadline = handoff::within(1s), .stop = stop});

  EXPECT_TRUE(held);
  EXPECT_EQ(balance, 100);
}

TEST(Readme, MonitorsInShort) {
  const std::stop_token stop;
  const auto has_orders = [](const std::deque<Order>& orders) { return !orders.empty(); };

  handoff::Monitor<std::deque<Order>> orders{{.name = "orders"}};
  handoff::Condition not_empty{orders, "not_empty"};

  {
    auto locked = orders.lock();  // The only way to the state is through the lock.
    locked->push_back({1});
    locked.notify_one(not_empty);
  }
  auto locked = orders.lock();
  auto ready = locked.wait(not_empty, has_orders, {.deadline = handoff::within(1s), .stop = stop});

  EXPECT_TRUE(ready);
}

struct Photo {
  int width = 4000;
};
Photo resize(Photo photo) { return {photo.width / 10}; }
void sweep() {}
void keep(handoff::Job job) { job(); }

TEST(Readme, AWorkerPool) {
  Photo photo;
  handoff::WorkerPool pool{
      {.workers = 8, .capacity = 1'000, .when_full = handoff::WhenFull::reject, .name = "photos"}};

  auto small = pool.submit([photo] { return resize(photo); });  // Accepted, or refused with `full`.
  if (!small) return;  // Tell the user at once: please try again later.
  auto image = small->get({.deadline = handoff::within(2s)});  // What it throws is thrown here.

  pool.every(1h, [] { sweep(); });

  auto report = pool.shutdown(handoff::finish_within(30s).then_interrupt(5s));
  for (handoff::Job& job : report.handed_back) keep(std::move(job));
  EXPECT_EQ(image->width, 400);
  EXPECT_TRUE(report.is_complete());
}

}  // namespace
