// Watching what happens to tasks: in order, bounded, and never in the way.
#include "handoff/tasks/watch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <thread>

#include "handoff/sync_wait.hpp"
#include "handoff/tasks/testing.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

class Watching : public ::testing::Test {
 protected:
  TaskId add(const std::string& queue = "q") {
    return tasks.enqueue({.queue = queue, .kind = "k"}).value().id;
  }
  static std::vector<TaskState> states(Watch& watch) {
    std::vector<TaskState> seen;
    while (const auto event = watch.poll()) seen.push_back(event->state);
    return seen;
  }

  ManualTaskClock clock;
  const Tasks tasks = handoff::testing::open_tasks(clock);
};

TEST_F(Watching, ShowsEachStateOfATaskInItsOrder) {
  auto watch = tasks.watch();
  const auto id = add();
  const auto first = watch.poll();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->id, id);
  EXPECT_EQ(first->queue, "q");
  EXPECT_EQ(first->state, TaskState::ready);
  EXPECT_EQ(first->at, clock.now());
  EXPECT_EQ(first->missed, 0u);
  handoff::testing::run_inline(tasks, {"q"}, [](Worker& worker) {
    worker.handle("k", [](const Json&, Context&) -> Finish { return Defer{1min}; });
  });
  clock.advance(1min);
  ASSERT_TRUE(tasks.cancel(id));
  EXPECT_THAT(states(watch), ::testing::ElementsAre(TaskState::running, TaskState::scheduled,
                                                    TaskState::ready, TaskState::cancelled));
  EXPECT_EQ(watch.poll().error(), Refusal::empty);
  EXPECT_EQ(watch.poll(1ms).error(), Refusal::timed_out);
}

TEST_F(Watching, ShowsOneQueueOrAll) {
  auto all = tasks.watch();
  auto one = tasks.watch({.queue = "b"});
  const std::vector<NewTask> batch{{.queue = "a", .kind = "k"},
                                   {.queue = "b", .kind = "k"},
                                   {.queue = "a", .kind = "k"},
                                   {.queue = "a-name-that-is-longer-than-most", .kind = "k"}};
  const auto ids = tasks.enqueue(batch).value();
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const auto event = all.poll();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->id, ids[i].id);
    EXPECT_EQ(event->queue, batch[i].queue);
  }
  EXPECT_EQ(one.poll()->id, ids[1].id);
  EXPECT_FALSE(one.poll());
}

TEST_F(Watching, ShowsNothingFromBefore) {
  add();
  auto watch = tasks.watch();
  EXPECT_FALSE(watch.poll());
}

TEST_F(Watching, LosesTheOldestAndSaysHowMany) {
  auto watch = tasks.watch({.capacity = 3});
  std::vector<TaskId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(add());
  EXPECT_EQ(watch.missed(), 2u);
  auto event = watch.poll();
  EXPECT_EQ(event->id, ids[2]);
  EXPECT_EQ(event->missed, 2u);
  event = watch.poll();
  EXPECT_EQ(event->id, ids[3]);
  EXPECT_EQ(event->missed, 0u);
  for (int i = 5; i < 8; ++i) ids.push_back(add());
  event = watch.poll();
  EXPECT_EQ(event->id, ids[5]);
  EXPECT_EQ(event->missed, 1u);
  EXPECT_EQ(watch.missed(), 3u);
}

// However slow the reader is, what it has seen and what it has missed is all there was.
TEST_F(Watching, CountsAllWhileReaderAndCommitsRace) {
  constexpr std::uint64_t all = 3000;
  auto watch = tasks.watch({.capacity = 2});
  std::uint64_t seen = 0;
  std::uint64_t missed = 0;
  std::jthread producer([&] {
    for (std::uint64_t i = 0; i < all; ++i) add();
  });
  while (seen + missed < all) {
    const auto event = watch.take({.deadline = within(1min), .stop = {}});
    ASSERT_TRUE(event);
    ++seen;
    missed += event->missed;
  }
  EXPECT_EQ(seen + missed, all);
  EXPECT_EQ(watch.missed(), missed);
}

TEST_F(Watching, WaitsForWhatComes) {
  auto watch = tasks.watch();
  {
    std::jthread adds([&] { add(); });
    EXPECT_EQ(watch.take({.deadline = within(1min), .stop = {}})->state, TaskState::ready);
  }
  {
    std::jthread adds([&] { add(); });
    EXPECT_EQ(sync_wait(watch.async_take(within(1min)))->state, TaskState::ready);
  }
  EXPECT_EQ(sync_wait(watch.async_take(within(1ms))).error(), Refusal::timed_out);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(watch.take({.deadline = {}, .stop = stop.get_token()}).error(), Refusal::stopped);
}

TEST_F(Watching, EndsWithTheStore) {
  std::optional<Tasks> brief = tasks::open("memory:").value();
  auto watch = brief->watch();
  ASSERT_TRUE(brief->enqueue({.queue = "q", .kind = "k"}));
  brief.reset();
  EXPECT_TRUE(watch.take());
  EXPECT_EQ(watch.take().error(), Refusal::closed);
}

TEST_F(Watching, EndsWithTheWatch) {
  {
    auto watch = tasks.watch();
  }
  auto moved = tasks.watch();
  moved = tasks.watch({.capacity = 1});
  add();
  EXPECT_TRUE(moved.poll());
  EXPECT_THROW(static_cast<void>(tasks.watch({.capacity = 0})), std::invalid_argument);
}

}  // namespace
}  // namespace handoff::tests
