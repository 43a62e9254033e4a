// Locks and their kin under many schedules.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <vector>

#include "handoff/barrier.hpp"
#include "handoff/event.hpp"
#include "handoff/latch.hpp"
#include "handoff/monitor.hpp"
#include "handoff/mutex.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/testing/var.hpp"
#include "handoff/thread.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::exhaustive;
using testing::pct;
using testing::simulate;
using testing::Var;

// -- Mutex ----------------------------------------------------------------------------------------

TEST(SimulatedMutex, KeepsThreadsApart) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs,
              .strategy = strategy,
              .faults = {.spurious_wake = 0.01, .weak_failure = 0.05}},
             [] {
               Mutex mutex{{.name = "mutex"}};
               Var<int> counter{0, "the counter"};
               {
                 std::vector<Thread> threads;
                 for (int i = 0; i < 3; ++i) {
                   threads.emplace_back([&] {
                     for (int turn = 0; turn < 2; ++turn) {
                       const auto held = mutex.hold();
                       ++counter;
                     }
                   });
                 }
               }
               check(counter == 6, "an increment was lost");
             });
  }
}

// One who gives up waiting must not take the lock with it, nor the wake-up that was meant for the next.
TEST(SimulatedMutex, WaitsThatEndEarlyLoseNoWakeUp) {
  simulate({.runs = runs}, [] {
    Mutex mutex{{.name = "mutex"}};
    std::stop_source stop;
    Var<int> counter{0, "the counter"};
    int held = 0;
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < 2; ++turn) {
          const Wait wait{.deadline = i == 0 ? within(1ms) : Deadline(),
                          .stop = i == 1 ? stop.get_token() : std::stop_token()};
          const auto guard = mutex.acquire(wait);
          if (!guard) continue;
          ++counter;
          ++held;
          testing::pause(1ms);
        }
      });
    }
    threads.emplace_back([&] { stop.request_stop(); });
    threads.clear();
    check(counter == held, "an increment was lost");
    check(mutex.try_lock(), "the lock is held by nobody");
    mutex.unlock();
  });
}

TEST(SimulatedMutex, TwoThreadsInAllOrders) {
  const auto done = simulate({.runs = most_exhaustive, .strategy = exhaustive(3)}, [] {
    Mutex mutex{{.name = "mutex"}};
    Var<int> counter{0, "the counter"};
    {
      Thread other([&] {
        const auto held = mutex.hold();
        ++counter;
      });
      const auto held = mutex.hold();
      ++counter;
    }
    check(counter == 2, "an increment was lost");
  });
  EXPECT_TRUE(done.is_complete);
  report_schedules("mutex: two threads", done);
}

// -- SharedMutex ----------------------------------------------------------------------------------

TEST(SimulatedSharedMutex, ReadersAreTogetherAndWritersAlone) {
  simulate({.runs = runs}, [] {
    SharedMutex mutex{{.name = "mutex"}};
    Var<int> value{0, "the value"};
    std::vector<Thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        const auto held = mutex.hold();
        ++value;
      });
      threads.emplace_back([&] {
        const auto held = mutex.hold_shared();
        check(value <= 2, "a value that was never written");
      });
    }
    threads.clear();
    check(value == 2, "an increment was lost");
  });
}

// -- Semaphore ------------------------------------------------------------------------------------

TEST(SimulatedSemaphore, NeverLetsMoreIn) {
  simulate({.runs = runs, .faults = {.spurious_wake = 0.01}}, [] {
    Semaphore permits{{.permits = 2, .name = "permits"}};
    int inside = 0;
    std::vector<Thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&, i] {
        const std::size_t n = i == 0 ? 2 : 1;
        check(permits.acquire(n).has_value(), "refused");
        inside += static_cast<int>(n);
        check(inside <= 2, "too many are inside");
        testing::pause(1us);
        inside -= static_cast<int>(n);
        permits.release(n);
      });
    }
    threads.clear();
    check(permits.available() == 2, "a permit was lost");
  });
}

TEST(SimulatedSemaphore, WaitsThatEndEarlyLoseNoPermit) {
  simulate({.runs = runs}, [] {
    Semaphore permits{{.permits = 1, .name = "permits"}};
    std::stop_source stop;
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 0; turn < 2; ++turn) {
          const Wait wait{.deadline = i == 0 ? within(1ms) : Deadline(),
                          .stop = i == 1 ? stop.get_token() : std::stop_token()};
          if (!permits.acquire(wait)) continue;
          testing::pause(1ms);
          permits.release();
        }
      });
    }
    threads.emplace_back([&] { stop.request_stop(); });
    threads.clear();
    check(permits.available() == 1, "a permit was lost");
  });
}

// -- Event, latch, barrier ------------------------------------------------------------------------

TEST(SimulatedEvent, WakesAllThatWait) {
  simulate({.runs = runs}, [] {
    Event event{{.name = "event"}};
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&] { check(event.wait().has_value(), "refused"); });
    event.set();
  });
}

// Who was woken by the event may destroy it while set() is on its way out.
TEST(SimulatedEvent, MayBeDestroyedByWhomItWoke) {
  simulate({.runs = runs}, [] {
    Thread setter;
    {
      Event event{{.name = "event"}};
      setter = Thread([&] { event.set(); });
      check(event.wait().has_value(), "refused");
    }
  });
}

TEST(SimulatedLatch, OpensOnceAllHaveCounted) {
  simulate({.runs = runs}, [] {
    Latch latch{{.count = 3, .name = "latch"}};
    int counted = 0;
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&] {
        ++counted;
        latch.count_down();
      });
    }
    check(latch.wait().has_value(), "refused");
    check(counted == 3, "it opened too early");
  });
}

TEST(SimulatedBarrier, NobodyIsAPhaseAhead) {
  simulate({.runs = runs}, [] {
    Barrier barrier{{.parties = 3, .name = "barrier"}};
    int phase[3] = {};
    std::vector<Thread> threads;
    for (int i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        for (int turn = 1; turn <= 2; ++turn) {
          phase[i] = turn;
          check(barrier.arrive_and_wait().has_value(), "refused");
          for (const int other : phase) check(other >= turn, "one has not arrived");
        }
      });
    }
  });
}

// -- Monitor --------------------------------------------------------------------------------------

TEST(SimulatedMonitor, LosesNoNotification) {
  simulate({.runs = runs, .faults = {.spurious_wake = 0.01}}, [] {
    struct Place {
      int items = 0;
      int taken = 0;
    };
    Monitor<Place> place{{.name = "place"}};
    Condition filled{place, "filled"};
    Condition emptied{place, "emptied"};
    std::vector<Thread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([&] {
        for (int turn = 0; turn < 2; ++turn) {
          auto locked = place.lock();
          check(locked.wait(filled, [](const Place& p) { return p.items > 0; }).has_value(),
                "refused");
          --locked->items;
          ++locked->taken;
          locked.notify_one(emptied);
        }
      });
      threads.emplace_back([&] {
        for (int turn = 0; turn < 2; ++turn) {
          auto locked = place.lock();
          check(locked.wait(emptied, [](const Place& p) { return p.items < 1; }).has_value(),
                "refused");
          ++locked->items;
          locked.notify_one(filled);
        }
      });
    }
    threads.clear();
    place.with([](const Place& p) { check(p.taken == 4 && p.items == 0, "an item was lost"); });
  });
}

}  // namespace
}  // namespace handoff::tests
