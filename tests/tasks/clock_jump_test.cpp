// The clock is set, back or forth, by hours. Leases do not notice; what is scheduled goes by the new time, and runs once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "handoff/testing/eventually.hpp"
#include "tasks/core.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::ContainsRegex;

class ClockJumps : public StoreTest {
 protected:
  static NewTask task(Millis delay = 0ms) {
    NewTask made{.queue = "q", .kind = "k"};
    if (delay > 0ms) made.delay = delay;
    return made;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, ClockJumps, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(ClockJumps, MoveNoLease) {
  const auto id = add(task()).id;
  const auto claimed = claim();
  for (const auto jump : {5h, -10h, 3h}) {
    clock.set(clock.now() + jump);
    keep_time();
    EXPECT_EQ(get(id).state, TaskState::running);
    EXPECT_TRUE(claim().empty());
  }
  clock.advance(29s);
  keep_time();
  EXPECT_EQ(get(id).state, TaskState::running);
  clock.advance(1s);
  keep_time();
  EXPECT_EQ(get(id).state, TaskState::ready);
  EXPECT_EQ(finish(claimed[0]), Recorded::stale);
}

TEST_P(ClockJumps, ForwardStartWhatIsScheduledOnce) {
  const auto id = add(task(1h)).id;
  const Time before = clock.now();
  clock.set(before + 2h);
  keep_time();
  const auto claimed = claim(10);
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(finish(claimed[0]), Recorded::yes);
  // Its time comes once more.
  clock.set(before);
  keep_time();
  clock.advance(3h);
  keep_time();
  EXPECT_TRUE(claim(10).empty());
  EXPECT_EQ(get(id).state, TaskState::done);
}

TEST_P(ClockJumps, BackPutOffWhatIsScheduled) {
  const auto id = add(task(1h)).id;
  clock.set(clock.now() - 3h);
  clock.advance(1h);
  keep_time();
  EXPECT_EQ(get(id).state, TaskState::scheduled);
  clock.advance(3h);
  keep_time();
  EXPECT_EQ(claim(10).size(), 1u);
}

TEST_P(ClockJumps, LeaveIdsUniqueAndInOrder) {
  std::vector<TaskId> ids;
  for (const auto jump : {0h, -5h, 1h, 9h, -20h}) {
    clock.set(clock.now() + jump);
    for (int i = 0; i < 100; ++i) ids.push_back(add(task()).id);
  }
  EXPECT_TRUE(std::ranges::is_sorted(ids));
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

TEST(ClockJumpsOfAKeeper, BackDoNotPutOffPruning) {
  ManualTaskClock clock;
  const Tasks tasks = tasks::open("memory:", {.clock = &clock}).value();
  QueueSettings settings;
  settings.keep_count = 1;
  ASSERT_TRUE(tasks.configure("q", settings));
  const auto add_and_end = [&] {
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(tasks.cancel(tasks.enqueue({.queue = "q", .kind = "k"}).value().id));
    }
  };
  Keeper& keeper = TasksAccess::core(tasks).keeper();
  add_and_end();
  clock.advance(2min);
  keeper.work_now();
  EXPECT_EQ(tasks.queue("q").count(TaskState::cancelled), 1);
  clock.set(clock.now() - 5h);
  add_and_end();
  clock.advance(2min);
  keeper.work_now();
  EXPECT_EQ(tasks.queue("q").count(TaskState::cancelled), 1);
}

// What the kernel knows of the timers of this process.
std::string timers() {
  std::string all;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream file(each.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.find("clockid:") != std::string::npos) all += text;
  }
  return all;
}

// A test cannot set the machine's clock. That the kernel is asked to wake the keeper if somebody does can be seen.
TEST(ClockJumpsOfAKeeper, WakeIt) {
  const Tasks tasks = tasks::open("memory:").value();
  NewTask later{.queue = "q", .kind = "k"};
  later.delay = 1h;
  ASSERT_TRUE(tasks.enqueue(later));
  // 03: at a time of day (1), and cancelled when that is set (2). Nearly an hour is left of it.
  testing::eventually([] { return timers().find("it_value: (35") != std::string::npos; });
  EXPECT_THAT(timers(), ContainsRegex("clockid: 0\nticks: 0\nsettime flags: 03\nit_value: .35"));
}

}  // namespace
}  // namespace handoff::tests
