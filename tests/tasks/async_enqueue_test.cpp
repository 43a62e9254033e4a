// Tasks that coroutines hand in: shared commits, without a thread for each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#include "handoff/pool.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "tasks/core.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

NewTask task() { return {.queue = "q", .kind = "k"}; }

Lazy<bool> enqueue_some(Tasks tasks, int count) {
  for (int i = 0; i < count; ++i) {
    const auto enqueued = co_await tasks.async_enqueue(task());
    if (!enqueued) co_return false;
  }
  co_return true;
}

class AsyncEnqueue : public ::testing::Test {
 protected:
  const Folder folder;
  const Tasks tasks = tasks::open("sqlite:" + folder.file("tasks.db")).value();
};

TEST_F(AsyncEnqueue, StoresOneAndMany) {
  const auto one = sync_wait(tasks.async_enqueue(task()));
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(tasks.get(one->id)->state, TaskState::ready);
  const auto many = sync_wait(tasks.async_enqueue(std::vector<NewTask>(100, task())));
  EXPECT_EQ(many->size(), 100u);
  EXPECT_EQ(sync_wait(tasks.async_enqueue(std::vector<NewTask>()))->size(), 0u);
  EXPECT_EQ(tasks.queue("q").unfinished(), 101);
}

struct Letter {
  std::string to;
  double weight = 0;
};
BOOST_DESCRIBE_STRUCT(Letter, (), (to, weight))

TEST_F(AsyncEnqueue, TakesADescribedStruct) {
  const auto id = sync_wait(tasks.async_enqueue(Letter{"ann", 0.5}, {.queue = "q"}))->id;
  EXPECT_EQ(tasks.get(id)->kind, "Letter");
  EXPECT_EQ(tasks.get(id)->payload, R"({"to":"ann","weight":0.5})");
  const Letter weightless{"ann", std::numeric_limits<double>::infinity()};
  EXPECT_EQ(sync_wait(tasks.async_enqueue(weightless)).error().field, "payload");
}

TEST_F(AsyncEnqueue, SaysWhatIsWrong) {
  NewTask wrong = task();
  wrong.priority = 1000;
  EXPECT_EQ(sync_wait(tasks.async_enqueue(wrong)).error().field, "priority");
}

// A thousand coroutines on two threads: none of them waits for the disk, and few commits do for all.
TEST_F(AsyncEnqueue, SharesCommitsAmongManyCoroutines) {
  constexpr int callers = 1000;
  WorkerPool pool{{.workers = 2, .capacity = callers}};
  std::vector<Future<bool>> all;
  for (int i = 0; i < callers; ++i) {
    all.push_back(spawn(pool, enqueue_some(tasks, 1)).value());
  }
  for (auto& each : all) EXPECT_TRUE(each.get());
  EXPECT_EQ(tasks.queue("q").unfinished(), callers);
  const auto totals = TasksAccess::core(tasks).batcher().totals();
  EXPECT_GE(totals.calls, std::uint64_t{callers});
  EXPECT_LT(totals.commits, std::uint64_t{callers});
}

TEST_F(AsyncEnqueue, MixesWithThreadsThatEnqueue) {
  constexpr int each_does = 200;
  WorkerPool pool{{.workers = 2, .capacity = 100}};
  std::vector<Future<bool>> coroutines;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      coroutines.push_back(spawn(pool, enqueue_some(tasks, each_does)).value());
      threads.emplace_back([&] {
        for (int k = 0; k < each_does; ++k) EXPECT_TRUE(tasks.enqueue(task()));
      });
    }
  }
  for (auto& each : coroutines) EXPECT_TRUE(each.get());
  EXPECT_EQ(tasks.queue("q").unfinished(), 8 * each_does);
}

TEST_F(AsyncEnqueue, WaitsForRoomIfTheQueueSaysSo) {
  QueueSettings small;
  small.capacity = 1;
  small.when_full = WhenFull::block;
  small.block_for = 60s;
  ASSERT_TRUE(tasks.configure("q", small));
  const auto first = tasks.enqueue(task()).value().id;
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto second = spawn(pool, tasks.async_enqueue(task())).value();
  ASSERT_TRUE(tasks.cancel(first));
  EXPECT_TRUE(second.get());
  small.block_for = 1ms;
  ASSERT_TRUE(tasks.configure("q", small));
  EXPECT_EQ(sync_wait(tasks.async_enqueue(task())).error().code, TaskError::Code::full);
}

TEST_F(AsyncEnqueue, IsDoneBeforeTheStoreIsClosed) {
  auto id = TaskId::make(Time());
  NewTask mine = task();
  mine.id = id;
  {
    std::stop_source stop;
    stop.request_stop();
    const Tasks other = tasks::open("sqlite:" + folder.file("tasks.db")).value();
    // It does not wait for the end.
    const auto left = sync_wait(other.async_enqueue(mine), stop.get_token());
    EXPECT_TRUE(left || left.error().code == TaskError::Code::stopped);
  }
  EXPECT_TRUE(tasks.get(id));
}

}  // namespace
}  // namespace handoff::tests
