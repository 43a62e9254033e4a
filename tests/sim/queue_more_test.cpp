// Queues in rarer situations under many schedules: a close at work, contended locks, evictions, items whose move throws.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <vector>

#include "handoff/delay_queue.hpp"
#include "handoff/priority_queue.hpp"
#include "handoff/queue.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::pct;
using testing::simulate;

// A consumer that was told `closed` has had everything that was accepted, also while it was being closed.
TEST(SimulatedQueue, NothingComesAfterItSaidClosed) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs / 2, .strategy = strategy}, [] {
      Ledger ledger(2);
      BlockingQueue<int> queue{{.capacity = 2, .name = "queue"}};
      {
        Thread consumer([&] {
          while (auto item = queue.take()) ledger.delivered(*item);
        });
        Thread producer([&] {
          for (int i = 0; i < 2; ++i) {
            if (queue.put(int{i})) ledger.accepted(i);
          }
        });
        queue.close();
      }
      ledger.check();
    });
  }
}

// An item comes at the very moment a consumer gives up: the other one is woken for it.
TEST(SimulatedQueue, WhoGivesUpTakesNoTurnAlong) {
  simulate({.runs = runs / 2}, [] {
    BlockingQueue<int> queue{{.capacity = 2, .name = "queue"}};
    bool was_first = false;
    Thread impatient([&] { was_first = queue.poll(1ms).has_value(); });
    Thread patient([&] { check(queue.take().has_value(), "refused"); });
    testing::pause(1ms);
    check(queue.put(1).has_value(), "refused");
    impatient.join();
    if (was_first) check(queue.put(2).has_value(), "refused");
  });
}

// Somebody else is faster, and the stop comes while it is up: it must not go back to sleep.
TEST(SimulatedQueue, AStopReachesOneThatWasWokenInVain) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs / 2, .strategy = strategy}, [] {
      BlockingQueue<int> queue{{.capacity = 1, .name = "queue"}};
      std::stop_source stop;
      std::vector<Thread> threads;
      threads.emplace_back([&] {
        while (queue.take({.stop = stop.get_token()})) {
        }
      });
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) static_cast<void>(queue.poll());
      });
      threads.emplace_back([&] {
        for (int i = 0; i < 3; ++i) static_cast<void>(queue.offer(int{i}));
      });
      stop.request_stop();
    });
  }
}

TEST(SimulatedQueue, ManyContendForOneSide) {
  simulate({.runs = runs / 2}, [] {
    Ledger ledger(8);
    BlockingQueue<int> queue{{.capacity = 8, .name = "queue"}};
    {
      std::vector<Thread> producers;
      for (int producer = 0; producer < 4; ++producer) {
        producers.emplace_back([&, producer] {
          for (int i = 0; i < 2; ++i) {
            check(queue.offer(producer * 2 + i).has_value(), "refused");
            ledger.accepted(producer * 2 + i);
          }
        });
      }
    }
    for (int item : queue.drain()) ledger.delivered(item);
    ledger.check();
  });
}

// What is pushed is taken or dropped, once.
TEST(SimulatedQueue, EvictingPushesAccountForAll) {
  simulate({.runs = runs / 2}, [] {
    Ledger ledger(6);
    BlockingQueue<int> queue{{.capacity = 1, .name = "queue", .when_full = WhenFull::drop_oldest},
                             [&](int& item) { ledger.delivered(item); }};
    Thread consumer([&] {
      while (auto item = queue.take()) ledger.delivered(*item);
    });
    {
      std::vector<Thread> producers;
      for (int producer = 0; producer < 2; ++producer) {
        producers.emplace_back([&, producer] {
          for (int i = 0; i < 3; ++i) {
            check(queue.push(producer * 3 + i).has_value(), "refused");
            ledger.accepted(producer * 3 + i);
          }
        });
      }
    }
    queue.close();
    consumer.join();
    ledger.check();
  });
}

// One of them sleeps until the first item is due. When it leaves, with an item or without, the other does.
TEST(SimulatedQueue, TheWatchOverDelayedItemsIsPassedOn) {
  simulate({.runs = runs / 2}, [] {
    DelayQueue<int> queue{{.capacity = 4, .name = "delayed"}};
    const auto start = now();
    std::vector<Thread> takers;
    for (int i = 0; i < 2; ++i) {
      takers.emplace_back([&] {
        const auto item = queue.take();
        check(item.has_value() && now() >= start + *item * 1s, "too early");
      });
    }
    takers.emplace_back(
        [&] { check(queue.poll(500ms) == std::unexpected(Refusal::timed_out), "too early"); });
    for (int seconds = 1; seconds <= 2; ++seconds) {
      check(queue.put(int{seconds}, due_at(start + seconds * 1s)).has_value(), "refused");
    }
  });
}

}  // namespace
}  // namespace handoff::tests
