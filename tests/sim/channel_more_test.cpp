// Channels and select in rarer situations under many schedules.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/queue.hpp"
#include "handoff/select.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::simulate;

TEST(SimulatedChannel, CloseReachesEverybodyThatWaits) {
  simulate({.runs = runs / 2}, [] {
    Channel<int> full{{.capacity = 1, .name = "full"}};
    Channel<int> empty{{.capacity = 1, .name = "empty"}};
    check(full.try_send(0).has_value(), "no room");
    std::vector<Thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] { check(!full.send(1), "sent into a full channel"); });
      threads.emplace_back([&] { check(!empty.receive(), "received from an empty channel"); });
    }
    full.close();
    empty.close();
  });
}

// Senders come at the very moment the receiver gives up.
TEST(SimulatedChannel, WhatComesAtTheDeadlineIsNotLost) {
  for (const std::size_t capacity : {0U, 1U}) {
    simulate({.runs = runs / 4}, [=] {
      Ledger ledger(2);
      Channel<int> channel{{.capacity = capacity, .name = "channel"}};
      std::vector<Thread> threads;
      for (int sender = 0; sender < 2; ++sender) {
        threads.emplace_back([&, sender] {
          testing::pause(1ms);
          if (channel.send(int{sender}, 1ms)) ledger.accepted(sender);
        });
      }
      for (int i = 0; i < 3; ++i) {
        if (const auto item = channel.receive(1ms)) ledger.delivered(*item);
      }
      threads.clear();
      while (auto item = channel.try_receive()) ledger.delivered(*item);
      ledger.check();
    });
  }
}

// Whoever has what it came for may destroy the channel.
TEST(SimulatedChannel, MayBeDestroyedByWhoReceived) {
  simulate({.runs = runs / 2}, [] {
    Thread sender;
    {
      Channel<int> channel{{.name = "channel"}};
      sender = Thread([&] { check(channel.send(1).has_value(), "refused"); });
      check(channel.receive() == 1, "refused");
    }
  });
}

// -- Select ---------------------------------------------------------------------------------------

TEST(SimulatedSelect, ChoosesAmongAllThatAreReady) {
  simulate({.runs = runs / 20}, [] {
    Channel<int> left{{.capacity = 1, .name = "left"}};
    Channel<int> right{{.capacity = 1, .name = "right"}};
    int chosen[2] = {};
    for (int i = 0; i < 50; ++i) {
      static_cast<void>(left.try_send(0));
      static_cast<void>(right.try_send(1));
      const auto done = select(left.on_receive([](int) {}), right.on_receive([](int) {}));
      ++chosen[done.value()];
    }
    check(chosen[0] > 0 && chosen[1] > 0, "one of the two never had its turn");
  });
}

TEST(SimulatedSelect, ATimerLosesNoItem) {
  simulate({.runs = runs / 2}, [] {
    Ledger ledger(2);
    Channel<int> channel{{.name = "channel"}};
    Channel<int> other{{.name = "other"}};
    std::vector<Thread> threads;
    for (int sender = 0; sender < 2; ++sender) {
      threads.emplace_back([&, sender] {
        testing::pause(1ms);
        if (channel.send(int{sender}, 1ms)) ledger.accepted(sender);
      });
    }
    for (int i = 0; i < 3; ++i) {
      const auto receive = [&](int item) { ledger.delivered(item); };
      check(select(channel.on_receive(receive), other.on_receive(receive), after(1ms, [] {}))
                .has_value(),
            "refused");
    }
    threads.clear();
    ledger.check();
  });
}

// A stop that comes while one stands in line already, and is not asleep yet: it may have been served by then.
TEST(SimulatedChannel, AStopAtAnyStepLosesNothing) {
  for (const std::size_t capacity : {0U, 1U}) {
    simulate({.runs = runs / 2}, [=] {
      Ledger ledger(4);
      Channel<int> channel{{.capacity = capacity, .name = "channel"}};
      const std::stop_token stop = testing::sudden_stop();
      std::vector<Thread> threads;
      for (int sender = 0; sender < 2; ++sender) {
        threads.emplace_back([&, sender] {
          for (int item = sender * 2; item < sender * 2 + 2; ++item) {
            if (channel.send(int{item}, {.stop = stop})) ledger.accepted(item);
          }
        });
      }
      threads.emplace_back([&] {
        while (const auto item = channel.receive({.stop = stop})) ledger.delivered(*item);
      });
      threads.clear();
      channel.close();
      while (const auto item = channel.try_receive()) ledger.delivered(*item);
      ledger.check();
    });
  }
}

TEST(SimulatedSelect, AStopAtAnyStepLosesNothing) {
  simulate({.runs = runs}, [] {
    Ledger ledger(2);
    Channel<int> left{{.name = "left"}};
    Channel<int> right{{.name = "right"}};
    const std::stop_token stop = testing::sudden_stop();
    std::vector<Thread> threads;
    threads.emplace_back([&] {
      if (left.send(0, {.stop = stop})) ledger.accepted(0);
    });
    threads.emplace_back([&] {
      if (right.send(1, {.stop = stop})) ledger.accepted(1);
    });
    const auto deliver = [&](int item) { ledger.delivered(item); };
    for (int i = 0; i < 2; ++i) {
      static_cast<void>(
          select(Wait{.stop = stop}, left.on_receive(deliver), right.on_receive(deliver)));
    }
    threads.clear();
    ledger.check();
  });
}

// One that selects is called away from one queue's line by another's, looks, and goes back to sleep. Who wanted to wake it meanwhile, and who left that to
// the first, must not both think that the other does.
TEST(SimulatedSelect, TakesFromTwoQueuesWhoeverPuts) {
  for (const auto strategy : {testing::random, testing::pct(4)}) {
    simulate({.runs = runs / 2, .strategy = strategy}, [] {
      BlockingQueue<int> one{{.capacity = 4, .name = "one"}};
      BlockingQueue<int> two{{.capacity = 4, .name = "two"}};
      std::vector<Thread> threads;
      threads.emplace_back([&] { check(one.put(1).has_value(), "refused"); });
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] { check(two.put(2).has_value(), "refused"); });
      }
      int taken = 0;
      const auto take = [&](int) { ++taken; };
      while (taken < 3) {
        check(select(one.on_take(take), two.on_take(take)).has_value(), "refused");
      }
    });
  }
}

}  // namespace
}  // namespace handoff::tests
