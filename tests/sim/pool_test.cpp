// Pools, futures, scopes and coroutines under many schedules.
#include "handoff/pool.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <vector>

#include "handoff/channel.hpp"
#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/mutex.hpp"
#include "handoff/queue.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "handoff/when.hpp"
#include "sim/ledger.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::pct;
using testing::simulate;

TEST(SimulatedPool, RunsAllThatItAccepts) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = some_runs, .strategy = strategy}, [] {
      int ran = 0;
      {
        WorkerPool pool{{.workers = 2, .capacity = 2, .name = "pool"}};
        for (int i = 0; i < 4; ++i) check(pool.post([&] { ++ran; }).has_value(), "refused");
        check(pool.shutdown(finish_within(1h)).is_complete(), "not all have ended");
      }
      check(ran == 4, "a job was lost");
    });
  }
}

TEST(SimulatedPool, AccountsForAllWhenItIsInterrupted) {
  simulate({.runs = some_runs}, [] {
    int ran = 0;
    int accepted = 0;
    WorkerPool pool{{.workers = 2, .capacity = 2, .name = "pool"}};
    Thread producer([&] {
      for (int i = 0; i < 4; ++i) accepted += pool.post([&] { ++ran; }) ? 1 : 0;
    });
    const auto report = pool.shutdown(interrupt());
    producer.join();
    check(accepted == ran + static_cast<int>(report.handed_back.size()), "a job was lost");
  });
}

TEST(SimulatedPool, AJobMayWaitForAnother) {
  simulate({.runs = some_runs}, [] {
    WorkerPool pool{{.workers = 1, .capacity = 4, .name = "pool", .spares = 1}};
    auto outer = pool.submit([&] {
      auto inner = pool.submit([] { return 20; });
      return inner->get().value() + 1;
    });
    check(outer.has_value() && outer->get() == 21, "the wrong result");
  });
}

TEST(SimulatedPool, TimersRunAtTheirTime) {
  simulate({.runs = some_runs}, [] {
    const auto start = now();
    TimePoint ran_at{};
    {
      WorkerPool pool{{.workers = 1, .capacity = 4, .name = "pool"}};
      Event done;
      const auto timer = pool.after(1h, [&] {
        ran_at = now();
        done.set();
      });
      check(done.wait().has_value(), "refused");
    }
    check(ran_at >= start + 1h && ran_at < start + 2h, "at the wrong time");
  });
}

// -- Scopes ---------------------------------------------------------------------------------------

Lazy<> count(int& counter) {
  ++counter;
  co_return;
}

Lazy<> yield_and_count(int& counter) {
  co_await yield();
  ++counter;
}

Lazy<> wait_and_count(Event& event, int& counter) {
  if (const auto set = co_await event.async_wait()) ++counter;
}

TEST(SimulatedScope, WaitsForAllItsChildren) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = some_runs, .strategy = strategy}, [] {
      int counter = 0;
      Event event;
      WorkerPool pool{{.workers = 2, .capacity = 8, .name = "pool"}};
      {
        Scope scope;
        check(scope.spawn(pool, count(counter)).has_value(), "refused");
        check(scope.spawn(pool, yield_and_count(counter)).has_value(), "refused");
        check(scope.spawn(pool, wait_and_count(event, counter)).has_value(), "refused");
        scope.spawn([&] { event.set(); });
        check(scope.join().has_value(), "refused");
      }
      check(counter == 3, "a child was left behind");
    });
  }
}

TEST(SimulatedScope, MayBeDestroyedWhenTheLastHasLeft) {
  simulate({.runs = some_runs}, [] {
    int counter = 0;
    WorkerPool pool{{.workers = 2, .capacity = 8, .name = "pool"}};
    for (int round = 0; round < 2; ++round) {
      Scope scope;
      for (int i = 0; i < 3; ++i) check(scope.spawn(pool, count(counter)).has_value(), "refused");
    }
    check(pool.shutdown(finish_within(1h)).is_complete(), "not all have ended");
  });
}

TEST(SimulatedScope, TheFirstErrorStopsTheOthers) {
  simulate({.runs = some_runs}, [] {
    Event never;
    int counter = 0;
    WorkerPool pool{{.workers = 2, .capacity = 8, .name = "pool"}};
    Scope scope;
    check(scope.spawn(pool, wait_and_count(never, counter)).has_value(), "refused");
    check(scope.spawn(pool, [] { throw std::runtime_error("no"); }).has_value(), "refused");
    bool threw = false;
    try {
      static_cast<void>(scope.join());
    } catch (const std::runtime_error&) {
      threw = true;
    }
    check(threw && counter == 0, "the error was lost");
  });
}

// -- Coroutines -----------------------------------------------------------------------------------

Lazy<> send_some(Channel<int>& channel, Ledger& ledger, int first) {
  for (int item = first; item < first + 2; ++item) {
    int given = item;
    const auto sent = co_await channel.async_send(std::move(given), within(1ms));
    if (sent) ledger.accepted(item);
  }
}

Lazy<> receive_all(Channel<int>& channel, Ledger& ledger) {
  while (auto item = co_await channel.async_receive()) ledger.delivered(*item);
}

TEST(SimulatedCoroutines, ThreadsAndCoroutinesAtOneChannel) {
  for (const std::size_t capacity : {0U, 1U}) {
    simulate({.runs = some_runs}, [=] {
      Ledger ledger(6);
      Channel<int> channel{{.capacity = capacity, .name = "channel"}};
      {
        WorkerPool pool{{.workers = 2, .capacity = 8, .name = "pool"}};
        Scope receivers;
        check(receivers.spawn(pool, receive_all(channel, ledger)).has_value(), "refused");
        {
          Scope senders;
          check(senders.spawn(pool, send_some(channel, ledger, 0)).has_value(), "refused");
          check(senders.spawn(pool, send_some(channel, ledger, 2)).has_value(), "refused");
          senders.spawn([&] {
            for (int item = 4; item < 6; ++item) {
              if (channel.send(int{item})) ledger.accepted(item);
            }
          });
          check(senders.join().has_value(), "refused");
        }
        channel.close();
        check(receivers.join().has_value(), "refused");
      }
      ledger.check();
    });
  }
}

Lazy<> take_and_put(BlockingQueue<int>& from, BlockingQueue<int>& to) {
  while (auto item = co_await from.async_take()) {
    const auto put = co_await to.async_put(std::move(*item));
    if (!put) break;
  }
  to.close();
}

TEST(SimulatedCoroutines, AQueueBetweenThreadsAndCoroutines) {
  simulate({.runs = some_runs}, [] {
    Ledger ledger(3);
    BlockingQueue<int> in{{.capacity = 1, .name = "in"}};
    BlockingQueue<int> out{{.capacity = 1, .name = "out"}};
    WorkerPool pool{{.workers = 1, .capacity = 8, .name = "pool"}};
    check(spawn(pool, take_and_put(in, out)).has_value(), "refused");
    Thread producer([&] {
      for (int i = 0; i < 3; ++i) {
        if (in.put(int{i})) ledger.accepted(i);
      }
      in.close();
    });
    while (auto item = out.take()) ledger.delivered(*item);
    ledger.check();
  });
}

Lazy<> add_under(Mutex& mutex, int& counter) {
  const auto held = co_await mutex.async_lock();
  const int seen = counter;
  co_await yield();
  counter = seen + 1;
}

TEST(SimulatedCoroutines, AMutexHeldAcrossASuspension) {
  simulate({.runs = some_runs}, [] {
    int counter = 0;
    Mutex mutex{{.name = "mutex"}};
    WorkerPool pool{{.workers = 2, .capacity = 8, .name = "pool"}};
    Scope scope;
    for (int i = 0; i < 3; ++i)
      check(scope.spawn(pool, add_under(mutex, counter)).has_value(), "refused");
    check(scope.join().has_value(), "refused");
    check(counter == 3, "an increment was lost");
  });
}

}  // namespace
}  // namespace handoff::tests
