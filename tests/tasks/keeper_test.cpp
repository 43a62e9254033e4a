// The thread that keeps time, and is woken by others, here and in other processes.
#include "tasks/keeper.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "handoff/clock.hpp"
#include "handoff/event.hpp"
#include "support/sanitized.hpp"
#include "tasks/batcher.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

// What other processes do when they have committed: the keepers of the file hear of it.
class Bell {
 public:
  explicit Bell(const std::string& store)
      : file_(::open((store + "-processes").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {}
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  ~Bell() { ::close(file_); }
  void ring() const { EXPECT_EQ(::pwrite(file_, "", 1, 0), 1); }

 private:
  const int file_;
};

// Counts how often somebody looks what is due.
class LookedAtClock final : public TaskClock {
 public:
  Time now() const override { return TaskClock::real().now(); }
  Millis since_boot() const override {
    ++looks;
    return TaskClock::real().since_boot();
  }
  mutable std::atomic<int> looks = 0;
};

// However close the two come, it must not take the one for the other: who is told and does not hear it sleeps on, and what is due stays where it is.
TEST(Keeper, HearsWhatItIsToldWhileABellRings) {
  constexpr int times = is_sanitized ? 20'000 : 100'000;
  const Folder folder;
  const std::string file = folder.file("tasks.db");
  const Bell bell(file);
  const std::ofstream wal(file + "-wal");
  sqlite::SqliteStore store({});
  Batcher batcher(store, {.committed = [](const Changes&) {},
                          .is_wanted_afterwards = [] { return false; },
                          .afterwards = [] {}});
  const LookedAtClock clock;
  Keeper keeper(batcher, {.store = file,
                          .clock = &clock,
                          .is_changed_by_others = [] { return false; },
                          .changed_by_others = {},
                          .somebody_is_gone = {}});
  keeper.start();
  std::atomic<int> spins = 0;
  for (int i = 0; i < times; ++i) {
    bell.ring();
    for (int pause = i % 400 * 5; pause > 0; --pause) spins.fetch_add(1, std::memory_order_relaxed);
    const int before = clock.looks + 1;  // due_in() asks the time once itself.
    keeper.due_in(0ms);
    const Deadline end = within(30s);
    while (clock.looks == before && !end.has_passed()) std::this_thread::yield();
    ASSERT_NE(clock.looks, before) << "it sleeps on, after " << i << " times";
  }
}

// Hours of it may have piled up while nobody had the store open.
TEST(Keeper, LeavesWhatIsDueIfItIsToEnd) {
  constexpr int count = 50'000;
  ManualTaskClock clock;
  sqlite::SqliteStore store({.path = "", .clock = &clock});
  store.transact([&](Transaction& each) {
    const std::vector<NewTask> due(count, {.queue = "q", .kind = "k", .delay = 1min});
    ASSERT_TRUE(each.insert(due));
  });
  clock.advance(1h);
  Event began;
  Batcher batcher(store, {.committed = [&](const Changes&) { began.set(); },
                          .is_wanted_afterwards = [] { return false; },
                          .afterwards = [] {}});
  {
    Keeper keeper(batcher, {.store = "",
                            .clock = &clock,
                            .is_changed_by_others = {},
                            .changed_by_others = {},
                            .somebody_is_gone = {}});
    keeper.start();
    ASSERT_TRUE(began.wait());
  }
  std::int64_t left = 0;
  store.read([&](Transaction& each) { left = each.look("q").count(TaskState::scheduled); });
  EXPECT_GT(left, 0);
  EXPECT_LT(left, count);
}

}  // namespace
}  // namespace handoff::tests
