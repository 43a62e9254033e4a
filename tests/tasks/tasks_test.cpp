// Tasks as users see them: handing in, looking, waiting, changing.
#include "handoff/tasks/tasks.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <chrono>
#include <thread>

#include "handoff/tasks/worker.hpp"
#include "tasks/core.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {

struct Greeting {
  std::string to;
  int times = 1;
};
BOOST_DESCRIBE_STRUCT(Greeting, (), (to, times))

namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;

NewTask plain(std::string payload = "null") {
  return {.queue = "q", .kind = "k", .payload = std::move(payload)};
}

class DurableTasks : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string where = "sqlite:" + folder.file("shop.db");
  std::optional<Tasks> opened = tasks::open(where).value();
  Tasks& tasks() { return *opened; }
};

TEST_F(DurableTasks, AreThereAfterTheStoreWasClosed) {
  const auto id = tasks().enqueue(plain("[1]")).value().id;
  opened.reset();
  opened = tasks::open(where).value();
  EXPECT_EQ(tasks().get(id)->payload, "[1]");
  EXPECT_EQ(tasks().get(id)->state, TaskState::ready);
}

TEST_F(DurableTasks, TakeDescribedStructs) {
  const auto id = tasks().enqueue(Greeting{"bob", 3}, {.queue = "mail", .priority = 5}).value().id;
  const auto task = tasks().get(id).value();
  EXPECT_EQ(task.kind, "Greeting");
  EXPECT_EQ(task.payload, R"({"to":"bob","times":3})");
  EXPECT_EQ(task.queue, "mail");
  EXPECT_EQ(task.priority, 5);
}

TEST_F(DurableTasks, SayWhatIsWrongWithARequest) {
  const auto error_of = [&](NewTask task) { return tasks().enqueue(task).error(); };
  NewTask task = plain();
  task.queue = "a b";
  EXPECT_EQ(error_of(task).code, TaskError::Code::bad_request);
  EXPECT_EQ(error_of(task).field, "queue");
  task = plain();
  task.priority = 101;
  EXPECT_EQ(error_of(task).field, "priority");
  task = plain("{");
  EXPECT_EQ(error_of(task).field, "payload");
  task = plain();
  task.kind = "";
  EXPECT_EQ(error_of(task).field, "kind");
  task = plain();
  task.unique_for = 1s;
  EXPECT_EQ(error_of(task).field, "unique_for");
  task = plain();
  task.delay = 1s;
  task.run_at = Time();
  EXPECT_EQ(error_of(task).field, "run_at");
  const std::vector<NewTask> batch{plain(), task};
  EXPECT_EQ(tasks().enqueue(batch).error().field, "[1].run_at");
  const std::vector<NewTask> batch_of_one{task};
  EXPECT_EQ(tasks().enqueue(batch_of_one).error().field, "[0].run_at");
  EXPECT_TRUE(tasks().queues().empty());
}

TEST_F(DurableTasks, SayWhichStoresThereAre) {
  EXPECT_EQ(tasks::open("mysql:x").error().message,
            "a store is \"sqlite:<path>\", \"memory:\" or \"http://<host>:<port>\", got "
            "\"mysql:x\"");
  EXPECT_EQ(tasks::open("sqlite:").error().code, TaskError::Code::bad_request);
  EXPECT_TRUE(tasks::open("memory:"));
}

TEST_F(DurableTasks, AreHandedInByManyThreadsInSharedCommits) {
  constexpr int threads = 16;
  constexpr int each = 50;
  {
    std::vector<std::jthread> producers;
    for (int i = 0; i < threads; ++i) {
      producers.emplace_back([&] {
        for (int k = 0; k < each; ++k) ASSERT_TRUE(tasks().enqueue(plain()));
      });
    }
  }
  EXPECT_EQ(tasks().queue("q").count(TaskState::ready), threads * each);
  const auto totals = TasksAccess::core(tasks()).batcher().totals();
  EXPECT_GE(totals.calls, static_cast<std::uint64_t>(threads * each));
  EXPECT_LT(totals.commits, totals.calls);
}

TEST_F(DurableTasks, OfACallThatFailsDoNotTakeOthersWithThem) {
  QueueSettings settings;
  settings.capacity = 100;
  ASSERT_TRUE(tasks().configure("q", settings));
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  {
    std::vector<std::jthread> producers;
    for (int i = 0; i < 8; ++i) {
      producers.emplace_back([&] {
        for (int k = 0; k < 30; ++k) {
          const auto result = tasks().enqueue(plain());
          if (result) {
            ++accepted;
          } else {
            EXPECT_EQ(result.error().code, TaskError::Code::full);
            ++refused;
          }
        }
      });
    }
  }
  EXPECT_EQ(accepted, 100);
  EXPECT_EQ(refused, 140);
  EXPECT_EQ(tasks().queue("q").count(TaskState::ready), 100);
}

TEST_F(DurableTasks, WaitForRoomWhereTheQueueSaysSo) {
  QueueSettings settings;
  settings.capacity = 1;
  settings.when_full = WhenFull::block;
  settings.block_for = 1min;
  ASSERT_TRUE(tasks().configure("q", settings));
  const auto first = tasks().enqueue(plain()).value().id;
  std::jthread waiting([&] { EXPECT_TRUE(tasks().enqueue(plain("2"))); });
  ASSERT_TRUE(tasks().cancel(first));
  waiting.join();
  EXPECT_EQ(tasks().queue("q").count(TaskState::ready), 1);
  settings.block_for = 0ms;
  ASSERT_TRUE(tasks().configure("q", settings));
  EXPECT_EQ(tasks().enqueue(plain()).error().code, TaskError::Code::full);
}

// Whoever may hand in tasks could make queues without end.
TEST_F(DurableTasks, ComeInNoMoreQueuesThanThereMayBe) {
  constexpr int most = 10'000;
  std::vector<NewTask> many;
  for (int i = 0; i < most; ++i) many.push_back({.queue = fmt::format("q{}", i), .kind = "k"});
  ASSERT_TRUE(tasks().enqueue(many));
  const auto refused = tasks().enqueue(NewTask{.queue = "one-more", .kind = "k"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::bad_request);
  EXPECT_EQ(refused.error().field, "queue");
  EXPECT_THAT(refused.error().message, HasSubstr("10000 are as many as there may be"));
  many = {{.queue = "q1", .kind = "k"}, {.queue = "one-more", .kind = "k"}};
  EXPECT_EQ(tasks().enqueue(many).error().field, "[1].queue");
  EXPECT_EQ(tasks().configure("one-more", QueueSettings()).error().field, "queue");
  EXPECT_EQ(tasks().pause("one-more").error().field, "queue");
  EXPECT_TRUE(tasks().enqueue(NewTask{.queue = "q0", .kind = "k"}));
}

TEST_F(DurableTasks, DoNotWaitForRoomThatThereWillNeverBe) {
  QueueSettings settings;
  settings.capacity = 1;
  settings.capacity_bytes = 10;
  settings.when_full = WhenFull::block;
  settings.block_for = 10min;
  ASSERT_TRUE(tasks().configure("q", settings));
  ASSERT_TRUE(tasks().enqueue(plain()));
  const auto many = tasks().enqueue(std::vector(2, plain()));
  EXPECT_EQ(many.error().code, TaskError::Code::too_large);
  EXPECT_EQ(many.error().field, "[1].queue");
  const auto large = tasks().enqueue(plain("\"0123456789\""));
  EXPECT_EQ(large.error().code, TaskError::Code::too_large);
  EXPECT_EQ(large.error().field, "payload");
}

TEST_F(DurableTasks, CannotBeDroppedToMakeRoom) {
  QueueSettings settings;
  settings.when_full = WhenFull::drop_oldest;
  EXPECT_EQ(tasks().configure("q", settings).error().field, "when_full");
}

TEST_F(DurableTasks, CanBeWaitedFor) {
  const auto id = tasks().enqueue(plain()).value().id;
  EXPECT_EQ(tasks().wait(id, 0ms).error().code, TaskError::Code::timed_out);
  std::jthread canceller([&] { ASSERT_TRUE(tasks().cancel(id, "enough")); });
  const auto task = tasks().wait(id, 1min);
  ASSERT_TRUE(task);
  EXPECT_EQ(task->state, TaskState::cancelled);
  EXPECT_EQ(task->reason, "enough");
  EXPECT_EQ(tasks().wait(TaskId::make({}), 1s).error().code, TaskError::Code::not_found);
  std::stop_source stop;
  stop.request_stop();
  const auto other = tasks().enqueue(plain()).value().id;
  EXPECT_EQ(tasks().wait(other, {.deadline = {}, .stop = stop.get_token()}).error().code,
            TaskError::Code::stopped);
}

TEST_F(DurableTasks, CanBePartOfAUsersTransaction) {
  sqlite3* connection = nullptr;
  ASSERT_EQ(sqlite3_open(folder.file("shop.db").c_str(), &connection), SQLITE_OK);
  sqlite3_busy_timeout(connection, 10'000);  // The store may be writing.
  const auto run = [&](const char* sql) {
    ASSERT_EQ(sqlite3_exec(connection, sql, nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(connection);
  };
  run("create table user(name text)");
  EXPECT_THAT(tasks().enqueue_in(connection, plain()).error().message, HasSubstr("transaction"));
  run("begin immediate; insert into user values('ann')");
  const auto lost = tasks().enqueue_in(connection, plain()).value().id;
  run("rollback");
  EXPECT_FALSE(tasks().get(lost));
  run("begin immediate; insert into user values('bob')");
  const auto kept = tasks().enqueue_in(connection, plain()).value().id;
  EXPECT_FALSE(tasks().get(kept));
  run("commit");
  EXPECT_EQ(tasks().get(kept)->state, TaskState::ready);
  sqlite3_close(connection);
}

TEST_F(DurableTasks, ListAPageAtATime) {
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tasks().enqueue(plain(std::to_string(i))));
  auto page = tasks().list({.queue = "q", .limit = 2}).value();
  EXPECT_EQ(page.tasks.size(), 2u);
  page = tasks().list({.queue = "q", .limit = 2, .cursor = page.next_cursor}).value();
  ASSERT_EQ(page.tasks.size(), 1u);
  EXPECT_EQ(page.tasks[0].payload, "0");
  EXPECT_EQ(page.next_cursor, "");
  EXPECT_EQ(tasks().list({.limit = 0}).error().field, "limit");
  EXPECT_EQ(tasks().list({.cursor = "x"}).error().field, "cursor");
}

TEST_F(DurableTasks, AreOneStoreForSeveralHandlesOfOneFile) {
  const Tasks other = tasks::open(where).value();
  const auto id = tasks().enqueue(plain()).value().id;
  EXPECT_EQ(other.get(id)->state, TaskState::ready);
  ASSERT_TRUE(other.cancel(id));
  EXPECT_EQ(tasks().wait(id, 10s)->state, TaskState::cancelled);
}

TEST_F(DurableTasks, ArePurgedInOneCall) {
  std::vector<NewTask> many(1200, plain());
  ASSERT_TRUE(tasks().enqueue(many));
  EXPECT_EQ(tasks().purge("q", TaskState::ready), 1200);
  EXPECT_EQ(tasks().queue("q").unfinished(), 0);
  EXPECT_EQ(tasks().purge("q", TaskState::running).error().field, "state");
}

}  // namespace
}  // namespace handoff::tests
