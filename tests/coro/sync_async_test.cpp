// Races around locks and the like: stops and deadlines against grants, coroutines against threads.
#include "handoff/sync.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

#include "coro/sync_calls.hpp"
#include "handoff/detail/core/spin.hpp"
#include "handoff/pool.hpp"
#include "handoff/rate_limiter.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff {
namespace {

using namespace handoff::tests;
using handoff::testing::eventually;

// Counts who is inside, and complains if that are too many.
class Room {
 public:
  explicit Room(std::size_t size) : size_(size) {}
  void enter(std::size_t n = 1) {
    if (inside_.fetch_add(n) + n > size_) ADD_FAILURE() << "more inside than there is room for";
    entered_ += n;
  }
  void leave(std::size_t n = 1) { inside_.fetch_sub(n); }
  std::size_t inside() const { return inside_; }
  std::size_t entered() const { return entered_; }

 private:
  const std::size_t size_;
  std::atomic<std::size_t> inside_{0};
  std::atomic<std::size_t> entered_{0};
};

// Many coroutines on two threads, each stopped or out of time at about the moment at which it gets what it waits for.
class Races {
 public:
  // Each round takes all there is with `block`, calls `begin` for the coroutines, and then `grant`, while the stops are requested
  // from another thread.
  void run(int rounds, const std::function<void()>& block,
           const std::function<Lazy<Result>(int round, std::size_t i)>& begin,
           const std::function<void()>& grant) {
    for (int round = 0; round < rounds; ++round) {
      block();
      std::vector<std::stop_source> stops(coroutines);
      std::vector<std::unique_ptr<Call>> calls;
      for (std::size_t i = 0; i < coroutines; ++i) {
        calls.push_back(std::make_unique<Call>(executor_, begin(round, i), stops[i].get_token()));
      }
      std::atomic<bool> go{false};
      std::jthread stopper([&] {
        while (!go) detail::cpu_relax();
        for (std::size_t i = 0; i < coroutines; i += 2) {
          stops[(i + static_cast<std::size_t>(round)) % coroutines].request_stop();
        }
      });
      go = true;
      grant();
      stopper.join();
      for (auto& call : calls) {
        eventually([&] { return call->is_done(); });
        ++(call->result() ? acquired : refused);
      }
    }
  }

  static constexpr std::size_t coroutines = 6;
  std::size_t acquired = 0;
  std::size_t refused = 0;

 private:
  ManualExecutor executor_;
  std::vector<std::jthread> threads_ = [this] {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 2; ++i) {
      threads.emplace_back([this](const std::stop_token& stop) { executor_.run_until(stop); });
    }
    return threads;
  }();
};

Deadline some_deadline(int round, std::size_t i) {
  return i % 3 == 0 ? within(std::chrono::microseconds(round % 60)) : Deadline{};
}

Lazy<Result> use(Semaphore& semaphore, std::size_t n, Deadline deadline, Room& room) {
  auto permits = co_await semaphore.async_hold(n, deadline);
  if (!permits) co_return std::unexpected(permits.error());
  room.enter(n);
  room.leave(n);
  co_return Result{};
}

template <typename Lock>
Lazy<Result> use(Lock& mutex, Deadline deadline, Room& room) {
  auto held = co_await mutex.async_lock(deadline);
  if (!held) co_return std::unexpected(held.error());
  room.enter();
  room.leave();
  co_return Result{};
}

Lazy<Result> read(SharedMutex& mutex, Deadline deadline, Room& writers) {
  auto held = co_await mutex.async_lock_shared(deadline);
  if (!held) co_return std::unexpected(held.error());
  EXPECT_EQ(writers.inside(), 0u);
  co_return Result{};
}

TEST(AsyncRaces, NoPermitIsLostOrInventedWhenStopsMeetGrants) {
  constexpr std::size_t permits = 3;
  Semaphore semaphore{{.permits = permits}};
  Room room(permits);
  Races races;
  races.run(
      400, [&] { ASSERT_TRUE(semaphore.acquire(permits)); },
      [&](int round, std::size_t i) {
        return use(semaphore, 1 + i % permits, some_deadline(round, i), room);
      },
      [&] {
        for (std::size_t i = 0; i < permits; ++i) semaphore.release();
      });
  EXPECT_GT(races.acquired, 0u);
  EXPECT_GT(races.refused, 0u);
  EXPECT_EQ(semaphore.available(), permits);
  EXPECT_EQ(waiting(semaphore), 0u);
  const Stats stats = semaphore.stats();
  EXPECT_EQ(stats.puts, stats.takes);
}

TEST(AsyncRaces, TheLockIsNeverLostNorHeldTwiceWhenStopsMeetHandOvers) {
  Mutex mutex;
  Room room(1);
  Races races;
  races.run(
      400, [&] { mutex.lock(); },
      [&](int round, std::size_t i) { return use(mutex, some_deadline(round, i), room); },
      [&] {
        for (int i = 0; i < 4; ++i) {  // Overtakes some of them, so that they get up in vain.
          mutex.unlock();
          mutex.lock();
          room.enter();
          room.leave();
        }
        mutex.unlock();
      });
  EXPECT_GT(races.acquired, 0u);
  EXPECT_GT(races.refused, 0u);
  EXPECT_EQ(waiting(mutex), 0u);
  EXPECT_EQ(mutex.holder(), detail::no_thread);
}

TEST(AsyncRaces, ReadersAndWritersAreNeverLostWhenStopsMeetTurns) {
  SharedMutex mutex;
  Room writers(1);
  Races races;
  races.run(
      400, [&] { mutex.lock(); },
      [&](int round, std::size_t i) {
        const Deadline deadline = some_deadline(round, i);
        return i % 2 == 0 ? use(mutex, deadline, writers) : read(mutex, deadline, writers);
      },
      [&] {
        mutex.unlock();
        mutex.lock_shared();
        EXPECT_EQ(writers.inside(), 0u);
        mutex.unlock_shared();
      });
  EXPECT_GT(races.acquired, 0u);
  EXPECT_GT(races.refused, 0u);
  EXPECT_EQ(waiting(mutex), 0u);
  EXPECT_EQ(mutex.stats().size, 0u);
}

TEST(AsyncRaces, EachPermitOfARateLimiterIsGivenOutOnce) {
  constexpr double rate = 100'000;
  constexpr std::size_t burst = 4;
  const auto begin = now();
  RateLimiter limiter{{.rate = per_second(rate), .burst = burst}};
  Races races;
  std::size_t by_this_thread = 0;
  races.run(
      300,
      [&] {
        ASSERT_TRUE(limiter.acquire(burst));
        by_this_thread += burst;
      },
      [&](int round, std::size_t i) { return acquire(limiter, 1, some_deadline(round, i)); },
      [&] {
        ASSERT_TRUE(limiter.acquire(2));
        by_this_thread += 2;
      });
  const double elapsed = std::chrono::duration<double>(now() - begin).count();
  EXPECT_EQ(limiter.stats().takes, races.acquired + by_this_thread);
  EXPECT_LE(static_cast<double>(limiter.stats().takes),
            static_cast<double>(burst) + rate * elapsed + 1);
  EXPECT_EQ(waiting(limiter), 0u);
}

// -- On a pool, against threads ---------------------------------------------------------------------

Lazy<> use_many_times(Mutex& mutex, SharedMutex& shared, Semaphore& semaphore, Room& one,
                      Room& writers, Room& some, int& unguarded, int times) {
  for (int i = 0; i < times; ++i) {
    {
      auto held = co_await mutex.async_lock();
      one.enter();
      ++unguarded;
      one.leave();
    }
    {
      auto writing = co_await shared.async_lock();
      writers.enter();
      // Held across a wait, and perhaps given back on another thread.
      auto permit = co_await semaphore.async_hold();
      some.enter();
      some.leave();
      writers.leave();
    }
    auto reading = co_await shared.async_lock_shared();
    EXPECT_EQ(writers.inside(), 0u);
  }
}

TEST(AsyncRaces, ThreadsAndCoroutinesContendForTheSameLocks) {
  constexpr int times = 3000;
  constexpr int each = 4;
  Mutex mutex;
  SharedMutex shared;
  Semaphore semaphore{{.permits = 2}};
  Room one(1);
  Room writers(1);
  Room some(2);
  int unguarded = 0;
  {
    WorkerPool pool{{.workers = 2, .capacity = 16}};
    std::vector<Future<void>> futures;
    for (int i = 0; i < each; ++i) {
      auto future = spawn(
          pool, use_many_times(mutex, shared, semaphore, one, writers, some, unguarded, times));
      ASSERT_TRUE(future);
      futures.push_back(std::move(*future));
    }
    std::vector<std::jthread> threads;
    for (int t = 0; t < each; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < times; ++i) {
          {
            auto held = mutex.hold();
            one.enter();
            ++unguarded;
            one.leave();
          }
          {
            auto writing = shared.hold();
            writers.enter();
            writers.leave();
          }
          {
            auto permit = semaphore.hold();
            some.enter();
            some.leave();
          }
          auto reading = shared.hold_shared();
          EXPECT_EQ(writers.inside(), 0u);
        }
      });
    }
    for (auto& future : futures) EXPECT_TRUE(future.get());
  }
  EXPECT_EQ(unguarded, 2 * each * times);
  EXPECT_EQ(one.entered(), static_cast<std::size_t>(2 * each * times));
  EXPECT_EQ(mutex.stats().takes, static_cast<std::uint64_t>(2 * each * times));
  EXPECT_EQ(semaphore.available(), 2u);
  EXPECT_EQ(shared.stats().size, 0u);
}

}  // namespace
}  // namespace handoff
