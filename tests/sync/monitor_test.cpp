#include "handoff/monitor.hpp"

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <expected>
#include <future>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::ElementsAre;

using Result = std::expected<void, Refusal>;

constexpr auto is_positive = [](const int& n) { return n > 0; };

std::size_t waiting(const Condition& condition) { return condition.stats().waiting_consumers; }

// A number that others may take one from, once it is positive.
struct Counter {
  Monitor<int> count{{.name = "counter"}, 0};
  Condition positive{count, "positive"};

  Result take(Wait wait = {}) {
    auto locked = count.lock();
    if (auto ready = locked.wait(positive, is_positive, wait); !ready) return ready;
    --*locked;
    return {};
  }
  void add(int n = 1) {
    auto locked = count.lock();
    *locked += n;
    for (int i = 0; i < n; ++i) locked.notify_one(positive);
  }
  std::future<Result> take_elsewhere(Wait wait = {}) {
    return std::async(std::launch::async, [this, wait] { return take(wait); });
  }
};

TEST(Monitor, GivesAccessToItsStateUnderTheLock) {
  Monitor<std::string> text{{.name = "text"}, "a"};
  {
    auto locked = text.lock();
    *locked += "b";
    EXPECT_EQ(locked->size(), 2u);
    EXPECT_FALSE(std::async(std::launch::async, [&] { return text.try_lock().has_value(); }).get());
  }
  EXPECT_TRUE(text.try_lock());
}

TEST(Monitor, WithRunsABodyUnderTheLockAndReturnsItsResult) {
  Monitor<int> count;
  count.with([](int& n) { n = 7; });
  EXPECT_EQ(count.with([](int& n) { return n + 1; }), 8);
}

TEST(Monitor, TheLockIsGivenBackIfABodyThrows) {
  Monitor<int> count;
  EXPECT_THROW(count.with([](int&) { throw std::runtime_error("no"); }), std::runtime_error);
  EXPECT_TRUE(count.try_lock());
}

TEST(Monitor, AcquireEndsWithItsDeadlineOrStop) {
  ManualClock clock;
  Monitor<int> count;
  std::stop_source stop;
  auto locked = count.lock();
  auto late = std::async(std::launch::async,
                         [&] { return count.acquire({.deadline = within(1s)}).error(); });
  auto stopped = std::async(std::launch::async,
                            [&] { return count.acquire({.stop = stop.get_token()}).error(); });
  eventually([&] { return count.stats().waiting_consumers == 2 && clock.waiting() == 1; });
  clock.advance(1s);
  stop.request_stop();
  EXPECT_EQ(late.get(), Refusal::timed_out);
  EXPECT_EQ(stopped.get(), Refusal::stopped);
}

TEST(Condition, AWaitWhosePredicateHoldsDoesNotSleep) {
  Counter counter;
  counter.add();
  EXPECT_TRUE(counter.take());
  EXPECT_EQ(counter.positive.stats().consumer_waits, 0u);
}

TEST(Condition, AWaiterGoesOnWhenNotified) {
  Counter counter;
  auto taken = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 1; });
  counter.add();
  EXPECT_TRUE(taken.get());
}

TEST(Condition, AWaiterSleepsOnWhileItsPredicateDoesNotHold) {
  Counter counter;
  auto taken = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 1; });
  {
    auto locked = counter.count.lock();
    locked.notify_one(counter.positive);  // Though nothing was added.
  }
  eventually([&] { return counter.positive.wasted_wakeups() == 1; });
  EXPECT_EQ(waiting(counter.positive), 1u);
  counter.add();
  EXPECT_TRUE(taken.get());
}

TEST(Condition, NotifyOneWakesTheOneWhoHasWaitedLongest) {
  Counter counter;
  std::vector<int> order;  // Guarded by the counter's lock.
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&, i] {
      auto locked = counter.count.lock();
      ASSERT_TRUE(locked.wait(counter.positive, is_positive));
      --*locked;
      order.push_back(i);
    });
    eventually([&] { return waiting(counter.positive) == static_cast<std::size_t>(i) + 1; });
  }
  for (std::size_t left = 3; left > 0; --left) {
    counter.add();
    eventually([&] { return waiting(counter.positive) == left - 1; });
  }
  waiters.clear();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST(Condition, OneWhoWasWokenInVainKeepsItsPlace) {
  Counter counter;
  auto first = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 1; });
  auto second = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 2; });
  counter.count.lock().notify_one(counter.positive);
  eventually([&] { return counter.positive.wasted_wakeups() == 1; });

  counter.add();
  EXPECT_TRUE(first.get());
  EXPECT_EQ(waiting(counter.positive), 1u);
  counter.add();
  EXPECT_TRUE(second.get());
}

TEST(Condition, NotifyAllWakesEverybody) {
  Counter counter;
  std::vector<std::future<Result>> waiters;
  for (int i = 0; i < 8; ++i) waiters.push_back(counter.take_elsewhere());
  eventually([&] { return waiting(counter.positive) == 8; });
  {
    auto locked = counter.count.lock();
    *locked = 8;
    locked.notify_all(counter.positive);
  }
  for (auto& each : waiters) EXPECT_TRUE(each.get());
}

TEST(Condition, TwoNotificationsReachTwoWaiters) {
  Counter counter;
  auto first = counter.take_elsewhere();
  auto second = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 2; });
  counter.add(2);
  EXPECT_TRUE(first.get());
  EXPECT_TRUE(second.get());
}

TEST(Condition, AConditionOfAnotherMonitorIsRefused) {
  Monitor<int> mine;
  Monitor<int> other;
  Condition others{other, "others"};
  auto locked = mine.lock();
  EXPECT_THROW((void)locked.wait(others, is_positive), std::invalid_argument);
  EXPECT_THROW(locked.notify_one(others), std::invalid_argument);
}

// -- Ends of a wait --------------------------------------------------------------------------------

TEST(Condition, AWaitTimesOutWithTheLockHeld) {
  ManualClock clock;
  Counter counter;
  auto answer = std::async(std::launch::async, [&] {
    auto locked = counter.count.lock();
    auto ready = locked.wait(counter.positive, is_positive, {.deadline = within(1s)});
    *locked = 42;  // A data race unless the lock is held.
    return ready;
  });
  eventually([&] { return clock.waiting() == 1; });
  clock.advance(1s);
  EXPECT_EQ(answer.get(), Result(std::unexpected(Refusal::timed_out)));
  EXPECT_EQ(*counter.count.lock(), 42);
  EXPECT_EQ(counter.positive.stats().refused, 1u);
}

TEST(Condition, AWaitSucceedsPastItsDeadlineIfThePredicateHolds) {
  ManualClock clock;
  Counter counter;
  auto taken = counter.take_elsewhere({.deadline = within(1s)});
  eventually([&] { return clock.waiting() == 1; });
  {
    auto locked = counter.count.lock();
    *locked = 1;  // Nobody is notified.
    clock.advance(1s);
  }
  EXPECT_TRUE(taken.get());
}

TEST(Condition, AStopEndsAWait) {
  Counter counter;
  std::stop_source stop;
  auto taken = counter.take_elsewhere({.stop = stop.get_token()});
  eventually([&] { return waiting(counter.positive) == 1; });
  stop.request_stop();
  EXPECT_EQ(taken.get(), Result(std::unexpected(Refusal::stopped)));
}

TEST(Condition, AStopRequestedBeforehandRefusesEvenIfThePredicateHolds) {
  Counter counter;
  std::stop_source stop;
  stop.request_stop();
  counter.add();
  EXPECT_EQ(counter.take({.stop = stop.get_token()}), Result(std::unexpected(Refusal::stopped)));
}

// The stop and the notification meet at every distance: either the stopped one takes the item, or the other does.
TEST(Condition, AStoppedWaiterNeverSwallowsANotification) {
  for (int round = 0; round < 150; ++round) {
    Counter counter;
    std::stop_source stop;
    auto stopped = counter.take_elsewhere({.stop = stop.get_token()});
    eventually([&] { return waiting(counter.positive) == 1; });
    auto patient = counter.take_elsewhere();
    eventually([&] { return waiting(counter.positive) == 2; });
    std::jthread stopper([&] { stop.request_stop(); });
    counter.add();
    if (stopped.get()) counter.add();  // It took the item: one more for the other.
    EXPECT_TRUE(patient.get());
  }
}

TEST(Condition, AWaiterThatTimesOutNeverSwallowsANotification) {
  for (int round = 0; round < 150; ++round) {
    Counter counter;
    auto hasty =
        counter.take_elsewhere({.deadline = within(std::chrono::microseconds(200 + round % 50))});
    auto patient = counter.take_elsewhere();
    eventually([&] { return counter.positive.stats().consumer_waits == 2; });
    counter.add();
    if (hasty.get()) counter.add();
    EXPECT_TRUE(patient.get());
  }
}

TEST(Condition, AThrowingPredicateLeavesWithTheLockHeldAndPassesItsNotificationOn) {
  Counter counter;
  std::atomic<bool> explode{false};
  auto thrower = std::async(std::launch::async, [&] {
    auto locked = counter.count.lock();
    (void)locked.wait(counter.positive, [&](const int& n) {
      if (explode) throw std::runtime_error("predicate");
      return n > 0;
    });
  });
  eventually([&] { return waiting(counter.positive) == 1; });
  auto patient = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 2; });

  explode = true;
  counter.add();  // One notification, and it goes to the thrower.
  EXPECT_THROW(thrower.get(), std::runtime_error);
  EXPECT_TRUE(patient.get());
  EXPECT_EQ(waiting(counter.positive), 0u);
}

TEST(Condition, APredicateThatThrowsAtOnceLeavesNothingBehind) {
  Counter counter;
  {
    auto locked = counter.count.lock();
    EXPECT_THROW((void)locked.wait(counter.positive, [](const int&) -> bool { throw 1; }), int);
  }
  EXPECT_TRUE(counter.count.try_lock());
}

TEST(Condition, IsSeenInWaitsUnderTheNameOfItsMonitor) {
  Counter counter;
  auto taken = counter.take_elsewhere();
  eventually([&] { return waiting(counter.positive) == 1; });
  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].kind, "Condition");
  EXPECT_EQ(all[0].name, "counter.positive");
  EXPECT_EQ(all[0].operation, "wait");
  EXPECT_THAT(all[0].where.file_name(), ::testing::EndsWith("monitor_test.cpp"));
  counter.add();
  EXPECT_TRUE(taken.get());
}

// -- One condition or two ------------------------------------------------------------------------

struct Buffer {
  static constexpr std::size_t places = 1;
  std::deque<int> items;
};

// With one condition for both sides, every change must wake everybody.
class BoundedBuffer {
 public:
  explicit BoundedBuffer(bool two_conditions) : two_conditions_(two_conditions) {}

  void put(int item) {
    auto locked = buffer_.lock();
    EXPECT_TRUE(
        locked.wait(not_full(), [](const Buffer& b) { return b.items.size() < Buffer::places; }));
    locked->items.push_back(item);
    notify(locked, not_empty());
  }
  int take() {
    auto locked = buffer_.lock();
    EXPECT_TRUE(locked.wait(not_empty(), [](const Buffer& b) { return !b.items.empty(); }));
    const int item = locked->items.front();
    locked->items.pop_front();
    notify(locked, not_full());
    return item;
  }
  std::uint64_t wasted_wakeups() const {
    return first_.wasted_wakeups() + second_.wasted_wakeups();
  }

 private:
  Condition& not_full() { return first_; }
  Condition& not_empty() { return two_conditions_ ? second_ : first_; }
  void notify(Locked<Buffer>& locked, Condition& condition) {
    if (two_conditions_) {
      locked.notify_one(condition);
    } else {
      locked.notify_all(condition);
    }
  }

  const bool two_conditions_;
  Monitor<Buffer> buffer_;
  Condition first_{buffer_, "first"};
  Condition second_{buffer_, "second"};
};

std::uint64_t wasted_wakeups_of_a_run(bool two_conditions) {
  constexpr int producers = 1;
  constexpr int consumers = 8;
  constexpr int items = 6000;
  BoundedBuffer buffer{two_conditions};
  std::atomic<std::int64_t> sum{0};
  {
    std::vector<std::jthread> threads;
    for (int p = 0; p < producers; ++p) {
      threads.emplace_back([&] {
        for (int i = 0; i < items / producers; ++i) buffer.put(1);
      });
    }
    for (int c = 0; c < consumers; ++c) {
      threads.emplace_back([&] {
        for (int i = 0; i < items / consumers; ++i) sum += buffer.take();
      });
    }
  }
  EXPECT_EQ(sum.load(), items);
  return buffer.wasted_wakeups();
}

TEST(Condition, TwoConditionsWasteFarFewerWakeUpsThanNotifyAllOnOne) {
  const auto one = wasted_wakeups_of_a_run(false);
  const auto two = wasted_wakeups_of_a_run(true);
  fmt::print(
      "wake-ups that found nothing to do: one condition, notify_all {}; two conditions, notify_one "
      "{}\n",
      one, two);
  EXPECT_GT(one, 2 * two);
}

}  // namespace
}  // namespace handoff
