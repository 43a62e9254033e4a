#include "handoff/shared_mutex.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <expected>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <system_error>
#include <thread>
#include <vector>

#include "handoff/detail/core/spin.hpp"
#include "handoff/mutex.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/testing/manual_clock.hpp"
#include "handoff/waits.hpp"
#include "now_hook.hpp"

namespace handoff {
namespace {

using namespace std::chrono_literals;
using handoff::testing::eventually;
using handoff::testing::ManualClock;
using ::testing::Le;

using Result = std::expected<void, Refusal>;

std::size_t waiting(const SharedMutex& mutex) { return mutex.stats().waiting_consumers; }
std::size_t inside(const SharedMutex& mutex) { return mutex.stats().size; }

Result read_once(SharedMutex& mutex, Wait wait = {}) {
  auto held = mutex.acquire_shared(wait);
  if (!held) return std::unexpected(held.error());
  return {};
}
Result write_once(SharedMutex& mutex, Wait wait = {}) {
  auto held = mutex.acquire(wait);
  if (!held) return std::unexpected(held.error());
  return {};
}
std::future<Result> read_elsewhere(SharedMutex& mutex, Wait wait = {}) {
  return std::async(std::launch::async, [&mutex, wait] { return read_once(mutex, wait); });
}
std::future<Result> write_elsewhere(SharedMutex& mutex, Wait wait = {}) {
  return std::async(std::launch::async, [&mutex, wait] { return write_once(mutex, wait); });
}

bool try_elsewhere(SharedMutex& mutex) {
  return std::async(std::launch::async, [&] { return mutex.try_lock(); }).get();
}
bool try_shared_elsewhere(SharedMutex& mutex) {
  return std::async(std::launch::async,
                    [&] {
                      if (!mutex.try_lock_shared()) return false;
                      mutex.unlock_shared();
                      return true;
                    })
      .get();
}

TEST(SharedMutex, ReadersShareItAndKeepWritersOut) {
  SharedMutex mutex;
  auto reading = mutex.hold_shared();
  EXPECT_TRUE(try_shared_elsewhere(mutex));
  EXPECT_FALSE(try_elsewhere(mutex));
  EXPECT_EQ(inside(mutex), 1u);
}

TEST(SharedMutex, AWriterKeepsEverybodyOut) {
  SharedMutex mutex;
  auto writing = mutex.hold();
  EXPECT_FALSE(try_shared_elsewhere(mutex));
  EXPECT_FALSE(try_elsewhere(mutex));
}

TEST(SharedMutex, WorksWithTheGuardsOfTheStandardLibrary) {
  SharedMutex mutex;
  {
    std::scoped_lock guard(mutex);
  }
  {
    std::shared_lock guard(mutex);
  }
  {
    std::shared_lock guard(mutex, 1s);
  }
  std::unique_lock guard(mutex, 1s);
  EXPECT_TRUE(guard.owns_lock());
}

TEST(SharedMutex, AWaitingWriterGetsInWhenTheLastReaderLeaves) {
  SharedMutex mutex;
  mutex.lock_shared();
  std::jthread([&] { mutex.lock_shared(); }).join();  // A second reader.
  auto writer = write_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 1; });
  mutex.unlock_shared();
  EXPECT_EQ(waiting(mutex), 1u);
  mutex.unlock_shared();
  EXPECT_TRUE(writer.get());
}

TEST(SharedMutex, WaitingReadersGetInTogetherWhenTheWriterLeaves) {
  SharedMutex mutex;
  auto writing = mutex.hold();
  std::atomic<int> reading{0};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      auto held = mutex.hold_shared();
      ++reading;
      eventually([&] { return reading == 3; });  // Only together do they come this far.
    });
  }
  eventually([&] { return waiting(mutex) == 3; });
  writing.unlock();
  readers.clear();
  EXPECT_EQ(reading, 3);
}

TEST(SharedMutex, LockingForWritingTwiceThrowsInsteadOfHanging) {
  SharedMutex mutex;
  auto writing = mutex.hold();
  EXPECT_THROW(mutex.lock(), std::system_error);
  EXPECT_THROW(mutex.lock_shared(), std::system_error);
}

// -- Fairness --------------------------------------------------------------------------------------

TEST(SharedMutex, ReadersThatComeLaterLineUpBehindAWaitingWriter) {
  SharedMutex mutex;
  auto reading = mutex.hold_shared();
  auto writer = write_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 1; });
  EXPECT_FALSE(try_shared_elsewhere(mutex));
  auto later = read_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 2; });
  reading.unlock();
  EXPECT_TRUE(writer.get());
  EXPECT_TRUE(later.get());
}

TEST(SharedMutex, AWriterDoesNotStarveAmongReadersThatOverlapForEver) {
  SharedMutex mutex;
  std::atomic<bool> written{false};
  std::vector<std::jthread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        auto held = mutex.hold_shared();
        std::this_thread::yield();
      }
    });
  }
  eventually([&] { return inside(mutex) > 0; });
  std::jthread writer([&] {
    for (int i = 0; i < 100; ++i) auto held = mutex.hold();
    written = true;
  });
  eventually([&] { return written.load(); });
}

// Two readers hold it by turns, so that it is never free of readers unless the rule stops them.
TEST(SharedMutex, AReaderDoesNotStarveAmongWritersThatNeverPause) {
  SharedMutex mutex;
  std::atomic<bool> read{false};
  std::vector<std::jthread> writers;
  for (int i = 0; i < 3; ++i) {
    writers.emplace_back([&](std::stop_token stop) {
      while (!stop.stop_requested()) {
        auto held = mutex.hold();
        std::this_thread::yield();
      }
    });
  }
  eventually([&] { return mutex.stats().takes > 0; });
  std::jthread reader([&] {
    for (int i = 0; i < 100; ++i) auto held = mutex.hold_shared();
    read = true;
  });
  eventually([&] { return read.load(); });
}

TEST(SharedMutex, AWaitingReaderIsLetInByTheNextWriterThatUnlocks) {
  SharedMutex mutex;
  auto first_writer = mutex.hold();
  std::atomic<bool> is_done{false};
  std::jthread second_writer([&] {
    auto held = mutex.hold();
    EXPECT_TRUE(is_done) << "the reader came later, but goes first";
  });
  eventually([&] { return waiting(mutex) == 1; });
  std::jthread reader([&] {
    auto held = mutex.hold_shared();
    is_done = true;
  });
  eventually([&] { return waiting(mutex) == 2; });
  first_writer.unlock();
}

TEST(SharedMutex, AWaitingWriterIsOvertakenByWritersOnlyWithinTheBounds) {
  ManualClock clock;  // Time never helps it.
  for (int round = 0; round < 20; ++round) {
    SharedMutex mutex;
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
    EXPECT_THAT(overtakings, Le(Mutex::max_overtakings));
  }
}

// -- Ends of a wait --------------------------------------------------------------------------------

TEST(SharedMutex, WaitsOfBothKindsTimeOut) {
  ManualClock clock;
  SharedMutex mutex;
  auto writing = mutex.hold();
  auto reader = read_elsewhere(mutex, {.deadline = within(1s)});
  auto writer = write_elsewhere(mutex, {.deadline = within(1s)});
  eventually([&] { return clock.waiting() == 2; });
  clock.advance(1s);
  EXPECT_EQ(reader.get(), Result(std::unexpected(Refusal::timed_out)));
  EXPECT_EQ(writer.get(), Result(std::unexpected(Refusal::timed_out)));
  EXPECT_EQ(mutex.stats().refused, 2u);
}

TEST(SharedMutex, TheTimedTriesOfTheStandardGiveUp) {
  SharedMutex mutex;
  auto writing = mutex.hold();
  EXPECT_FALSE(std::async(std::launch::async, [&] { return mutex.try_lock_for(1ms); }).get());
  EXPECT_FALSE(
      std::async(std::launch::async, [&] { return mutex.try_lock_until(now() + 1ms); }).get());
  EXPECT_FALSE(
      std::async(std::launch::async, [&] { return mutex.try_lock_shared_for(1ms); }).get());
  EXPECT_FALSE(std::async(std::launch::async, [&] {
                 return mutex.try_lock_shared_until(now() + 1ms);
               }).get());
}

TEST(SharedMutex, WaitsOfBothKindsCanBeStopped) {
  SharedMutex mutex;
  std::stop_source stop;
  auto writing = mutex.hold();
  auto reader = read_elsewhere(mutex, {.stop = stop.get_token()});
  auto writer = write_elsewhere(mutex, {.stop = stop.get_token()});
  eventually([&] { return waiting(mutex) == 2; });
  stop.request_stop();
  EXPECT_EQ(reader.get(), Result(std::unexpected(Refusal::stopped)));
  EXPECT_EQ(writer.get(), Result(std::unexpected(Refusal::stopped)));
  EXPECT_EQ(read_once(mutex, {.stop = stop.get_token()}),
            Result(std::unexpected(Refusal::stopped)));
}

TEST(SharedMutex, AWriterThatGivesUpLetsInTheReadersBehindIt) {
  SharedMutex mutex;
  std::stop_source stop;
  auto reading = mutex.hold_shared();
  auto writer = write_elsewhere(mutex, {.stop = stop.get_token()});
  eventually([&] { return waiting(mutex) == 1; });
  auto reader = read_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 2; });

  stop.request_stop();
  EXPECT_FALSE(writer.get());
  EXPECT_TRUE(reader.get()) << "while the first reader is still inside";
}

TEST(SharedMutex, AStopInTheMiddleOfAnUnlockPassesTheTurnToTheNext) {
  for (const bool reader_waits : {false, true}) {
    NowHook clock;
    SharedMutex mutex;
    std::stop_source stop;
    mutex.lock_shared();
    auto stopped = write_elsewhere(mutex, {.stop = stop.get_token()});
    eventually([&] { return waiting(mutex) == 1; });
    auto patient = reader_waits ? read_elsewhere(mutex) : write_elsewhere(mutex);
    eventually([&] { return waiting(mutex) == 2; });
    clock.run_at_next_look([&] { stop.request_stop(); });
    mutex.unlock_shared();  // Has chosen the first writer when the stop comes.
    // Not always refused: it may have been about to park, and seen its turn first.
    (void)stopped.get();
    EXPECT_TRUE(patient.get());
  }
}

TEST(SharedMutex, AStopInTheMiddleOfAHandOverDoesNotLoseTheLock) {
  NowHook clock;
  int hand_overs = 0;
  for (int round = 0; round < 100; ++round) {
    SharedMutex mutex;
    std::stop_source stop;
    mutex.lock();
    auto waiter = write_elsewhere(mutex, {.stop = stop.get_token()});
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

// -- Never a writer with company -----------------------------------------------------------------

TEST(SharedMutex, NeverLetsAWriterInWithOthersAndLosesNobody) {
  SharedMutex mutex;
  constexpr int threads = 6;
  constexpr int rounds = 3000;
  std::array<long, 2> pair{};  // Equal, unless a reader meets a writer.
  std::atomic<long> done{0};
  {
    std::vector<std::jthread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < rounds; ++i, ++done) {
          const bool limited = (i + t) % 3 == 0;
          const Wait wait{.deadline =
                              limited ? within(std::chrono::microseconds(i % 50)) : Deadline{}};
          if ((i + t) % 4 == 0) {
            auto held = mutex.acquire(wait);
            if (!held) continue;
            ++pair[0];
            if (i % 16 == 0) std::this_thread::yield();
            ++pair[1];
          } else {
            auto held = mutex.acquire_shared(wait);
            if (!held) continue;
            if (pair[0] != pair[1]) ADD_FAILURE() << "a reader met a writer";
            if (i % 16 == 1) std::this_thread::yield();
          }
        }
      });
    }
  }
  EXPECT_EQ(done, long{threads} * rounds);
  EXPECT_EQ(mutex.stats().size, 0u);
  EXPECT_EQ(mutex.stats().waiting_consumers, 0u);
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

TEST(SharedMutex, MayBeDestroyedByTheThreadThatUnlockedItLast) {
  struct Shared {
    SharedMutex mutex;
    std::atomic<int> users{3};
  };
  const auto use = [](Shared* shared, bool write) {
    bool last = false;
    if (write) {
      std::unique_lock held(shared->mutex);
      last = --shared->users == 0;
    } else {
      // A reader must not decide alone: others may be inside with it. So it counts as a writer, after it has read.
      {
        std::shared_lock held(shared->mutex);
      }
      std::unique_lock held(shared->mutex);
      last = --shared->users == 0;
    }
    if (last) delete shared;
  };
  for (int i = 0; i < 300; ++i) {
    auto* shared = new Shared;
    std::jthread reader([=] { use(shared, false); });
    std::jthread writer([=] { use(shared, true); });
    use(shared, true);
  }
}

TEST(SharedMutex, WaitsTellReadersFromWriters) {
  name_this_thread("holder");
  SharedMutex mutex{{.name = "prices"}};
  auto writing = mutex.hold();
  auto reader = read_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 1; });
  auto writer = write_elsewhere(mutex);
  eventually([&] { return waiting(mutex) == 2; });
  const auto all = waits();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].operation, "lock_shared");
  EXPECT_EQ(all[1].operation, "lock");
  EXPECT_EQ(all[1].name, "prices");
  EXPECT_EQ(all[1].held_by, "holder");
  writing.unlock();
}

}  // namespace
}  // namespace handoff
