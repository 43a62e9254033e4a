// A burst costs what was there before it: a job is 64 bytes in a ring, and nothing else.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/counted_new.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;

TEST(PoolMemory, SmallJobsAllocateNothing) {
  std::atomic<std::uint64_t> sum = 0;
  WorkerPool pool{{.workers = 2, .capacity = 1000}};
  const std::array<std::uint64_t, 5> captured{1, 2, 3, 4, 5};  // With the reference, 48 bytes.
  std::uint64_t posted = 0;
  const auto post_many = [&](unsigned count) {
    posted += count;
    for (unsigned i = 0; i < count; ++i) {
      EXPECT_TRUE(pool.post([captured, &sum] { sum += captured[4]; }));
    }
    testing::eventually([&] { return pool.stats().finished == posted; });
  };
  post_many(10'000);  // The threads have names and numbers by now.
  const auto before = tests::allocations_of_all.load();
  post_many(100'000);
  EXPECT_EQ(tests::allocations_of_all, before);
  EXPECT_EQ(sum, 550'000u);
}

TEST(PoolMemory, JobsOfJobsAllocateNothingEither) {
  std::atomic<int> ran = 0;
  std::atomic<long> during = -1;
  WorkerPool pool{{.workers = 2, .capacity = 10}};
  const auto post_many = [&] {
    const auto before = tests::allocations_of_all.load();
    for (int i = 0; i < 10'000; ++i) EXPECT_TRUE(pool.post([&] { ++ran; }));
    during = tests::allocations_of_all - before;
  };
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(pool.post([&] { post_many(); }));
    testing::eventually([&] { return pool.stats().idle == 2 && ran == (round + 1) * 10'000; });
  }
  EXPECT_EQ(during, 0);
}

TEST(PoolMemory, AFutureAllocatesOnce) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  ASSERT_TRUE(pool.submit([] {})->get());
  testing::eventually([&] { return pool.stats().idle == 1; });
  const int before = tests::allocations;
  auto future = pool.submit([large = std::array<char, 500>()] { return large[0]; });
  EXPECT_EQ(tests::allocations, before + 1);
  testing::eventually([&] { return future->is_ready(); });
}

TEST(PoolMemory, AQueuedJobTakes64Bytes) {
  const auto bytes_of_pool = [](std::size_t capacity) {
    const auto before = tests::allocated_bytes.load();
    WorkerPool pool{{.workers = 1, .capacity = capacity}};
    testing::eventually([&] { return pool.stats().idle == 1; });
    return static_cast<double>(tests::allocated_bytes - before);
  };
  bytes_of_pool(1);  // The first in a process also makes what all share.
  // A thread's name and the like may be allocated before or after the look.
  EXPECT_NEAR(bytes_of_pool(200'000) - bytes_of_pool(100'000), 100'000 * 64, 1'000);
}

std::uint64_t resident_pages() {
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident;
}

// 100,000 jobs at once for workers that do none of them meanwhile: those that fit are kept, the others refused.
TEST(PoolMemory, StaysFlatInABurst) {
  Event open;
  std::atomic<int> ran = 0;
  WorkerPool pool{{.workers = 8, .capacity = 1000, .when_full = WhenFull::reject}};
  const auto work = [&] {
    (void)open.wait();
    ++ran;
  };
  int accepted = 0;
  for (int i = 0; i < 10'000; ++i) accepted += pool.post(work).has_value();  // Touches the ring.
  testing::eventually([&] { return open.stats().waiting_consumers == 8; });  // All at work.
  for (int i = 0; i < 1'000; ++i) accepted += pool.post(work).has_value();

  const auto resident = resident_pages();
  const auto before = tests::allocations_of_all.load();
  int refused = 0;
  for (int i = 0; i < 100'000; ++i) ++(pool.post(work) ? accepted : refused);
  EXPECT_EQ(tests::allocations_of_all, before);
  EXPECT_LE(resident_pages(), resident + 256);  // One MiB, for what else may happen in a process.
  EXPECT_GE(refused, 98'000);
  EXPECT_LE(pool.stats().high_water, 1000u);

  open.set();
  EXPECT_TRUE(pool.shutdown(finish_within(30s)).is_complete());
  EXPECT_EQ(ran, accepted);
}

}  // namespace
}  // namespace handoff
