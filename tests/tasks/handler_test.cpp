// What handlers can say: logs, longer leases, when they want to be tried again; and what is said of them.
#include "handoff/tasks/handler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "handoff/event.hpp"
#include "handoff/tasks/testing.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using handoff::testing::eventually;
using handoff::testing::run_inline;
using ::testing::HasSubstr;

class Handlers : public ::testing::Test {
 protected:
  TaskId add(const std::string& kind = "k", int max_attempts = 0) {
    return tasks.enqueue({.queue = "q", .kind = kind, .max_attempts = max_attempts}).value().id;
  }
  // Runs what is ready.
  template <typename Handler>
  WorkerReport run(Handler handler, HandlerOptions options = {}) {
    return run_inline(tasks, {"q"}, [&](Worker& worker) { worker.handle("k", handler, options); });
  }
  std::vector<std::string> log_of(const TaskId& id) {
    std::vector<std::string> lines;
    for (const LogLine& each : tasks.log(id)) lines.push_back(each.line);
    return lines;
  }

  ManualTaskClock clock;
  const Tasks tasks = handoff::testing::open_tasks(clock);
};

// -- Logs -----------------------------------------------------------------------------------------

TEST_F(Handlers, KeepALogThroughAllAttempts) {
  const auto id = add();
  const auto began = clock.now();
  const auto handler = [&](const Json&, Context& context) -> Finish {
    context.log("attempt " + std::to_string(context.attempt()));
    if (context.attempt() == 1) throw std::runtime_error("no luck");
    context.log("done");
    return {};
  };
  run(handler);
  clock.advance(1h);
  run(handler);
  EXPECT_THAT(log_of(id), ::testing::ElementsAre("attempt 1", "attempt 2", "done"));
  const auto lines = tasks.log(id);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].number, 1);
  EXPECT_EQ(lines[0].at, began);
  EXPECT_EQ(lines[2].number, 3);
  EXPECT_EQ(lines[2].at, began + 1h);
}

TEST_F(Handlers, KeepTheLastThousandLines) {
  const auto id = add();
  const auto handler = [&](const Json&, Context& context) -> Finish {
    for (int i = 0; i < 700; ++i) context.log(std::to_string(context.attempt() * 1000 + i));
    if (context.attempt() == 1) return Retry{0ms};
    return {};
  };
  run(handler);
  auto lines = tasks.log(id);
  ASSERT_EQ(lines.size(), 1000u);
  EXPECT_EQ(lines.front().number, 401);
  EXPECT_EQ(lines.front().line, "1400");
  EXPECT_EQ(lines.back().line, "2699");
  const auto many = add();
  run([&](const Json&, Context& context) {
    for (int i = 0; i < 2500; ++i) context.log(std::to_string(i));
  });
  lines = tasks.log(many);
  ASSERT_EQ(lines.size(), 1000u);
  EXPECT_EQ(lines.front().line, "1500");
}

TEST_F(Handlers, CutLongLinesAndReplaceWhatIsNoText) {
  const auto id = add();
  run([&](const Json&, Context& context) {
    context.log(std::string(5000, 'x'));
    context.log(std::string(4095, 'x') + "\u00e9");  // The last character would be cut in two.
    context.log("a\xff" + std::string(1, '\0') + "b");
    context.log("");
  });
  const auto lines = log_of(id);
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], std::string(4096, 'x'));
  EXPECT_EQ(lines[1], std::string(4095, 'x'));
  EXPECT_EQ(lines[2], "a?" + std::string(1, '\0') + "b");
  EXPECT_EQ(lines[3], "");
}

TEST_F(Handlers, ShowTheirLogWhileTheyRun) {
  Event may_end;
  Worker worker{tasks, {.queues = {{"q", 1}}}};
  Event said;
  worker.handle("k", [&](const Json&, Context& context) {
    context.log("begun");
    said.set();
    static_cast<void>(may_end.wait());
  });
  const auto id = add();
  std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
  ASSERT_TRUE(said.wait());
  EXPECT_TRUE(tasks.log(id).empty());  // Not at once: a log of many lines is written now and then.
  clock.advance(1s);
  eventually([&] { return !tasks.log(id).empty(); });
  may_end.set();
  EXPECT_EQ(tasks.wait(id, 1min)->state, TaskState::done);
}

TEST_F(Handlers, LeaveNoLogBehind) {
  const auto id = add();
  run([](const Json&, Context& context) { context.log("x"); });
  EXPECT_EQ(log_of(id).size(), 1u);
  EXPECT_EQ(tasks.purge("q", TaskState::done), 1);
  EXPECT_TRUE(tasks.log(id).empty());
  // Nor for a task that gets the same row.
  EXPECT_TRUE(tasks.log(add()).empty());
}

class LogStores : public StoreTest {};

TEST_P(LogStores, LogOnlyWhatWhoHoldsTheLeaseSays) {
  add({.queue = "q", .kind = "k"});
  const auto task = claim().front();
  const auto log = [&](const Lease& lease) {
    const TaskLines lines{
        .id = task.id, .lease = lease, .lines = {{.number = 0, .at = clock.now(), .line = "x"}}};
    with([&](Transaction& each) { each.log(std::span(&lines, 1)); });
    return with([&](Transaction& each) { return each.lines_of(task.id).size(); });
  };
  EXPECT_EQ(log(task.lease), 1u);
  EXPECT_EQ(log({.row = task.lease.row, .token = task.lease.token + 1}), 1u);
  finish(task);
  EXPECT_EQ(log(task.lease), 1u);
}
INSTANTIATE_TEST_SUITE_P(Kinds, LogStores, ::testing::Values("memory", "file"),
                         [](const auto& kind) { return kind.param; });

// -- Longer leases --------------------------------------------------------------------------------

TEST_F(Handlers, KeepATaskForAsLongAsTheyAskFor) {
  const auto id = add();
  const auto report = run([&](const Json&, Context& context) {
    EXPECT_TRUE(context.extend(5min));
    clock.advance(5min - 1ms);  // All the process is held up.
    EXPECT_TRUE(context.extend(1min));
  });
  EXPECT_EQ(report.done, 1u);
  EXPECT_EQ(tasks.get(id)->crashes, 0);
}

TEST_F(Handlers, AreToldThatTheirLeaseIsLost) {
  const auto id = add();
  int runs = 0;
  const auto report = run([&](const Json&, Context& context) {
    if (++runs > 1) return;
    EXPECT_TRUE(context.extend(5min));
    clock.advance(5min);
    EXPECT_FALSE(context.extend(5min));
    EXPECT_TRUE(context.stop().stop_requested());
  });
  EXPECT_EQ(report.stale, 1u);
  EXPECT_EQ(report.done, 1u);
  EXPECT_EQ(tasks.get(id)->crashes, 1);
}

TEST_F(Handlers, AreToldThatTheirTaskIsCancelled) {
  const auto id = add();
  run([&](const Json&, Context& context) {
    ASSERT_TRUE(tasks.cancel(id));
    EXPECT_FALSE(context.extend(1min));
  });
  EXPECT_EQ(tasks.get(id)->state, TaskState::cancelled);
}

TEST_F(Handlers, AskForATimeThatMakesSense) {
  const auto id = add();
  run([&](const Json&, Context& context) { static_cast<void>(context.extend(2 * 24h)); });
  EXPECT_THAT(tasks.get(id)->errors[0].message, HasSubstr("time must be"));
}

TEST_F(Handlers, KeepALongLeaseAlthoughTheWorkerExtendsIt) {
  Event extended;
  Event may_end;
  Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 30s}};
  worker.handle("k", [&](const Json&, Context& context) {
    EXPECT_TRUE(context.extend(1h));
    context.progress(0.5, "half");
    extended.set();
    static_cast<void>(may_end.wait());
  });
  const auto id = add();
  {
    std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
    ASSERT_TRUE(extended.wait());
    clock.advance(1s);
    eventually([&] { return tasks.get(id)->note == "half"; });  // Which is an extension, by 30 s.
    clock.advance(50min);
    EXPECT_EQ(tasks.get(id)->crashes, 0);
    EXPECT_EQ(tasks.get(id)->state, TaskState::running);
    may_end.set();
    EXPECT_EQ(tasks.wait(id, 1min)->state, TaskState::done);
  }
}

// -- When to try again ----------------------------------------------------------------------------

TEST_F(Handlers, SayWhenTheyWantToBeTriedAgain) {
  const auto id = add();
  run([](const Json&, Context&) -> Finish { return Retry{10s, "429"}; });
  EXPECT_EQ(tasks.get(id)->run_at, clock.now() + 10s);
  EXPECT_EQ(tasks.get(id)->attempt, 1);
  EXPECT_EQ(tasks.get(id)->errors[0].message, "429");
  clock.advance(10s);
  run([](const Json&, Context&) { throw RetryAfter(20s, "503"); });
  EXPECT_EQ(tasks.get(id)->run_at, clock.now() + 20s);
  EXPECT_EQ(tasks.get(id)->attempt, 2);
  EXPECT_EQ(tasks.get(id)->errors[1].message, "503");
}

TEST_F(Handlers, AreNotTriedAgainWithoutAttemptsLeft) {
  const auto id = add("k", 1);
  run([](const Json&, Context&) -> Finish { return Retry{10s, "429"}; });
  EXPECT_EQ(tasks.get(id)->state, TaskState::dead);
  EXPECT_EQ(tasks.get(id)->reason, "429");
}

TEST_F(Handlers, HaveARetryPolicyOfTheirKind) {
  const auto id = add();
  const HandlerOptions options{
      .retry = RetryPolicy{ExponentialBackoff{.base = 7s, .factor = 3, .jitter = 0}},
      .max_attempts = 3};
  const auto handler = [](const Json&, Context& context) -> Finish {
    if (context.attempt() == 2) return Retry{1s};  // Comes first.
    throw std::runtime_error("no luck");
  };
  run(handler, options);
  EXPECT_EQ(tasks.get(id)->run_at, clock.now() + 7s);
  clock.advance(7s);
  run(handler, options);
  EXPECT_EQ(tasks.get(id)->run_at, clock.now() + 1s);
  clock.advance(1s);
  run(handler, options);
  EXPECT_EQ(tasks.get(id)->state, TaskState::dead);
  EXPECT_EQ(tasks.get(id)->reason, "no luck");
}

TEST_F(Handlers, HaveOptionsThatMakeSense) {
  Worker worker{tasks, handoff::testing::inline_worker({"q"})};
  const auto handler = [](const Json&, Context&) {};
  EXPECT_THROW(worker.handle("k", handler, {.max_attempts = -1}), std::invalid_argument);
  EXPECT_THROW(worker.handle("k", handler, {.max_attempts = 1001}), std::invalid_argument);
  EXPECT_THROW(worker.handle("k", handler, {.retry = RetryPolicy{FixedBackoff{.delay = -1s}}}),
               std::invalid_argument);
  EXPECT_THROW(worker.handle("a b", handler), std::invalid_argument);
}

// -- Versions -------------------------------------------------------------------------------------

TEST_F(Handlers, OfOtherVersionsAreNamedWhereOneIsMissing) {
  const auto newer = add("resize/3");
  const auto other = add("mail");
  run_inline(tasks, {"q"}, [](Worker& worker) {
    for (const char* const kind : {"resize/1", "resize/2", "resized", "count"}) {
      worker.handle(kind, [](const Json&, Context&) {});
    }
  });
  EXPECT_EQ(tasks.get(newer)->errors[0].message,
            "no handler for kind \"resize/3\"; this worker knows resize/1, resize/2");
  EXPECT_EQ(tasks.get(other)->errors[0].message,
            "no handler for kind \"mail\"; this worker knows count, resize/1, resize/2, resized");
  EXPECT_EQ(tasks.get(newer)->state, TaskState::scheduled);
}

}  // namespace
}  // namespace handoff::tests
