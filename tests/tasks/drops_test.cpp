// What a full queue drops is refused, counted and logged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "handoff/log.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/tasks/tasks.hpp"
#include "tasks/core.hpp"

namespace handoff::tests {
namespace {

using namespace tasks;
using ::testing::HasSubstr;

TEST(FullQueuesThatDrop, CountAndSayIt) {
  std::mutex lock;
  std::vector<std::string> lines;
  const auto before = set_log([&](std::string_view line) {
    const std::lock_guard hold(lock);
    lines.emplace_back(line);
  });
  const Tasks tasks = tasks::open("memory:").value();
  QueueSettings small;
  small.capacity = 3;
  small.when_full = WhenFull::drop_newest;
  ASSERT_TRUE(tasks.configure("q", small));
  const NewTask task{.queue = "q", .kind = "k"};
  ASSERT_TRUE(tasks.enqueue(std::vector(3, task)));
  EXPECT_EQ(tasks.enqueue(task).error().code, TaskError::Code::full);
  EXPECT_EQ(tasks.enqueue(std::vector(3, task)).error().code, TaskError::Code::full);
  EXPECT_EQ(sync_wait(tasks.async_enqueue(task)).error().code, TaskError::Code::full);
  EXPECT_EQ(TasksAccess::core(tasks).dropped(), 5u);
  set_log(before);
  const std::lock_guard hold(lock);
  ASSERT_FALSE(lines.empty());
  EXPECT_THAT(lines.front(), HasSubstr("queue \"q\" is full and drops what is new: 1 so far"));
}

TEST(FullQueuesThatReject, SayNothing) {
  const Tasks tasks = tasks::open("memory:").value();
  QueueSettings small;
  small.capacity = 1;
  ASSERT_TRUE(tasks.configure("q", small));
  const NewTask task{.queue = "q", .kind = "k"};
  ASSERT_TRUE(tasks.enqueue(task));
  EXPECT_FALSE(tasks.enqueue(task));
  EXPECT_EQ(TasksAccess::core(tasks).dropped(), 0u);
}

}  // namespace
}  // namespace handoff::tests
