// Workers on the edges: several on one queue, handlers that do not stop, that wait for a thread, and stores that fail at the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/log.hpp"
#include "handoff/tasks/testing.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/await_sleep.hpp"
#include "tasks/running_worker.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using testing::eventually;

NewTask plain(std::string kind = "k") { return {.queue = "q", .kind = std::move(kind)}; }

class WorkersOnTheEdge : public ::testing::Test {
 protected:
  void expect_others_do_what_a_busy_one_cannot(std::vector<WorkerQueue> its_queues) {
    Worker busy{tasks, {.queues = std::move(its_queues), .name = "busy"}};
    Worker idle{tasks, {.queues = {{"q", 1}}, .name = "idle"}};
    std::atomic<int> done_by_idle = 0;
    busy.handle("k", [&](const Json&, Context&) {
      began.set();
      EXPECT_TRUE(may_end.wait());
    });
    idle.handle("k", [&](const Json&, Context&) { ++done_by_idle; });
    ASSERT_TRUE(tasks.enqueue(plain()));
    Running first(busy);
    ASSERT_TRUE(began.wait());
    Running second(idle);
    // One by one, so that each rings one of them only.
    for (int i = 1; i <= 20; ++i) {
      ASSERT_TRUE(tasks.enqueue(plain()));
      eventually([&] { return done_by_idle == i; });
    }
    may_end.set();
    first.stop();
    second.stop();
  }

  const Tasks tasks = tasks::open("memory:").value();
  Event began;
  Event may_end;
};

// On a busy machine real time passes between any two steps: here it does only when the test says so.
class WorkersByTheTestsClock : public ::testing::Test {
 protected:
  ManualTaskClock clock;
  const Tasks tasks = handoff::testing::open_tasks(clock);
  Event began;
  Event may_end;
};

TEST_F(WorkersOnTheEdge, LeaveToOthersWhatTheyHaveNoRoomFor) {
  expect_others_do_what_a_busy_one_cannot({{"q", 1}});
}

// It has room for another queue, and waits for that; but the ring was not for that.
TEST_F(WorkersOnTheEdge, LeaveToOthersWhatTheyHaveNoRoomForInOneOfTheirQueues) {
  expect_others_do_what_a_busy_one_cannot({{"q", 1}, {"other", 1}});
}

TEST_F(WorkersOnTheEdge, HandOnWhatTheyGiveBack) {
  Worker leaving{tasks, {.queues = {{"q", 1}}, .name = "leaving"}};
  Worker staying{tasks, {.queues = {{"q", 1}}, .name = "staying"}};
  leaving.handle("k", [&](const Json&, Context& context) {
    began.set();
    eventually([&] { return context.stop().stop_requested(); });
    throw std::runtime_error("interrupted");
  });
  staying.handle("k", [](const Json&, Context&) {});
  const auto id = tasks.enqueue(plain())->id;
  Running first(leaving);
  ASSERT_TRUE(began.wait());
  Running second(staying);
  EXPECT_EQ(first.stop().given_back, 1u);
  EXPECT_EQ(tasks.wait(id, 60s)->state, TaskState::done);
  EXPECT_EQ(tasks.get(id)->attempt, 1);
}

// One that is rung while it is asked to stop does not look any more: then another one has to.
TEST_F(WorkersOnTheEdge, HandOnWhatTheyWereRungFor) {
  Worker staying{tasks, {.queues = {{"q", 1}}, .name = "staying"}};
  Worker leaving{tasks, {.queues = {{"q", 1}}, .name = "leaving"}};
  staying.handle("k", [](const Json&, Context&) {});
  leaving.handle("k", [](const Json&, Context&) {});
  for (int i = 0; i < 300; ++i) {
    Running second(leaving);  // Who came first is rung first.
    eventually([&] { return tasks.workers().size() == 1; });
    Running first(staying);
    eventually([&] { return tasks.workers().size() == 2; });
    std::latch both(2);
    std::jthread stops([&] {
      both.arrive_and_wait();
      second.stop();
    });
    both.arrive_and_wait();
    const auto id = tasks.enqueue(plain())->id;
    ASSERT_TRUE(tasks.wait(id, 60s)) << i;
  }
}

// The same while a handler of its own does not end: others need not wait for that.
TEST_F(WorkersOnTheEdge, HandOnWhatTheyWereRungForBeforeTheirHandlersEnd) {
  for (int i = 0; i < 100; ++i) {
    Event slow_began;
    Event slow_may_end;
    Worker leaving{tasks, {.queues = {{"q", 2}}, .name = "leaving"}};
    Worker staying{tasks, {.queues = {{"q", 1}}, .name = "staying"}};
    leaving.handle("slow", [&](const Json&, Context&) {
      slow_began.set();
      EXPECT_TRUE(slow_may_end.wait());
    });
    leaving.handle("k", [](const Json&, Context&) {});
    staying.handle("k", [](const Json&, Context&) {});
    ASSERT_TRUE(tasks.enqueue(plain("slow")));
    Running second(leaving);  // Who came first is rung first.
    ASSERT_TRUE(slow_began.wait());
    Running first(staying);
    eventually([&] { return tasks.workers().size() == 2; });
    std::latch both(2);
    std::jthread stops([&] {
      both.arrive_and_wait();
      second.stop();
    });
    both.arrive_and_wait();
    const auto id = tasks.enqueue(plain())->id;
    EXPECT_TRUE(tasks.wait(id, 20s)) << i;
    slow_may_end.set();
  }
}

TEST_F(WorkersByTheTestsClock, FailAHandlerThatDoesNotStopInTime) {
  Event asked_to_stop;
  Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 30s}};
  worker.handle("k", [&](const Json&, Context& context) {
    began.set();
    eventually([&] { return context.stop().stop_requested(); });
    asked_to_stop.set();
    EXPECT_TRUE(may_end.wait());
  });
  NewTask slow = plain();
  slow.timeout = 10ms;
  slow.max_attempts = 1;
  const auto id = tasks.enqueue(slow)->id;
  {
    Running running(worker);
    ASSERT_TRUE(began.wait());
    clock.advance(10ms);
    ASSERT_TRUE(asked_to_stop.wait());
    clock.advance(10s);  // A third of its lease.
    const auto task = tasks.wait(id, 60s);
    EXPECT_EQ(task->state, TaskState::dead);
    EXPECT_EQ(task->crashes, 0);
    EXPECT_EQ(task->attempt, 1);
    EXPECT_EQ(task->reason, "it took longer than 10ms: it was asked to stop, and did not");
    may_end.set();
  }
}

TEST_F(WorkersByTheTestsClock, CountTheTimeOfAHandlerFromItsBeginning) {
  Worker worker{tasks, {.queues = {{"q", 10}}, .threads = 1}};
  std::atomic<int> late = 0;
  worker.handle("slow", [&](const Json&, Context&) {
    began.set();
    EXPECT_TRUE(may_end.wait());
  });
  worker.handle("k", [&](const Json&, Context& context) {
    if (context.stop().stop_requested()) ++late;
  });
  ASSERT_TRUE(tasks.enqueue(plain("slow")));
  NewTask brief = plain();
  brief.timeout = 300ms;
  const auto id = tasks.enqueue(brief)->id;
  Running running(worker);
  ASSERT_TRUE(began.wait());
  eventually([&] { return tasks.get(id)->state == TaskState::running; });
  // Longer than its timeout, in which it waits for the thread.
  clock.advance(400ms);
  await_sleep();  // The worker has looked who is late.
  EXPECT_EQ(tasks.get(id)->state, TaskState::running);
  may_end.set();
  EXPECT_EQ(tasks.wait(id, 60s)->state, TaskState::done);
  EXPECT_EQ(late, 0);
}

TEST_F(WorkersOnTheEdge, BeginNothingAfterTheStop) {
  Worker worker{tasks, {.queues = {{"q", 10}}, .threads = 1}};
  std::atomic<int> begun = 0;
  worker.handle("k", [&](const Json&, Context& context) {
    ++begun;
    began.set();
    eventually([&] { return context.stop().stop_requested(); });
  });
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(tasks.enqueue(plain()));
  Running running(worker);
  ASSERT_TRUE(began.wait());
  eventually([&] { return tasks.queue("q").count(TaskState::running) == 10; });
  const auto report = running.stop();
  EXPECT_EQ(begun, 1);
  EXPECT_EQ(report.done, 1u);
  EXPECT_EQ(report.given_back, 9u);
  EXPECT_EQ(tasks.queue("q").count(TaskState::ready), 9);
}

TEST_F(WorkersOnTheEdge, KeepTheDelayOfAHandlerThatWantsOneWhileTheyStop) {
  Worker worker{tasks, {.queues = {{"q", 1}}}};
  worker.handle("k", [&](const Json&, Context& context) -> Finish {
    began.set();
    eventually([&] { return context.stop().stop_requested(); });
    return Retry{1h, "429"};
  });
  const auto id = tasks.enqueue(plain())->id;
  Running running(worker);
  ASSERT_TRUE(began.wait());
  running.stop();
  const auto task = tasks.get(id);
  EXPECT_EQ(task->state, TaskState::scheduled);
  EXPECT_EQ(task->errors.at(0).message, "429");
}

TEST_F(WorkersOnTheEdge, AreNotBusyWhileTheyWaitForTheLastHandler) {
  QueueSettings limited;
  limited.rate = 20;
  ASSERT_TRUE(tasks.configure("q", limited));
  Worker worker{tasks, {.queues = {{"q", 4}}}};
  worker.handle("k", [&](const Json&, Context&) {
    began.set();
    EXPECT_TRUE(may_end.wait());
  });
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(tasks.enqueue(plain()));
  std::stop_source stop;
  std::atomic<std::chrono::nanoseconds::rep> used = 0;
  std::jthread running([&] {
    worker.run(stop.get_token(), 60s);
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    used = time.tv_sec * 1'000'000'000 + time.tv_nsec;
  });
  ASSERT_TRUE(began.wait());
  stop.request_stop();
  // Longer than until the rate would let the next one through.
  EXPECT_EQ(tasks.wait(tasks.list({.queue = "q"})->tasks.front().id, 700ms).error().code,
            TaskError::Code::timed_out);
  may_end.set();
  running.join();
  EXPECT_LT(std::chrono::nanoseconds(used), 350ms);
}

TEST_F(WorkersOnTheEdge, SayWhichOptionsMakeNoSense) {
  const auto message = [&](WorkerOptions options) -> std::string {
    try {
      Worker worker{tasks, std::move(options)};
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.queues = {{"q", 1}, {"q", 2}}}), HasSubstr("named twice"));
  EXPECT_THAT(message({.queues = {{"q", 1}}, .lease_for = 2ms}), HasSubstr("lease_for"));
  EXPECT_THAT(message({.queues = {{"q", 1}}, .name = std::string(1000, 'x')}), HasSubstr("name"));
  Worker worker{tasks, {.queues = {{"q", 1}}}};
  worker.handle("k", [owned = std::make_unique<int>(7)](const Json&, Context&) { return *owned; });
  EXPECT_THROW(worker.handle("k", [](const Json&, Context&) {}), std::invalid_argument);
}

TEST_F(WorkersOnTheEdge, RunOnce) {
  Worker worker{tasks, {.queues = {{"q", 1}}}};
  worker.handle("k", [&](const Json&, Context&) {
    began.set();
    EXPECT_TRUE(may_end.wait());
  });
  ASSERT_TRUE(tasks.enqueue(plain()));
  Running running(worker);
  ASSERT_TRUE(began.wait());
  EXPECT_THROW(worker.run_until_idle(), std::logic_error);
  may_end.set();
}

TEST_F(WorkersByTheTestsClock, KeepANoteThatNobodyHasReplaced) {
  Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 30s}};
  worker.handle("k", [&](const Json&, Context& context) -> Finish {
    context.progress(0.1, "page 1");
    context.progress(0.2);
    began.set();
    EXPECT_TRUE(may_end.wait());
    return Defer{1h};
  });
  const auto id = tasks.enqueue(plain())->id;
  Running running(worker);
  ASSERT_TRUE(began.wait());
  clock.advance(10s);
  eventually([&] { return tasks.get(id)->progress > 0.15; });
  EXPECT_EQ(tasks.get(id)->note, "page 1");
  may_end.set();
}

// -- With files -----------------------------------------------------------------------------------

TEST(WorkersOfFiles, HearOfACancelByOthersAtOnce) {
  const Folder folder;
  const std::string where = "sqlite:" + folder.file("tasks.db");
  const Tasks tasks = tasks::open(where).value();
  const Tasks other = tasks::open(where).value();
  Event began;
  std::atomic<bool> was_stopped = false;
  Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 24h}};  // No heartbeat for eight hours.
  worker.handle("k", [&](const Json&, Context& context) {
    began.set();
    eventually([&] { return context.stop().stop_requested(); });
    was_stopped = true;
  });
  const auto id = tasks.enqueue(plain())->id;
  Running running(worker);
  ASSERT_TRUE(began.wait());
  ASSERT_TRUE(other.cancel(id));
  eventually([&] { return was_stopped.load(); });
  EXPECT_EQ(running.stop().cancelled, 1u);
}

TEST(NoticesOfTwoStores, AreCalledFromEachOther) {
  const Tasks one = tasks::open("memory:").value();
  const Tasks two = tasks::open("memory:").value();
  const auto first = one.enqueue(plain())->id;
  const auto second = two.enqueue(plain())->id;
  Event told;
  const auto outer = one.on_finished(first, [&](const auto&) { EXPECT_TRUE(two.cancel(second)); });
  const auto inner = two.on_finished(second, [&](const auto&) { told.set(); });
  ASSERT_TRUE(one.cancel(first));
  EXPECT_TRUE(told.wait({.deadline = within(60s), .stop = {}}));
}

}  // namespace
}  // namespace handoff::tests
