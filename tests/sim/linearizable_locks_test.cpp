// Locks and semaphores are linearizable, as queues are: see linearizable_test.cpp.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <vector>

#include "handoff/detail/core/simulation.hpp"
#include "handoff/mutex.hpp"
#include "handoff/semaphore.hpp"
#include "handoff/shared_mutex.hpp"
#include "handoff/testing/simulate.hpp"
#include "handoff/thread.hpp"
#include "sim/lock_models.hpp"
#include "sim/runs.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using testing::pct;
using testing::simulate;

unsigned draw(unsigned below) { return static_cast<unsigned>(detail::sim::draw(below)); }

template <typename Work>
void in_three_threads(Work work) {
  std::vector<Thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(work);
}

template <typename Body>
void simulate_both_ways(Body body) {
  for (const auto strategy : {testing::random, pct(3)}) {
    simulate({.runs = runs,
              .strategy = strategy,
              .faults = {.spurious_wake = 0.005, .weak_failure = 0.01, .clock_jump = 0.002}},
             body);
  }
}

// -- Semaphore ------------------------------------------------------------------------------------

// One or two of two permits, now, within a time or at any price; held for a while; given back.
TEST(Linearizable, Semaphore) {
  simulate_both_ways([] {
    SemaphoreHistory history;
    Line line;
    Semaphore permits{{.permits = 2, .name = "permits"}};
    in_three_threads([&] {
      for (int turn = 0; turn < 2; ++turn) {
        const std::size_t n = 1 + draw(2);
        const auto acquire = [&](const Wait& wait) {
          return history.record({PermitCall::Kind::acquire, n}, [&] {
            return line.stand_in([&] { return permits.acquire(n, wait).has_value(); });
          });
        };
        const auto try_acquire = [&] {
          return history.record({PermitCall::Kind::try_acquire, n}, [&] {
            return line.pass_by([&] { return permits.try_acquire(n); });
          });
        };
        const unsigned way = draw(3);
        const auto got = way == 0   ? try_acquire()
                         : way == 1 ? acquire({.deadline = within(1ms)})
                                    : acquire({});
        if (!got.is_done) continue;
        if (draw(2) == 0) testing::pause(1ms);
        history.record({PermitCall::Kind::release, n}, [&] { permits.release(n); });
      }
    });
    history.check(SemaphoreModel{.available = 2});
  });
}

// Where nobody waits there is no such excuse: a try is refused only if there is no permit.
TEST(Linearizable, SemaphoreThatNobodyWaitsFor) {
  simulate_both_ways([] {
    SemaphoreHistory history;
    Semaphore permits{{.permits = 2, .name = "permits"}};
    in_three_threads([&] {
      for (int turn = 0; turn < 2; ++turn) {
        const std::size_t n = 1 + draw(2);
        const auto got = history.record({PermitCall::Kind::try_acquire, n}, [&] {
          return LockOutcome{.is_done = permits.try_acquire(n)};
        });
        if (!got.is_done) continue;
        history.record({PermitCall::Kind::release, n}, [&] { permits.release(n); });
      }
    });
    history.check(SemaphoreModel{.available = 2});
  });
}

// -- Locks ----------------------------------------------------------------------------------------

// Locks now, within a time or at any price, holds it for a while, unlocks.
template <typename Lock>
void write(LockHistory& history, Line& line, Lock& lock) {
  const unsigned thread = detail::sim::this_number();
  const unsigned way = draw(3);
  const auto got = history.record({LockCall::Kind::lock, thread}, [&] {
    if (way == 0) return line.pass_by([&] { return lock.try_lock(); });
    return line.stand_in([&] {
      if (way == 1) return lock.try_lock_for(1ms);
      lock.lock();
      return true;
    });
  });
  if (!got.is_done) return;
  if (draw(2) == 0) testing::pause(1ms);
  history.record({LockCall::Kind::unlock, thread}, [&] { lock.unlock(); });
}

void read(LockHistory& history, Line& line, SharedMutex& lock) {
  const unsigned thread = detail::sim::this_number();
  const unsigned way = draw(3);
  const auto got = history.record({LockCall::Kind::lock_shared, thread}, [&] {
    if (way == 0) return line.pass_by([&] { return lock.try_lock_shared(); });
    return line.stand_in([&] {
      if (way == 1) return lock.try_lock_shared_for(1ms);
      lock.lock_shared();
      return true;
    });
  });
  if (!got.is_done) return;
  if (draw(2) == 0) testing::pause(1ms);
  history.record({LockCall::Kind::unlock_shared, thread}, [&] { lock.unlock_shared(); });
}

TEST(Linearizable, Mutex) {
  simulate_both_ways([] {
    LockHistory history;
    Line line;
    Mutex mutex{{.name = "mutex"}};
    in_three_threads([&] {
      for (int turn = 0; turn < 2; ++turn) write(history, line, mutex);
    });
    history.check(LockModel());
  });
}

TEST(Linearizable, SharedMutex) {
  simulate_both_ways([] {
    LockHistory history;
    Line line;
    SharedMutex mutex{{.name = "mutex"}};
    in_three_threads([&] {
      for (int turn = 0; turn < 2; ++turn) {
        if (draw(2) == 0) {
          write(history, line, mutex);
        } else {
          read(history, line, mutex);
        }
      }
    });
    history.check(LockModel());
  });
}

}  // namespace
}  // namespace handoff::tests
