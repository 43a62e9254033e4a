#include "handoff/mutex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <future>
#include <memory>
#include <mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include "handoff/detail/core/spin.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "now_hook.hpp"
#include "support/await_sleep.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::Le;

std::size_t waiting(const Mutex& mutex) { return mutex.stats().waiting_consumers; }

// Locks and unlocks in another thread.
std::future<std::expected<void, Refusal>> acquire_elsewhere(Mutex& mutex, Wait wait = {}) {
  return std::async(std::launch::async, [&mutex, wait]() -> std::expected<void, Refusal> {
    auto held = mutex.acquire(wait);
    if (!held) return std::unexpected(held.error());
    return {};
  });
}

TEST(Mutex, TryLockIsRefusedWhileAnotherThreadHoldsIt) {
  Mutex mutex;
  auto held = mutex.hold();
  EXPECT_FALSE(std::async(std::launch::async, [&] { return mutex.try_lock(); }).get());
}

TEST(Mutex, CanBeLockedAgainOnceItWasUnlocked) {
  Mutex mutex;
  mutex.lock();
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(Mutex, WorksWithTheGuardsOfTheStandardLibrary) {
  Mutex first;
  Mutex second;
  {
    std::scoped_lock both(first, second);
  }
  {
    std::lock_guard guard(first);
  }
  std::unique_lock timed(first, 1s);
  EXPECT_TRUE(timed.owns_lock());
}

TEST(Mutex, AWaiterGetsTheLockWhenItsHolderUnlocks) {
  Mutex mutex;
  auto held = mutex.hold();
  auto other = acquire_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 1; });
  held.unlock();
  EXPECT_TRUE(other.get());
}

TEST(Mutex, LockingWhatTheThreadHoldsThrowsInsteadOfHanging) {
  Mutex mutex{{.name = "accounts"}};
  auto held = mutex.hold();
  EXPECT_THROW(mutex.lock(), std::system_error);
  EXPECT_THROW((void)mutex.acquire({.deadline = within(1s)}), std::system_error);
  EXPECT_FALSE(mutex.try_lock());
}

TEST(MutexDeathTest, UnlockingByAnotherThreadStopsTheProgram) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        Mutex mutex;
        mutex.lock();
        std::jthread([&] { mutex.unlock(); }).join();
      },
      "broken invariant");
}

// -- Time ------------------------------------------------------------------------------------------

TEST(Mutex, AcquireTimesOutAtItsDeadline) {
  ManualClock clock;
  Mutex mutex;
  auto held = mutex.hold();
  auto other = acquire_elsewhere(mutex, {.deadline = within(100ms)});
  eventually([&] { return clock.waiting() == 1; });

  clock.advance(99ms);
  EXPECT_EQ(clock.waiting(), 1u);
  clock.advance(1ms);
  EXPECT_EQ(other.get(), std::unexpected(Refusal::timed_out));
  EXPECT_EQ(mutex.stats().refused, 1u);
}

TEST(Mutex, TimesOutOnTheRealClockToo) {
  Mutex mutex;
  auto held = mutex.hold();
  EXPECT_FALSE(std::async(std::launch::async, [&] { return mutex.try_lock_for(1ms); }).get());
  EXPECT_FALSE(
      std::async(std::launch::async, [&] { return mutex.try_lock_until(now() + 1ms); }).get());
}

TEST(Mutex, AFreeLockIsTakenEvenPastTheDeadline) {
  Mutex mutex;
  EXPECT_TRUE(mutex.acquire({.deadline = TimePoint::min()}));
}

TEST(Mutex, AWaiterThatTimesOutLeavesTheLockToTheNext) {
  ManualClock clock;
  Mutex mutex;
  auto held = mutex.hold();
  auto first = acquire_elsewhere(mutex, {.deadline = within(1s)});
  eventually([&] { return waiting(mutex) == 1; });
  auto second = acquire_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 2 && clock.waiting() == 1; });

  clock.advance(1s);
  EXPECT_EQ(first.get(), std::unexpected(Refusal::timed_out));
  held.unlock();
  EXPECT_TRUE(second.get());
}

// -- Stop ------------------------------------------------------------------------------------------

TEST(Mutex, AStopRequestedBeforehandRefusesEvenAFreeLock) {
  Mutex mutex;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(mutex.acquire({.stop = stop.get_token()}).error(), Refusal::stopped);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(Mutex, AStopEndsAWait) {
  Mutex mutex;
  std::stop_source stop;
  auto held = mutex.hold();
  auto other = acquire_elsewhere(mutex, {.stop = stop.get_token()});
  eventually([&] { return waiting(mutex) == 1; });
  stop.request_stop();
  EXPECT_EQ(other.get(), std::unexpected(Refusal::stopped));
  EXPECT_EQ(waiting(mutex), 0u);
}

// The stop and the unlock meet at every distance; the waiter behind must get the lock all the same.
TEST(Mutex, AStoppedWaiterNeverSwallowsTheWakeUpOfTheNext) {
  for (int round = 0; round < 150; ++round) {
    Mutex mutex;
    std::stop_source stop;
    std::atomic<int> ready{0};
    mutex.lock();
    std::jthread stopped([&] {
      ++ready;
      (void)mutex.acquire({.stop = stop.get_token()});
    });
    std::jthread patient([&] {
      ++ready;
      EXPECT_TRUE(mutex.acquire());
    });
    eventually([&] { return ready == 2; });
    if (round % 2 == 0) eventually([&] { return waiting(mutex) == 2; });
    std::jthread stopper([&] { stop.request_stop(); });
    mutex.unlock();
  }
}

// -- Fairness --------------------------------------------------------------------------------------

TEST(Mutex, WaitersGetItInTheOrderTheyCame) {
  ManualClock clock;  // Time stands still, so that nothing but the turns decides.
  Mutex mutex;
  std::vector<int> order;
  mutex.lock();
  std::vector<std::jthread> waiters;
  for (int i = 0; i < 4; ++i) {
    waiters.emplace_back([&, i] {
      auto held = mutex.hold();
      order.push_back(i);
    });
    eventually([&] { return waiting(mutex) == static_cast<std::size_t>(i) + 1; });
  }
  tests::await_sleep();  // One that is still having its last look might overtake the others.
  mutex.unlock();
  waiters.clear();
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3));
}

// One thread takes the lock again and again, and never looks to the side.
std::uint32_t times_overtaken(Mutex& mutex) {
  std::atomic<bool> got_it{false};
  std::uint32_t overtakings = 0;
  mutex.lock();
  std::jthread waiter([&] {
    auto held = mutex.hold();
    got_it = true;
  });
  eventually([&] { return waiting(mutex) == 1; });
  while (true) {
    mutex.unlock();
    mutex.lock();
    if (got_it) break;
    ++overtakings;
  }
  mutex.unlock();
  return overtakings;
}

TEST(Mutex, AWaiterIsOvertakenAtMostTheStatedNumberOfTimes) {
  ManualClock clock;  // Time never helps it.
  for (int round = 0; round < 50; ++round) {
    Mutex mutex;
    EXPECT_THAT(times_overtaken(mutex), Le(Mutex::max_overtakings));
  }
}

TEST(Mutex, AWaiterIsNotOvertakenOnceItsTimeIsUp) {
  ManualClock clock;
  Mutex mutex;
  std::atomic<bool> got_it{false};
  mutex.lock();
  std::jthread waiter([&] {
    auto held = mutex.hold();
    got_it = true;
  });
  eventually([&] { return waiting(mutex) == 1; });
  // The first unlock() gives the waiter its turn; from then on it may be overtaken for a millisecond.
  mutex.unlock();
  mutex.lock();
  clock.advance(Mutex::max_overtaking_time);
  mutex.unlock();
  mutex.lock();
  EXPECT_TRUE(got_it);
  mutex.unlock();
}

TEST(Mutex, AStopInTheMiddleOfAnUnlockPassesTheTurnToTheNext) {
  NowHook clock;
  Mutex mutex;
  std::stop_source stop;
  mutex.lock();
  auto stopped = acquire_elsewhere(mutex, {.stop = stop.get_token()});
  eventually([&] { return waiting(mutex) == 1; });
  auto patient = acquire_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 2; });
  clock.run_at_next_look([&] { stop.request_stop(); });
  mutex.unlock();  // Has chosen the first when the stop comes.
  // Not always refused: it may have been about to park, and seen its turn first.
  (void)stopped.get();
  EXPECT_TRUE(patient.get());
}

TEST(Mutex, AStopInTheMiddleOfAHandOverDoesNotLoseTheLock) {
  NowHook clock;
  int hand_overs = 0;
  for (int round = 0; round < 100; ++round) {
    Mutex mutex;
    std::stop_source stop;
    mutex.lock();
    auto waiter = acquire_elsewhere(mutex, {.stop = stop.get_token()});
    eventually([&] { return waiting(mutex) == 1; });
    mutex.unlock();  // Its first turn, which it loses if this thread is quicker.
    const bool has_lock = mutex.try_lock();
    if (has_lock && waiting(mutex) == 0) mutex.unlock();  // The waiter was quicker, and is done.
    if (has_lock && waiting(mutex) == 1) {
      ++hand_overs;
      // Time to get up in vain: a stop cannot meet one that is just waking.
      detail::spin_for(round * 10us);
      clock.advance(Mutex::max_overtaking_time);
      clock.run_at_next_look([&] { stop.request_stop(); });
      mutex.unlock();
    }
    EXPECT_TRUE(waiter.get()) << "it was made the owner, so it is";
    EXPECT_TRUE(mutex.try_lock()) << "and has let go";
    mutex.unlock();
  }
  EXPECT_GT(hand_overs, 0);
}

// -- Never two at once ---------------------------------------------------------------------------

TEST(Mutex, NeverLetsTwoInAtOnceAndLosesNobody) {
  Mutex mutex;
  constexpr int threads = 6;
  constexpr int rounds = 10'000;
  long inside = 0;  // Not atomic: a second thread inside is a data race as well.
  long count = 0;
  std::atomic<long> refused{0};
  std::stop_source stop;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < rounds; ++i) {
          const bool limited = (i + t) % 3 == 0;
          const Wait wait{
              .deadline = limited ? within(std::chrono::microseconds(i % 50)) : Deadline{},
              .stop = stop.get_token()};
          auto held = (i % 7 == 0) ? mutex.hold() : std::unique_lock<Mutex>();
          if (!held) {
            auto acquired = mutex.acquire(wait);
            if (!acquired) {
              ++refused;
              continue;
            }
            held = std::move(*acquired);
          }
          if (++inside != 1) ADD_FAILURE() << "two threads hold the lock";
          ++count;
          if (i % 16 == 0) std::this_thread::yield();  // Others come while it is locked.
          --inside;
        }
      });
    }
  }
  EXPECT_EQ(count + refused.load(), long{threads} * rounds);
  const Stats stats = mutex.stats();
  EXPECT_EQ(stats.takes, static_cast<std::uint64_t>(count));
  EXPECT_EQ(stats.size, 0u);
  EXPECT_EQ(stats.waiting_consumers, 0u);
}

// As with std::mutex: the last to unlock may destroy it, even while the one before is on its way out of unlock().
TEST(Mutex, MayBeDestroyedByTheThreadThatUnlockedItLast) {
  struct Shared {
    Mutex mutex;
    int users = 2;
  };
  const auto use = [](Shared* shared) {
    bool last = false;
    {
      std::lock_guard held(shared->mutex);
      last = --shared->users == 0;
    }
    if (last) delete shared;
  };
  for (int i = 0; i < 300; ++i) {
    auto* shared = new Shared;
    std::jthread other([=] { use(shared); });
    use(shared);
  }
}

// -- What can be seen ----------------------------------------------------------------------------

TEST(Mutex, WaitsShowWhoHoldsItAndWhereTheWaiterStands) {
  name_this_thread("holder");
  Mutex mutex{{.name = "accounts"}};
  auto held = mutex.hold();
  std::jthread other([&] {
    name_this_thread("importer");
    auto mine = mutex.hold();
  });
  eventually([&] { return waiting(mutex) == 1; });

  const auto all = waits();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].thread, "importer");
  EXPECT_EQ(all[0].operation, "lock");
  EXPECT_EQ(all[0].kind, "Mutex");
  EXPECT_EQ(all[0].name, "accounts");
  EXPECT_EQ(all[0].held_by, "holder");
  EXPECT_THAT(all[0].where.file_name(), ::testing::EndsWith("mutex_test.cpp"));
  held.unlock();
}

TEST(Mutex, CountsAcquisitionsAndWaits) {
  Mutex mutex;
  mutex.lock();
  EXPECT_EQ(mutex.stats().size, 1u);
  auto other = acquire_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 1; });
  mutex.unlock();
  EXPECT_TRUE(other.get());

  const Stats stats = mutex.stats();
  EXPECT_EQ(stats.takes, 2u);
  EXPECT_EQ(stats.consumer_waits, 1u);
  EXPECT_GT(stats.consumers_blocked, 0ns);
  EXPECT_EQ(stats.size, 0u);
}

}  // namespace
}  // namespace handoff
