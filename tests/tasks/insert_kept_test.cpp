// Tasks of many calls that share a transaction are written together, later than they are counted: nobody may see the difference.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

class KeptTasks : public StoreTest {
 protected:
  // `task` is kept by the test until the transaction has ended, as callers of the store do.
  static Enqueued keep(Transaction& transaction, const NewTask& task) {
    return transaction.insert_kept(std::span(&task, 1)).value().front();
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, KeptTasks, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

// However many there are: they are written by 25, by 5 and one by one.
TEST_P(KeptTasks, AreThereOnceAndInOrder) {
  for (const int count : {1, 4, 5, 6, 24, 25, 26, 61}) {
    const auto tasks = numbered(count);
    std::vector<TaskId> ids;
    with([&](Transaction& each) {
      for (const NewTask& task : tasks) ids.push_back(keep(each, task).id);
    });
    EXPECT_EQ(look().unfinished(), count);
    const auto claimed = claim(count + 1);
    ASSERT_EQ(claimed.size(), tasks.size());
    for (std::size_t i = 0; i < claimed.size(); ++i) {
      EXPECT_EQ(claimed[i].id, ids[i]);
      EXPECT_EQ(claimed[i].payload, std::to_string(i));
      EXPECT_EQ(finish(claimed[i]), Recorded::yes);
    }
  }
}

TEST_P(KeptTasks, AreSeenByAllThatFollowsInTheirTransaction) {
  const auto tasks = numbered(7);
  with([&](Transaction& each) {
    const auto first = keep(each, tasks[0]);
    EXPECT_EQ(each.get(first.id)->payload, "0");
    const auto second = keep(each, tasks[1]);
    EXPECT_EQ(each.list({.limit = 10}).tasks.front().id, second.id);
    const auto third = keep(each, tasks[2]);
    EXPECT_EQ(each.states_of({&third.id, 1}).front(), TaskState::ready);
    EXPECT_EQ(keep(each, tasks[3]).state, TaskState::ready);
    EXPECT_EQ(each.look("q").unfinished(), 4);
    EXPECT_EQ(each.count({.queue = "q", .kind = "k"}), 4);
    const auto fifth = keep(each, tasks[4]);
    EXPECT_EQ(each.cancel(fifth.id, "not wanted"), TaskState::ready);  // It was.
    const auto sixth = keep(each, tasks[5]);
    const NewTask after{.queue = "q", .kind = "k", .after = {sixth.id}};
    EXPECT_EQ(each.insert({&after, 1}).value().front().state, TaskState::waiting);
    keep(each, tasks[6]);
    EXPECT_EQ(each.claim({.queue = "q", .most = 10, .lease_for = {}, .worker = "w"}).tasks.size(),
              6u);
  });
  EXPECT_EQ(look().count(TaskState::running), 6);
}

TEST_P(KeptTasks, CountForTheCapacityAtOnce) {
  QueueSettings small;
  small.capacity = 3;
  configure(small);
  const auto tasks = numbered(4);
  with([&](Transaction& each) {
    for (int i = 0; i < 3; ++i) keep(each, tasks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(each.insert_kept({&tasks[3], 1}).error().code, TaskError::Code::full);
  });
  EXPECT_EQ(claim(10).size(), 3u);
}

TEST_P(KeptTasks, AreGoneWithTheirTransaction) {
  const auto tasks = numbered(30);
  EXPECT_THROW(with([&](Transaction& each) {
                 for (const NewTask& task : tasks) keep(each, task);
                 throw std::runtime_error("another call of it has failed");
               }),
               std::runtime_error);
  EXPECT_EQ(look().unfinished(), 0);
  add(tasks[0]);
  EXPECT_EQ(claim(10).size(), 1u);
}

// Those that need more than a row are written at once, between the others.
TEST_P(KeptTasks, MixWithThoseThatAreNot) {
  std::minstd_rand random(7);
  std::vector<NewTask> tasks = numbered(200);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    switch (random() % 6) {
      case 0: tasks[i].unique_key = fmt::format("key {}", i); break;
      case 1: tasks[i].id = TaskId::make(clock.now()); break;
      case 2: tasks[i].payload = '"' + std::string(5'000, 'x') + '"'; break;
      case 3: tasks[i].group = fmt::format("group {}", i % 3); break;
      default: break;
    }
  }
  std::vector<TaskId> ids;
  with([&](Transaction& each) {
    for (const NewTask& task : tasks) ids.push_back(keep(each, task).id);
    // The same id, and the same key: found, though others are not written.
    const auto again = numbered(1);
    keep(each, again[0]);
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      if (tasks[i].id || !tasks[i].unique_key.empty()) {
        EXPECT_EQ(keep(each, tasks[i]).id, ids[i]);
      }
    }
  });
  EXPECT_EQ(look().unfinished(), 201);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const Task task = get(ids[i]);
    EXPECT_EQ(task.payload, tasks[i].payload);
    EXPECT_EQ(task.group, tasks[i].group);
    EXPECT_EQ(task.unique_key, tasks[i].unique_key);
  }
}

}  // namespace
}  // namespace handoff::tests
