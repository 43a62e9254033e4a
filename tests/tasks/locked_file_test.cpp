// Another program has the file locked for longer than we wait: calls say who, and all goes on when it lets go.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <future>
#include <thread>

#include "handoff/log.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/core.hpp"
#include "tasks/processes.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::eventually;

// Keeps the file locked until it is told something.
const Role locker_role("locker", [](const std::string& path) {
  sqlite::Database database(path, sqlite::Database::Mode::read_write);
  database.run("create table if not exists other(x)");
  for (;;) {
    database.run("begin exclusive; insert into other values(1)");
    say("locked");
    listen();
    database.run("commit");
    say("released");
    listen();
  }
});

// Is about to write to a file with a rollback journal, which others may still read.
const Role writer_role("writer", [](const std::string& path) {
  sqlite::Database database(path, sqlite::Database::Mode::read_write);
  database.run("create table other(x); begin immediate");
  say("writes");
  listen();
  database.run("commit");
  listen();
});

class LockedFiles : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string path = folder.file("tasks.db");

  Tasks open(Millis busy_for = 100ms) const {
    return TasksAccess::open({.path = path, .database = {.busy_for = busy_for}});
  }
  // What open() says of it.
  std::string refusal() const {
    try {
      open();
    } catch (const sqlite::Failure& failure) {
      EXPECT_EQ(failure.error.code, TaskError::Code::unavailable);
      return failure.error.message;
    }
    return "it was opened";
  }
  static auto names(const Process& locker) {
    return AllOf(HasSubstr(fmt::format("process {} (", locker.id())),
                 HasSubstr("keeps the file locked; look for a transaction that was left open"));
  }
};

TEST_F(LockedFiles, AreNotWrittenAndCanStillBeRead) {
  const Tasks tasks = open();
  const auto first = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
  Process locker("locker", path);
  ASSERT_EQ(locker.hear(), "locked");

  const auto refused = tasks.enqueue({.queue = "q", .kind = "k"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::unavailable);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(path), names(locker)));
  EXPECT_EQ(tasks.cancel(first).error().code, TaskError::Code::unavailable);
  EXPECT_EQ(tasks.get(first)->state, TaskState::ready);

  locker.tell("let go");
  ASSERT_EQ(locker.hear(), "released");
  EXPECT_TRUE(tasks.enqueue({.queue = "q", .kind = "k"}));
  EXPECT_EQ(tasks.queue("q").count(TaskState::ready), 2);
}

TEST_F(LockedFiles, AreWaitedForWhileTheyAreLockedForAShortTime) {
  const Tasks tasks = open(60s);
  Process locker("locker", path);
  ASSERT_EQ(locker.hear(), "locked");
  std::jthread letting_go([&] {
    // Once the enqueue below waits.
    eventually([&] { return TasksAccess::core(tasks).batcher().totals().calls > 0; });
    locker.tell("let go");
  });
  EXPECT_TRUE(tasks.enqueue({.queue = "q", .kind = "k"}));
}

TEST_F(LockedFiles, AreWaitedForByWorkers) {
  std::atomic<int> complaints = 0;
  auto before = handoff::set_log([&](std::string_view line) {
    if (line.find("keeps the file locked") != std::string_view::npos) ++complaints;
  });
  {
    const Tasks tasks = open();
    auto watch = tasks.watch({});
    std::vector<TaskId> ids;
    for (int i = 0; i < 50; ++i) {
      ids.push_back(tasks.enqueue({.queue = "q", .kind = "k"}).value().id);
    }
    Process locker("locker", path);
    ASSERT_EQ(locker.hear(), "locked");
    Worker worker{tasks, {.queues = {{"q", 4}}}};
    worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
    std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
    eventually([&] { return complaints > 0; }, 60s);
    locker.tell("let go");
    for (const TaskId& id : ids) EXPECT_EQ(tasks.wait(id, 60s)->state, TaskState::done);
    running.request_stop();
    running.join();
    int ends = 0;
    while (const auto event = watch.poll()) ends += event->state == TaskState::done ? 1 : 0;
    EXPECT_EQ(ends, 50);
  }
  handoff::set_log(before);
}

TEST_F(LockedFiles, AreNotOpened) {
  {
    const Tasks made = open();
  }
  Process locker("locker", path);
  ASSERT_EQ(locker.hear(), "locked");
  EXPECT_THAT(refusal(), names(locker));
  locker.tell("let go");
  ASSERT_EQ(locker.hear(), "released");
  EXPECT_TRUE(open().enqueue({.queue = "q", .kind = "k"}));
}

TEST_F(LockedFiles, AreNotOpenedAlsoIfTheyAreNotStoresYet) {
  Process locker("locker", path);  // With a rollback journal, which keeps readers out too.
  ASSERT_EQ(locker.hear(), "locked");
  EXPECT_THAT(refusal(), names(locker));
  locker.tell("let go");
  ASSERT_EQ(locker.hear(), "released");
  EXPECT_TRUE(open().enqueue({.queue = "q", .kind = "k"}));
}

// SQLite itself does not wait then, whatever its busy timeout: two who wait so for each other would do so for ever.
TEST_F(LockedFiles, AreWaitedForToBecomeStores) {
  Process writer("writer", path);
  ASSERT_EQ(writer.hear(), "writes");
  auto opened = std::async(std::launch::async, [&] { return open(60s); });
  EXPECT_EQ(opened.wait_for(200ms), std::future_status::timeout) << "it does not wait";
  writer.tell("commit");
  EXPECT_TRUE(opened.get().enqueue({.queue = "q", .kind = "k"}));
}

}  // namespace
}  // namespace handoff::tests
