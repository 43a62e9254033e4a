// Locks and their kin when waits end early, under many schedules: who gives up takes nothing along.
#include <gtest/gtest.h>

#include <chrono>
#include <stop_token>
#include <vector>

#include "handoff/barrier.hpp"
#include "handoff/event.hpp"
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
using testing::simulate;
using testing::Var;

// A lock that is fought over so much that it is handed over to who waits, while they are being stopped.
TEST(SimulatedMutex, IsNeverHandedToOneWhoLeaves) {
  simulate({.runs = runs}, [] {
    Mutex mutex{{.name = "mutex"}};
    std::stop_source stop;
    {
      std::vector<Thread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
          for (int turn = 0; turn < 2; ++turn) {
            const auto held = mutex.acquire({.stop = stop.get_token()});
          }
        });
      }
      threads.emplace_back([&] {
        for (int turn = 0; turn < 4; ++turn) {
          const auto held = mutex.hold();
          testing::pause(1ms);
        }
      });
      threads.emplace_back([&] {
        testing::pause(2ms);
        stop.request_stop();
      });
    }
    check(mutex.try_lock(), "the lock is held by nobody");
    mutex.unlock();
  });
}

TEST(SimulatedSharedMutex, AWriterThatGivesUpLetsReadersIn) {
  simulate({.runs = runs / 2}, [] {
    SharedMutex mutex{{.name = "mutex"}};
    Event both_read{{.name = "both read"}};
    Thread reader([&] {
      const auto held = mutex.hold_shared();
      check(both_read.wait().has_value(), "refused");
    });
    Thread writer([&] { static_cast<void>(mutex.acquire({.deadline = within(1ms)})); });
    const auto held = mutex.hold_shared();
    both_read.set();
  });
}

TEST(SimulatedSharedMutex, WaitsThatEndEarlyLeaveItFree) {
  simulate({.runs = runs / 2}, [] {
    SharedMutex mutex{{.name = "mutex"}};
    Var<int> value{0, "the value"};
    int written = 0;
    {
      std::vector<Thread> threads;
      for (int i = 0; i < 2; ++i) {
        threads.emplace_back([&] {
          const auto held = mutex.acquire({.deadline = within(2ms)});
          if (!held) return;
          ++value;
          ++written;
          testing::pause(1ms);
        });
        threads.emplace_back([&] {
          const auto held = mutex.acquire_shared({.deadline = within(1ms)});
          if (!held) return;
          check(value <= 2, "a value that was never written");
          testing::pause(1ms);
        });
      }
    }
    check(value == written, "an increment was lost");
    check(mutex.try_lock(), "the lock is held by nobody");
    mutex.unlock();
  });
}

TEST(SimulatedSemaphore, ALargeRequestThatGivesUpLetsSmallOnesIn) {
  simulate({.runs = runs / 2}, [] {
    Semaphore permits{{.permits = 2, .name = "permits"}};
    check(permits.acquire().has_value(), "refused");
    Thread large([&] {
      if (permits.acquire(2, {.deadline = within(1ms)})) permits.release(2);
    });
    {
      // One permit is there for it, as soon as nobody stands in its way.
      Thread small([&] {
        check(permits.acquire().has_value(), "refused");
        permits.release();
      });
    }
    permits.release();
    large.join();
    check(permits.available() == 2, "a permit was lost");
  });
}

TEST(SimulatedBarrier, OneThatGivesUpIsNotCounted) {
  simulate({.runs = runs / 2}, [] {
    Barrier barrier{{.parties = 2, .name = "barrier"}};
    bool has_come = false;
    Thread impatient([&] {
      while (!barrier.arrive_and_wait({.deadline = within(1ms)})) {
      }
      check(has_come, "it met nobody");
    });
    testing::pause(2ms);
    has_come = true;
    check(barrier.arrive_and_wait().has_value(), "refused");
  });
}

TEST(SimulatedMonitor, TwoNotificationsReachTwoWaiters) {
  simulate({.runs = runs / 2}, [] {
    Monitor<int> items{{.name = "items"}, 0};
    Condition added{items, "added"};
    std::vector<Thread> takers;
    for (int i = 0; i < 2; ++i) {
      takers.emplace_back([&] {
        auto locked = items.lock();
        check(locked.wait(added, [](int count) { return count > 0; }).has_value(), "refused");
        --*locked;
      });
    }
    for (int i = 0; i < 2; ++i) {
      auto locked = items.lock();
      ++*locked;
      locked.notify_one(added);
    }
  });
}

TEST(SimulatedMonitor, ANotificationIsPassedOnByOneWhoLeaves) {
  simulate({.runs = runs / 2}, [] {
    Monitor<int> items{{.name = "items"}, 0};
    Condition added{items, "added"};
    std::stop_source stop;
    const auto add_one = [&] {
      auto locked = items.lock();
      ++*locked;
      locked.notify_one(added);
    };
    bool has_taken = false;
    Thread hesitant([&] {
      auto locked = items.lock();
      const auto there =
          locked.wait(added, [](int count) { return count > 0; }, {.stop = stop.get_token()});
      if (!there) return;
      has_taken = true;
      --*locked;
    });
    Thread taker([&] {
      auto locked = items.lock();
      check(locked.wait(added, [](int count) { return count > 0; }).has_value(), "refused");
      --*locked;
    });
    Thread stopper([&] { stop.request_stop(); });
    add_one();
    hesitant.join();
    if (has_taken) add_one();
  });
}

}  // namespace
}  // namespace handoff::tests
