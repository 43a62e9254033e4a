// Waiting must not allocate: a process that is out of memory must still be able to shut down.
#include <gtest/gtest.h>

#include <new>
#include <thread>

#include "handoff/queue.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/counted_new.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using tests::allocations;

TEST(Allocation, TheCounterCounts) {
  const int before = allocations;
  ::operator delete(::operator new(1));  // Called by name: a new expression may be optimised away.
  EXPECT_EQ(allocations, before + 1);
}

TEST(Allocation, AWaitWithDeadlineAndStopAllocatesNothing) {
  BlockingQueue<int> queue{{.capacity = 1, .name = "no allocation"}};
  std::stop_source stop;
  int during_waits = -1;
  std::jthread taker([&] {
    const Wait wait{.deadline = within(1h), .stop = stop.get_token()};
    EXPECT_EQ(queue.take(wait), 1);  // The thread's first wait gives it a number and a name.
    const int before = allocations;
    EXPECT_EQ(queue.take(wait), 2);
    EXPECT_EQ(queue.take(wait), std::unexpected(Refusal::stopped));
    during_waits = allocations - before;
  });
  const auto wait_for_taker = [&](std::uint64_t waits) {
    testing::eventually([&] {
      const auto stats = queue.stats();
      return stats.consumer_waits == waits && stats.waiting_consumers == 1;
    });
  };
  wait_for_taker(1);
  ASSERT_TRUE(queue.put(1));
  wait_for_taker(2);
  ASSERT_TRUE(queue.put(2));
  wait_for_taker(3);
  stop.request_stop();
  taker.join();
  EXPECT_EQ(during_waits, 0);
}

}  // namespace
}  // namespace handoff
