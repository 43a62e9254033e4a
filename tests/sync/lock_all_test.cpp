#include "handoff/lock_all.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;

// Whether another thread could lock it for writing now.
bool is_free(auto& lock) {
  return std::async(std::launch::async,
                    [&] {
                      if (!lock.try_lock()) return false;
                      lock.unlock();
                      return true;
                    })
      .get();
}

TEST(LockAll, HoldsAllUntilTheGuardsGo) {
  Mutex a;
  SharedMutex b;
  {
    auto held = lock_all(a, b);
    EXPECT_FALSE(is_free(a));
    EXPECT_FALSE(is_free(b));
  }
  EXPECT_TRUE(is_free(a));
  EXPECT_TRUE(is_free(b));
}

TEST(LockAll, MixesLocksMonitorsAndReaders) {
  Mutex mutex;
  SharedMutex written;
  SharedMutex read;
  Monitor<int> count;
  auto [a, b, c, d] = lock_all(mutex, written, shared(read), count);
  *d = 7;
  EXPECT_FALSE(is_free(mutex));
  EXPECT_FALSE(is_free(written));
  EXPECT_TRUE(read.try_lock_shared());
  read.unlock_shared();
  EXPECT_FALSE(is_free(read));
}

TEST(LockAll, ARefusalLeavesNothingLocked) {
  ManualClock clock;
  Mutex a;
  Mutex b;
  auto taken = b.hold();
  auto refused = std::async(std::launch::async,
                            [&] { return lock_all(a, b, {.deadline = within(1s)}).error(); });
  eventually([&] { return clock.waiting() == 1; });
  EXPECT_TRUE(is_free(a)) << "it holds nothing while it waits";
  clock.advance(1s);
  EXPECT_EQ(refused.get(), Refusal::timed_out);
  EXPECT_TRUE(is_free(a));
}

TEST(LockAll, AStopEndsTheWait) {
  Mutex a;
  Mutex b;
  std::stop_source stop;
  auto taken = a.hold();
  auto refused = std::async(std::launch::async,
                            [&] { return lock_all(a, b, {.stop = stop.get_token()}).error(); });
  eventually([&] { return a.stats().waiting_consumers == 1; });
  stop.request_stop();
  EXPECT_EQ(refused.get(), Refusal::stopped);
  EXPECT_TRUE(is_free(b));
}

TEST(LockAll, TheSameLockTwiceIsRefused) {
  SharedMutex a;
  EXPECT_THROW((void)lock_all(a, a), std::invalid_argument);
  EXPECT_THROW((void)lock_all(a, shared(a)), std::invalid_argument);
  EXPECT_TRUE(is_free(a));
}

TEST(LockAll, TransfersInAllDirectionsNeitherDeadlockNorLoseMoney) {
  struct Account {
    long cents = 1000;
  };
  std::vector<Monitor<Account>> accounts(4);
  constexpr int threads = 4;
  constexpr int transfers = 5000;
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        std::minstd_rand random(static_cast<unsigned>(t) + 1);
        for (int i = 0; i < transfers; ++i) {
          const auto from = random() % accounts.size();
          const auto to = (from + 1 + random() % (accounts.size() - 1)) % accounts.size();
          if (i % 8 == 0) {  // One by one in an order of its own, as other code may do.
            auto a = accounts[std::min(from, to)].lock();
            auto b = accounts[std::max(from, to)].lock();
            std::swap(a->cents, b->cents);
            continue;
          }
          auto [a, b] = lock_all(accounts[from], accounts[to]);
          a->cents -= 1;
          if (i % 64 == 0) std::this_thread::yield();
          b->cents += 1;
        }
      });
    }
  }
  long sum = 0;
  for (auto& account : accounts) sum += account.lock()->cents;
  EXPECT_EQ(sum, 4000);
}

}  // namespace
}  // namespace handoff
