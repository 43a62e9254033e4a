// Queues under many schedules: nothing is lost, doubled or stuck.
#include "handoff/queue.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "handoff/delay_queue.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::exhaustive;
using testing::pct;
using testing::simulate;

// Two producers and two consumers at a queue that is closed when all is put.
template <typename Queue>
void hand_over(std::size_t capacity, int each) {
  Ledger ledger(2 * each);
  Queue queue{{.capacity = capacity, .name = "queue"}};
  std::vector<Thread> consumers;
  for (int i = 0; i < 2; ++i) {
    consumers.emplace_back([&] {
      while (auto item = queue.take()) ledger.delivered(*item);
    });
  }
  {
    std::vector<Thread> producers;
    for (int producer = 0; producer < 2; ++producer) {
      producers.emplace_back([&, producer] {
        for (int i = 0; i < each; ++i) {
          check(queue.put(producer * each + i).has_value(), "refused");
          ledger.accepted(producer * each + i);
        }
      });
    }
  }
  queue.close();
  consumers.clear();
  ledger.check();
}

TEST(SimulatedQueue, HandsOverAll) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs / 2, .strategy = strategy}, [] { hand_over<BlockingQueue<int>>(1, 3); });
    simulate({.runs = runs / 2, .strategy = strategy}, [] { hand_over<BlockingQueue<int>>(3, 4); });
  }
}

TEST(SimulatedQueue, HandsOverAllThoughThreadsWakeForNothing) {
  simulate({.runs = runs, .faults = {.spurious_wake = 0.02, .weak_failure = 0.1}},
           [] { hand_over<BlockingQueue<int>>(1, 3); });
}

TEST(SimulatedQueue, PriorityHandsOverAll) {
  simulate({.runs = runs}, [] { hand_over<PriorityBlockingQueue<int>>(2, 3); });
}

// Deadlines, stops and a close at any moment: what was refused is still with its owner, the rest is delivered.
TEST(SimulatedQueue, NothingIsLostWhenWaitsEndEarly) {
  simulate({.runs = runs}, [] {
    Ledger ledger(8);
    BlockingQueue<int> queue{{.capacity = 1, .name = "queue"}};
    std::stop_source stop;
    std::vector<Thread> threads;
    for (int producer = 0; producer < 2; ++producer) {
      threads.emplace_back([&, producer] {
        for (int i = 0; i < 4; ++i) {
          const int item = producer * 4 + i;
          const Wait wait{.deadline = i % 2 == 0 ? within(1ms) : Deadline(),
                          .stop = stop.get_token()};
          if (queue.put(int{item}, wait)) ledger.accepted(item);
        }
      });
    }
    for (int consumer = 0; consumer < 2; ++consumer) {
      threads.emplace_back([&, consumer] {
        while (true) {
          const Wait wait{.deadline = consumer == 0 ? within(2ms) : Deadline(),
                          .stop = stop.get_token()};
          const auto item = queue.take(wait);
          if (item) {
            ledger.delivered(*item);
          } else if (item.error() != Refusal::timed_out) {
            break;
          }
        }
      });
    }
    threads.emplace_back([&] {
      testing::pause(3ms);
      stop.request_stop();
    });
    threads.clear();
    queue.close();
    for (int item : queue.drain()) ledger.delivered(item);
    ledger.check();
  });
}

template <typename Queue>
void close_while_others_wait() {
  Queue full{{.capacity = 1, .name = "full"}};
  Queue empty{{.capacity = 1, .name = "empty"}};
  check(full.offer(0).has_value(), "no room");
  std::vector<Thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] { check(!full.put(1), "put into a full queue"); });
    threads.emplace_back([&] { check(!empty.take(), "took from an empty queue"); });
  }
  full.close();
  empty.close();
}

TEST(SimulatedQueue, CloseReachesEverybodyThatWaits) {
  simulate({.runs = runs}, close_while_others_wait<BlockingQueue<int>>);
}

TEST(SimulatedQueue, PriorityCloseReachesEverybodyThatWaits) {
  simulate({.runs = runs}, close_while_others_wait<PriorityBlockingQueue<int>>);
}

TEST(SimulatedQueue, DelayedItemsComeWhenTheyAreDue) {
  simulate({.runs = runs}, [] {
    DelayQueue<int> queue{{.capacity = 4, .name = "delayed"}};
    const auto start = now();
    Thread consumer([&] {
      for (int i = 1; i <= 3; ++i) {
        const auto item = queue.take();
        check(item.has_value() && *item == i, "out of order");
        check(now() >= start + *item * 1s, "too early");
      }
    });
    Thread other([&] { check(queue.put(2, due_at(start + 2s)).has_value(), "refused"); });
    check(queue.put(3, due_at(start + 3s)).has_value(), "refused");
    check(queue.put(1, due_at(start + 1s)).has_value(), "refused");
  });
}

// Every order of a put, a take and a close, with at most two interruptions.
TEST(SimulatedQueue, PutTakeAndCloseInAllOrders) {
  const auto done = simulate({.runs = most_exhaustive, .strategy = exhaustive(2)}, [] {
    Ledger ledger(1);
    BlockingQueue<int> queue{{.capacity = 1, .name = "queue"}};
    {
      Thread producer([&] {
        if (queue.put(0)) ledger.accepted(0);
      });
      Thread consumer([&] {
        if (queue.take()) ledger.delivered(0);
      });
      queue.close();
    }
    for (int item : queue.drain()) ledger.delivered(item);
    ledger.check();
  });
  EXPECT_TRUE(done.is_complete);
  report_schedules("queue: put, take, close", done);
}

}  // namespace
}  // namespace handoff::tests
