// Waiting for the end of a task without a thread: by a coroutine, by a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/scope.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/tasks/tasks.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/sanitized.hpp"
#include "tasks/core.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using handoff::testing::eventually;
using Result = std::expected<Task, TaskError>;

// In memory there are no other processes: what comes, comes from the thread that finishes a task.
class WaitingInMemory : public ::testing::Test {
 protected:
  // The keeper prunes when the first task has finished. What is committed together with that, its thread would tell;
  // so it is done before, and the next time is a minute away.
  WaitingInMemory() {
    EXPECT_TRUE(tasks.cancel(add()));
    TasksAccess::core(tasks).keeper().work_now();
  }

  TaskId add() { return tasks.enqueue({.queue = "q", .kind = "k"}).value().id; }
  const Tasks tasks = tasks::open("memory:").value();
};

class Waiting : public ::testing::Test {
 protected:
  TaskId add() { return tasks.enqueue({.queue = "q", .kind = "k"}).value().id; }

  const Folder folder;
  const std::string where = "sqlite:" + folder.file("tasks.db");
  const Tasks tasks = tasks::open(where, {.fast = true}).value();
  // As another process would have it: neither knows of the other.
  const Tasks other = tasks::open(where, {.fast = true}).value();
};

// A session that lives as long as its callback, and has the notice: it goes with the callback, while that is being called.
TEST_F(WaitingInMemory, ANoticeMayGoWithItsOwnCallback) {
  struct Session {
    explicit Session(std::atomic<int>& count) : ended(count) {}
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;
    ~Session() { ++ended; }
    std::atomic<int>& ended;
    std::optional<Notice> notice{};
  };
  std::atomic<int> calls = 0;
  std::atomic<int> ended = 0;
  const auto id = add();
  auto session = std::make_shared<Session>(ended);
  session->notice.emplace(
      tasks.on_finished(id, [session, &calls](const Result&) { ++calls; }).value());
  session.reset();
  ASSERT_TRUE(tasks.cancel(id));
  eventually([&] { return ended == 1; });
  EXPECT_EQ(calls, 1);
}

// What others have done is told to those who wait for it, though the store fails at that moment: they look for themselves.
TEST(WaitingForOthers, HearsOfItThoughTheStoreFailsMeanwhile) {
  class FailingStore final : public Store {
   public:
    Changes transact(const std::function<void(Transaction&)>& work) override {
      return store.transact(work);
    }
    void read(const std::function<void(Transaction&)>& work) override {
      if (fails)
        throw StoreFailure({.code = TaskError::Code::unavailable, .message = "no", .field = {}});
      store.read(work);
    }
    Changes reclaim_from_the_dead() override { return {}; }
    bool is_changed_by_others() override { return false; }
    std::atomic<bool> fails = false;

   private:
    sqlite::SqliteStore store{{}};
  };
  class AtWork final : public HungryOne {
   public:
    bool ring(std::string_view) override { return false; }
    std::vector<TaskId> in_hand() override { return {TaskId::make({})}; }
    void hear_of_cancelled(const TaskId&) override {}
  };
  auto made = std::make_unique<FailingStore>();
  FailingStore& store = *made;
  TasksCore core(std::move(made), "", TaskClock::real(), nullptr);
  AtWork worker;
  core.listeners().add(worker, {"q"});
  const auto id = TaskId::make({});
  Listeners::Waiting waiting;
  core.listeners().add_wait(id, waiting);
  store.fails = true;
  EXPECT_NO_THROW(core.changed_by_others());
  EXPECT_TRUE(waiting.told.is_set());
  store.fails = false;
  core.listeners().remove_wait(id, waiting);
  core.listeners().remove(worker);
}

// -- Coroutines -----------------------------------------------------------------------------------

TEST_F(Waiting, ACoroutineGetsTheTask) {
  const auto id = add();
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto result = spawn(pool, tasks.async_wait(id)).value();
  ASSERT_TRUE(tasks.cancel(id, "enough"));
  const Result task = result.get().value();
  EXPECT_EQ(task->state, TaskState::cancelled);
  EXPECT_EQ(task->reason, "enough");
  // It is so already.
  EXPECT_EQ(sync_wait(tasks.async_wait(id))->state, TaskState::cancelled);
}

TEST_F(Waiting, ACoroutineIsToldWhatElseEndsIt) {
  const auto id = add();
  EXPECT_EQ(sync_wait(tasks.async_wait(id, within(1ms))).error().code, TaskError::Code::timed_out);
  EXPECT_EQ(sync_wait(tasks.async_wait(TaskId::make({}))).error().code, TaskError::Code::not_found);
  std::stop_source stop;
  std::jthread stops([&] { stop.request_stop(); });
  EXPECT_EQ(sync_wait(tasks.async_wait(id), stop.get_token()).error().code,
            TaskError::Code::stopped);
}

TEST_F(Waiting, ACoroutineHearsOfOtherProcesses) {
  const auto id = add();
  std::jthread finishes([&] { ASSERT_TRUE(other.cancel(id)); });
  EXPECT_EQ(sync_wait(tasks.async_wait(id, within(1min)))->state, TaskState::cancelled);
}

TEST_F(Waiting, ThousandsNeedNoThreads) {
  constexpr std::size_t all = is_sanitized ? 500 : 5000;
  std::vector<TaskId> ids;
  const auto enqueued = tasks.enqueue(std::vector<NewTask>(all, {.queue = "q", .kind = "k"}));
  for (const auto& each : enqueued.value()) ids.push_back(each.id);
  WorkerPool pool{{.workers = 2, .capacity = all}};
  std::vector<Future<Result>> results;
  for (const auto& id : ids) results.push_back(spawn(pool, tasks.async_wait(id)).value());
  // Half of them by another process, some while the first still look.
  std::jthread half([&] {
    for (std::size_t i = 0; i < all; i += 2) ASSERT_TRUE(other.cancel(ids[i]));
  });
  for (std::size_t i = 1; i < all; i += 2) ASSERT_TRUE(tasks.cancel(ids[i]));
  for (auto& each : results) {
    const auto result = each.get({.deadline = within(60s), .stop = {}});
    ASSERT_TRUE(result);
    ASSERT_EQ(result.value()->state, TaskState::cancelled);
  }
  EXPECT_LE(pool.stats().threads, 2u);
}

// -- Calls ----------------------------------------------------------------------------------------

TEST_F(WaitingInMemory, ACallComesOnceByWhoFinishesTheTask) {
  const auto id = add();
  int calls = 0;
  const auto here = std::this_thread::get_id();
  const auto notice = tasks.on_finished(id, [&](const Result& task) {
    EXPECT_EQ(std::this_thread::get_id(), here);
    EXPECT_EQ(task->state, TaskState::cancelled);
    EXPECT_EQ(task->reason, "enough");
    ++calls;
  });
  ASSERT_TRUE(notice);
  EXPECT_EQ(calls, 0);
  ASSERT_TRUE(tasks.cancel(id, "enough"));
  EXPECT_EQ(calls, 1);
  ASSERT_TRUE(tasks.retry(id));
  ASSERT_TRUE(tasks.cancel(id));
  EXPECT_EQ(calls, 1);
}

TEST_F(WaitingInMemory, ACallComesAtOnceIfTheTaskIsFinished) {
  const auto id = add();
  ASSERT_TRUE(tasks.cancel(id));
  int calls = 0;
  auto notice = tasks.on_finished(id, [&](const Result&) { ++calls; });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(notice->withdraw());
  EXPECT_EQ(tasks.on_finished(TaskId::make({}), [&](const Result&) { ++calls; }).error().code,
            TaskError::Code::not_found);
  EXPECT_EQ(calls, 1);
}

TEST_F(Waiting, ACallComesWhenAnotherProcessFinishesTheTask) {
  const auto id = add();
  Event called;
  const auto notice = tasks.on_finished(id, [&](const Result& task) {
    EXPECT_EQ(task->state, TaskState::cancelled);
    called.set();
  });
  ASSERT_TRUE(other.cancel(id));
  EXPECT_TRUE(called.wait({.deadline = within(1min), .stop = {}}));
}

TEST_F(Waiting, ACallComesIfAnotherProcessForgetsTheTask) {
  const auto id = add();
  Event called;
  std::optional<TaskError::Code> code;
  const auto notice = tasks.on_finished(id, [&](const Result& task) {
    if (!task) code = task.error().code;
    called.set();
  });
  ASSERT_EQ(other.purge("q", TaskState::ready), 1);
  ASSERT_TRUE(called.wait({.deadline = within(1min), .stop = {}}));
  EXPECT_EQ(code, TaskError::Code::not_found);
}

TEST_F(WaitingInMemory, ACallIsWithdrawn) {
  const auto first = add();
  const auto second = add();
  int calls = 0;
  auto notice = tasks.on_finished(first, [&](const Result&) { ++calls; });
  EXPECT_TRUE(notice->withdraw());
  EXPECT_FALSE(notice->withdraw());
  {
    const auto dropped = tasks.on_finished(second, [&](const Result&) { ++calls; });
  }
  ASSERT_TRUE(tasks.cancel(first));
  ASSERT_TRUE(tasks.cancel(second));
  EXPECT_EQ(calls, 0);
}

TEST_F(Waiting, WhoWithdrawsACallWaitsForIt) {
  const auto id = add();
  Event began;
  Event may_end;
  std::atomic<bool> has_ended = false;
  auto notice = tasks.on_finished(id, [&](const Result&) {
    began.set();
    static_cast<void>(may_end.wait());
    has_ended = true;
  });
  std::jthread finishes([&] { ASSERT_TRUE(tasks.cancel(id)); });
  ASSERT_TRUE(began.wait());
  std::jthread ends([&] { may_end.set(); });
  EXPECT_FALSE(notice->withdraw());
  EXPECT_TRUE(has_ended);
}

TEST_F(WaitingInMemory, ACallMayUseTheStoreAndEndOthers) {
  // Each cancels the next: without depth, however many there are.
  std::vector<TaskId> ids;
  for (int i = 0; i < 200; ++i) ids.push_back(add());
  std::vector<Notice> notices;
  std::size_t calls = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    notices.push_back(tasks
                          .on_finished(ids[i],
                                       [&, i](const Result&) {
                                         ++calls;
                                         if (i + 1 < ids.size()) {
                                           EXPECT_TRUE(tasks.cancel(ids[i + 1]));
                                         }
                                         EXPECT_FALSE(notices[i].withdraw());
                                       })
                          .value());
  }
  ASSERT_TRUE(tasks.cancel(ids[0]));
  EXPECT_EQ(calls, ids.size());
}

TEST_F(WaitingInMemory, ACallThatThrowsDoesNoHarm) {
  const auto id = add();
  const auto notice =
      tasks.on_finished(id, [](const Result&) { throw std::runtime_error("oh no"); });
  int calls = 0;
  const auto second = tasks.on_finished(id, [&](const Result&) { ++calls; });
  EXPECT_TRUE(tasks.cancel(id));
  EXPECT_EQ(calls, 1);
}

TEST_F(WaitingInMemory, ACallOutlivesItsStore) {
  int calls = 0;
  std::optional<Notice> notice;
  {
    const Tasks brief = tasks::open("memory:").value();
    const auto id = brief.enqueue({.queue = "q", .kind = "k"}).value().id;
    notice = brief.on_finished(id, [&](const Result&) { ++calls; }).value();
  }
  EXPECT_TRUE(notice->withdraw());
  EXPECT_EQ(calls, 0);
}

// One thread finishes tasks while others ask to be called: nobody is forgotten, or called twice.
TEST_F(WaitingInMemory, NoCallIsLostHoweverTheyRace) {
  constexpr int rounds = is_sanitized ? 300 : 3000;
  for (int i = 0; i < rounds; ++i) {
    const auto id = add();
    std::atomic<int> calls = 0;
    Event called;
    std::optional<Notice> notice;
    {
      std::jthread finishes([&] { ASSERT_TRUE(tasks.cancel(id)); });
      notice = tasks
                   .on_finished(id,
                                [&](const Result&) {
                                  ++calls;
                                  called.set();
                                })
                   .value();
    }
    ASSERT_TRUE(called.wait({.deadline = within(1min), .stop = {}}));
    notice.reset();
    ASSERT_EQ(calls, 1);
  }
}

}  // namespace
}  // namespace handoff::tests
