// Workers: handlers by kind, what they may return, timeouts, cancels, shutdown.
#include "handoff/tasks/worker.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/contract_store.hpp"
#include "tasks/running_worker.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {

struct Sum {
  int first;
  int second;
};
BOOST_DESCRIBE_STRUCT(Sum, (), (first, second))

namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using testing::eventually;

NewTask plain(std::string kind = "k") { return {.queue = "q", .kind = std::move(kind)}; }

class Workers : public ::testing::Test {
 protected:
  const ContractStore contract{};
  const Tasks tasks = contract.open();
  // Handlers may still be at them when the test is over: the worker waits for those.
  Event began;
  Event may_end;
  Worker worker{tasks, {.queues = {{"q", 4}}, .name = "w"}};
};

TEST_F(Workers, RunTasksAndKeepTheirResults) {
  worker.handle<Sum>([](const Sum& sum, Context&) { return sum.first + sum.second; });
  const auto id = tasks.enqueue(Sum{2, 3}, {.queue = "q"}).value().id;
  const auto report = worker.run_until_idle();
  EXPECT_EQ(report.done, 1u);
  EXPECT_EQ(tasks.get(id)->result, "5");
  EXPECT_EQ(tasks.get(id)->worker, "w");
}

TEST_F(Workers, MayHandleAnyKind) {
  worker.handle("own", [](const Json&, Context&) { return std::string("its own"); });
  worker.handle_any([](const Json&, Context& context) { return "any: " + context.kind(); });
  const auto own = tasks.enqueue(plain("own")).value().id;
  const auto other = tasks.enqueue(plain("resize/3")).value().id;
  EXPECT_EQ(worker.run_until_idle().done, 2u);
  EXPECT_EQ(tasks.get(own)->result, "\"its own\"");
  EXPECT_EQ(tasks.get(other)->result, "\"any: resize/3\"");
  EXPECT_THROW(worker.handle_any([](const Json&, Context&) {}), std::invalid_argument);
}

TEST_F(Workers, AHandlerOfAnyKindHasOptionsToo) {
  worker.handle_any([](const Json&, Context&) -> Finish { throw std::runtime_error("no"); },
                    {.max_attempts = 1});
  EXPECT_THROW(worker.handle_any([](const Json&, Context&) {}, {.max_attempts = -1}),
               std::invalid_argument);
  const auto id = tasks.enqueue(plain()).value().id;
  EXPECT_EQ(worker.run_until_idle().failed, 1u);
  EXPECT_EQ(tasks.get(id)->state, TaskState::dead);
}

TEST_F(Workers, ThatHandleAnyKindAreSeenToDoSo) {
  worker.handle("own", [](const Json&, Context&) {});
  worker.handle_any([](const Json&, Context&) {});
  Running running(worker);
  eventually([&] { return tasks.workers().size() == 1; });
  EXPECT_TRUE(tasks.workers().front().kinds.empty());
  running.stop();
}

TEST_F(Workers, TellAHandlerAboutItsTask) {
  NewTask task = plain();
  task.group = "g";
  task.max_attempts = 7;
  std::string seen;
  worker.handle("k", [&](const Json& payload, Context& context) -> Finish {
    seen = context.queue() + context.kind() + context.group() + std::to_string(context.attempt()) +
           std::to_string(context.max_attempts()) + payload.text();
    return {};
  });
  ASSERT_TRUE(tasks.enqueue(task));
  worker.run_until_idle();
  EXPECT_EQ(seen, "qkg17null");
}

TEST_F(Workers, FinishATaskAsItsHandlerSays) {
  worker.handle("fail", [](const Json&, Context&) -> Finish { return Fail{"no such user"}; });
  worker.handle("defer", [](const Json&, Context&) -> Finish { return Defer{1h}; });
  worker.handle("cancel", [](const Json&, Context&) -> Finish { return Cancel{"not needed"}; });
  worker.handle("throw",
                [](const Json&, Context&) -> Finish { throw std::runtime_error("no luck"); });
  std::map<std::string, TaskId> ids;
  for (const std::string kind : {"fail", "defer", "cancel", "throw", "unknown"}) {
    ids[kind] = tasks.enqueue(plain(kind)).value().id;
  }
  const auto report = worker.run_until_idle();
  EXPECT_EQ(report.failed, 3u);
  EXPECT_EQ(report.deferred, 1u);
  EXPECT_EQ(tasks.get(ids["fail"])->state, TaskState::dead);
  EXPECT_EQ(tasks.get(ids["fail"])->reason, "no such user");
  EXPECT_EQ(tasks.get(ids["defer"])->state, TaskState::scheduled);
  EXPECT_EQ(tasks.get(ids["defer"])->attempt, 0);
  EXPECT_EQ(tasks.get(ids["cancel"])->state, TaskState::cancelled);
  EXPECT_EQ(tasks.get(ids["throw"])->state, TaskState::scheduled);
  EXPECT_EQ(tasks.get(ids["throw"])->errors[0].message, "no luck");
  EXPECT_EQ(tasks.get(ids["unknown"])->state, TaskState::scheduled);
  EXPECT_THAT(tasks.get(ids["unknown"])->errors[0].message,
              HasSubstr("no handler for kind \"unknown\""));
}

TEST_F(Workers, FailAPayloadThatCannotBeReadWithAClearMessage) {
  worker.handle<Sum>([](const Sum&, Context&) {});
  NewTask task = plain("Sum");
  task.payload = R"({"first":1,"second":"x"})";
  const auto id = tasks.enqueue(task).value().id;
  worker.run_until_idle();
  EXPECT_THAT(tasks.get(id)->errors[0].message, HasSubstr("second: expected"));
}

TEST_F(Workers, PickUpWhatComesWhileTheyWait) {
  std::atomic<int> ran = 0;
  worker.handle("k", [&](const Json&, Context&) -> Finish {
    ++ran;
    return {};
  });
  Running running(worker);
  for (int i = 1; i <= 20; ++i) {
    const auto id = tasks.enqueue(plain()).value().id;
    ASSERT_EQ(tasks.wait(id, 30s)->state, TaskState::done);
  }
  EXPECT_EQ(running.stop().done, 20u);
  EXPECT_EQ(ran, 20);
}

TEST_F(Workers, PickUpWhatIsDue) {
  worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
  Running running(worker);
  NewTask soon = plain();
  soon.delay = 20ms;
  const auto id = tasks.enqueue(soon).value().id;
  EXPECT_EQ(tasks.wait(id, 30s)->state, TaskState::done);
  running.stop();
}

TEST_F(Workers, RunNoMoreAtATimeThanTheyMay) {
  std::atomic<int> now = 0;
  std::atomic<int> most = 0;
  worker.handle("k", [&](const Json&, Context&) -> Finish {
    const int here = ++now;
    int seen = most;
    while (here > seen && !most.compare_exchange_weak(seen, here)) {
    }
    std::this_thread::yield();
    --now;
    return {};
  });
  ASSERT_TRUE(tasks.enqueue(std::vector<NewTask>(200, plain())));
  EXPECT_EQ(worker.run_until_idle().done, 200u);
  EXPECT_LE(most, 4);
}

TEST_F(Workers, StopAHandlerWhoseTaskIsCancelled) {
  worker.handle("k", [&](const Json&, Context& context) -> Finish {
    began.set();
    Event never;
    static_cast<void>(never.wait({.deadline = {}, .stop = context.stop()}));
    return {};
  });
  Running running(worker);
  const auto id = tasks.enqueue(plain()).value().id;
  ASSERT_TRUE(began.wait({.deadline = within(30s), .stop = {}}));
  EXPECT_EQ(tasks.cancel(id), TaskState::running);
  // The handler ends, or this would wait for ever.
  EXPECT_EQ(running.stop().cancelled, 1u);
  EXPECT_EQ(tasks.get(id)->state, TaskState::cancelled);
}

// The handler of the first run has not ended: a second one must not begin.
TEST_F(Workers, RunACancelledTaskAgainOnceItsHandlerHasEnded) {
  std::atomic<int> runs = 0;
  worker.handle("k", [&](const Json&, Context&) -> Finish {
    if (++runs > 1) return {};
    began.set();
    static_cast<void>(may_end.wait());
    return {};
  });
  Running running(worker);
  const auto id = tasks.enqueue(plain()).value().id;
  ASSERT_TRUE(began.wait({.deadline = within(30s), .stop = {}}));
  ASSERT_TRUE(tasks.cancel(id));
  EXPECT_EQ(tasks.retry(id).error().code, TaskError::Code::conflict);
  may_end.set();
  eventually([&] { return tasks.retry(id).has_value(); });
  EXPECT_EQ(tasks.wait(id, 30s)->state, TaskState::done);
  EXPECT_EQ(runs, 2);
}

TEST_F(Workers, StopUntilIdleEarlierIfTheyAreAsked) {
  std::stop_source stop;
  worker.handle("k", [&](const Json&, Context& context) -> Finish {
    stop.request_stop();
    Event never;
    static_cast<void>(never.wait({.deadline = {}, .stop = context.stop()}));
    throw std::runtime_error("stopped");
  });
  const auto id = tasks.enqueue(plain()).value().id;
  EXPECT_EQ(worker.run_until_idle(stop.get_token()).given_back, 1u);
  EXPECT_EQ(tasks.get(id)->state, TaskState::ready);
}

TEST_F(Workers, StopAHandlerThatTakesTooLong) {
  worker.handle("k", [&](const Json&, Context& context) -> Finish {
    Event never;
    static_cast<void>(never.wait({.deadline = {}, .stop = context.stop()}));
    throw std::runtime_error("stopped");
  });
  NewTask brief = plain();
  brief.timeout = 20ms;
  brief.max_attempts = 1;
  const auto id = tasks.enqueue(brief).value().id;
  worker.run_until_idle();
  EXPECT_EQ(tasks.get(id)->state, TaskState::dead);
  EXPECT_EQ(tasks.get(id)->reason, "it took longer than 20ms: stopped");
}

TEST_F(Workers, GiveBackWhatTheyCannotFinish) {
  worker.handle("obeys", [&](const Json&, Context& context) -> Finish {
    Event never;
    static_cast<void>(never.wait({.deadline = {}, .stop = context.stop()}));
    throw std::runtime_error("stopped");
  });
  worker.handle("stubborn", [&](const Json&, Context&) -> Finish {
    began.set();
    static_cast<void>(may_end.wait());
    return {};
  });
  const auto obeys = tasks.enqueue(plain("obeys")).value().id;
  const auto stubborn = tasks.enqueue(plain("stubborn")).value().id;
  Running running(worker, 50ms);
  ASSERT_TRUE(began.wait({.deadline = within(30s), .stop = {}}));
  eventually([&] { return tasks.get(obeys)->state == TaskState::running; });
  const auto report = running.stop();
  EXPECT_EQ(report.given_back, 2u);
  for (const auto& id : {obeys, stubborn}) {
    EXPECT_EQ(tasks.get(id)->state, TaskState::ready);
    EXPECT_EQ(tasks.get(id)->attempt, 0);
  }
  may_end.set();
}

TEST_F(Workers, FinishWhatIsDoneInTimeAsTheyStop) {
  worker.handle("k", [&](const Json&, Context& context) -> Finish {
    began.set();
    Event never;
    static_cast<void>(never.wait({.deadline = {}, .stop = context.stop()}));
    return {};  // It was quick enough.
  });
  const auto id = tasks.enqueue(plain()).value().id;
  Running running(worker);
  ASSERT_TRUE(began.wait({.deadline = within(30s), .stop = {}}));
  EXPECT_EQ(running.stop().done, 1u);
  EXPECT_EQ(tasks.get(id)->state, TaskState::done);
}

TEST_F(Workers, ExtendTheLeaseOfALongTask) {
  // By the real clock the lease might end before the worker gets a core to extend it.
  ManualTaskClock clock;
  const Tasks timed = handoff::testing::open_tasks(clock);
  Worker brief{timed, {.queues = {{"q", 1}}, .lease_for = 30s}};
  std::atomic<int> runs = 0;
  brief.handle("k", [&](const Json&, Context& context) -> Finish {
    ++runs;
    context.progress(0.25, "a quarter");
    began.set();
    static_cast<void>(may_end.wait());
    return {};
  });
  const auto id = timed.enqueue(plain()).value().id;
  Running running(brief);
  ASSERT_TRUE(began.wait());
  // Written by an extension, of which there is one every ten seconds.
  clock.advance(10s);
  eventually([&] { return timed.get(id)->note == "a quarter"; }, 30s);
  EXPECT_EQ(timed.get(id)->progress, 0.25);
  clock.advance(25s);  // Longer than the lease it began with.
  EXPECT_EQ(timed.get(id)->state, TaskState::running);
  may_end.set();
  EXPECT_EQ(timed.wait(id, 30s)->state, TaskState::done);
  EXPECT_EQ(running.stop().done, 1u);
  EXPECT_EQ(runs, 1);
}

TEST_F(Workers, ShareAQueueAndRunEachTaskOnce) {
  const Folder folder;
  const std::string where = "sqlite:" + folder.file("shared.db");
  const Tasks one = tasks::open(where, {.fast = true}).value();
  const Tasks two = tasks::open(where, {.fast = true}).value();
  std::mutex lock;
  std::multiset<std::string> seen;
  const auto handler = [&](const Json&, Context& context) -> Finish {
    const std::scoped_lock turn(lock);
    seen.insert(context.id().to_string());
    return {};
  };
  Worker first{one, {.queues = {{"q", 3}}}};
  Worker second{two, {.queues = {{"q", 3}}}};
  first.handle("k", handler);
  second.handle("k", handler);
  Running running_first(first);
  Running running_second(second);
  std::vector<TaskId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back((i % 2 == 0 ? one : two).enqueue(plain()).value().id);
  for (const TaskId& id : ids) ASSERT_EQ(one.wait(id, 30s)->state, TaskState::done);
  EXPECT_EQ(running_first.stop().done + running_second.stop().done, 100u);
  EXPECT_EQ(seen.size(), 100u);
  EXPECT_EQ(std::set<std::string>(seen.begin(), seen.end()).size(), 100u);
}

TEST_F(Workers, SayWhichOptionsMakeNoSense) {
  EXPECT_THROW(Worker(tasks, {}), std::invalid_argument);
  EXPECT_THROW(Worker(tasks, {.queues = {{"q", 0}}}), std::invalid_argument);
  EXPECT_THROW(Worker(tasks, {.queues = {{"a b", 1}}}), std::invalid_argument);
}

TEST_F(Workers, KeepMessagesThatCanBeShown) {
  worker.handle("k", [](const Json&, Context&) -> Finish {
    throw std::runtime_error("bad byte \xff, and long: " + std::string(100'000, 'x'));
  });
  const auto id = tasks.enqueue(plain()).value().id;
  worker.run_until_idle();
  const std::string message = tasks.get(id)->errors.at(0).message;
  EXPECT_THAT(message, ::testing::StartsWith("bad byte ?, and long: xxx"));
  EXPECT_EQ(message.size(), 16384u);
}

TEST_F(Workers, FailATaskWhoseResultIsTooLarge) {
  worker.handle("k", [](const Json&, Context&) -> Finish { return std::string(2'000'000, 'x'); });
  const auto id = tasks.enqueue(plain()).value().id;
  worker.run_until_idle();
  EXPECT_EQ(tasks.get(id)->state, TaskState::dead);
  EXPECT_EQ(tasks.get(id)->reason, "its result has 2000002 bytes; 1048576 are allowed");
}

}  // namespace
}  // namespace handoff::tests
