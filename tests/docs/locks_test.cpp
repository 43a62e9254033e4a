// The code of docs/guide/locks.md and docs/guide/monitors.md.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>
#include <optional>

#include "handoff/lock_order.hpp"
#include "handoff/monitor.hpp"
#include "handoff/sync.hpp"
#include "handoff/waits.hpp"

namespace {

using namespace std::chrono_literals;
using handoff::Refusal;
using handoff::Wait;

std::int64_t balance = 0;

handoff::Mutex accounts{{.name = "accounts"}};

void deposit(std::int64_t cents) {
  auto held = accounts.hold();  // until the end of the scope
  balance += cents;
}

std::optional<Refusal> try_to_lock(std::stop_token stop) {
  auto held = accounts.acquire({.deadline = handoff::within(100ms), .stop = stop});
  if (!held) return held.error();  // Refusal::timed_out or Refusal::stopped
  return std::nullopt;
}

TEST(LocksGuide, ALockIsHeldForAScopeAndItsWaitCanEnd) {
  deposit(100);
  EXPECT_EQ(balance, 100);
  std::stop_source stop;
  EXPECT_EQ(try_to_lock(stop.get_token()), std::nullopt);
  stop.request_stop();
  EXPECT_EQ(try_to_lock(stop.get_token()), Refusal::stopped);
}

TEST(LocksGuide, WaitsArePrintedAsATable) {
  handoff::name_this_thread("importer");
  fmt::print("{}", handoff::to_table(handoff::waits()));
}

struct Account {
  std::int64_t cents = 0;
};

TEST(LocksGuide, TwoAccountsAreLockedAtOnce) {
  handoff::Monitor<Account> first;
  handoff::Monitor<Account> second;
  const std::int64_t cents = 5;
  {
    auto [from, to] = handoff::lock_all(first, second);
    from->cents -= cents;
    to->cents += cents;
  }
  EXPECT_EQ(first.lock()->cents, -5);
  EXPECT_EQ(second.lock()->cents, 5);
}

TEST(LocksGuide, AProblemCanBeMadeFatal) {
  handoff::on_lock_problem([](const handoff::LockProblem& problem) {
    fmt::print(stderr, "{}\n", problem.report);
    std::abort();
  });
  handoff::on_lock_problem({});
}

struct Order {
  int id;
};

struct Buffer {
  std::deque<Order> orders;
};

class Orders {
 public:
  std::expected<void, Refusal> put(Order order, const Wait& wait = {}) {
    auto locked = buffer_.lock();
    auto room = locked.wait(not_full_, [](const Buffer& b) { return b.orders.size() < 100; }, wait);
    if (!room) return room;
    locked->orders.push_back(std::move(order));
    locked.notify_one(not_empty_);
    return {};
  }

  std::expected<Order, Refusal> take(const Wait& wait = {}) {
    auto locked = buffer_.lock();
    auto ready = locked.wait(not_empty_, [](const Buffer& b) { return !b.orders.empty(); }, wait);
    if (!ready) return std::unexpected(ready.error());
    Order order = std::move(locked->orders.front());
    locked->orders.pop_front();
    locked.notify_one(not_full_);
    return order;
  }

 private:
  handoff::Monitor<Buffer> buffer_{{.name = "orders"}};
  handoff::Condition not_empty_{buffer_, "not_empty"};
  handoff::Condition not_full_{buffer_, "not_full"};
};

TEST(MonitorsGuide, AMonitorWithTwoConditionsIsABoundedBuffer) {
  Orders orders;
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(orders.put({i}));
  EXPECT_EQ(orders.put({100}, {.deadline = handoff::within(1ms)}).error(), Refusal::timed_out);
  EXPECT_EQ(orders.take()->id, 0);
  EXPECT_TRUE(orders.put({100}));
}

TEST(MonitorsGuide, WithIsForALookWithoutWaiting) {
  handoff::Monitor<Buffer> buffer;
  auto size = buffer.with([](Buffer& b) { return b.orders.size(); });
  EXPECT_EQ(size, 0U);
}

}  // namespace
