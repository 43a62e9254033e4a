// Workers and workflows: what a step reads of others, what can be waited for, and who is seen to work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/contract_store.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {

struct Part {
  int number;
};
BOOST_DESCRIBE_STRUCT(Part, (), (number))

namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Join {
  int parts;
};
BOOST_DESCRIBE_STRUCT(Join, (), (parts))

class WorkersOfWorkflows : public ::testing::Test {
 protected:
  const ContractStore contract{};
  const Tasks tasks = contract.open();
  Event may_end;
  Worker worker{tasks, {.queues = {{"default", 4}}, .name = "w"}};
};

TEST_F(WorkersOfWorkflows, GiveAStepWhatThoseBeforeItReturned) {
  worker.handle<Part>([](const Part& part, Context&) -> Finish { return Part{part.number * 10}; });
  worker.handle<Join>([](const Join& join, Context& context) {
    int sum = 0;
    for (int i = 0; i < join.parts; ++i) {
      sum += context.input<Part>("part-" + std::to_string(i)).number;
    }
    EXPECT_EQ(context.inputs().size(), static_cast<std::size_t>(join.parts));
    return sum;
  });
  Workflow workflow{"sum"};
  std::vector<std::string> parts;
  for (int i = 0; i < 10; ++i) {
    parts.push_back("part-" + std::to_string(i));
    workflow.step(parts.back(), Part{i});
  }
  workflow.step("join", Join{10}, {.after = parts});
  const auto started = tasks.start(workflow).value();
  worker.run_until_idle();
  EXPECT_EQ(tasks.get(started.tasks.at("join"))->result, "450");
  EXPECT_EQ(tasks.get(started.tasks.at("join"))->workflow, started.id);
}

TEST_F(WorkersOfWorkflows, SayWhichInputIsNotThere) {
  std::string unknown;
  std::string unreadable;
  worker.handle<Part>(
      [](const Part&, Context&) -> Finish { return Json::parse("\"seven\"").value(); });
  worker.handle<Join>([&](const Join&, Context& context) {
    const auto message_of = [&](std::string_view step) -> std::string {
      try {
        context.input<Part>(step);
        return "";
      } catch (const std::runtime_error& error) {
        return error.what();
      }
    };
    unknown = message_of("patr");
    unreadable = message_of("part");
  });
  Workflow workflow{"w"};
  workflow.step("part", Part{1}).then("join", Join{1});
  ASSERT_TRUE(tasks.start(workflow));
  worker.run_until_idle();
  EXPECT_EQ(unknown, "no step \"patr\" comes before this task; did you mean \"part\"?");
  EXPECT_THAT(unreadable, HasSubstr("what step \"part\" has returned cannot be read"));
}

TEST_F(WorkersOfWorkflows, EndAWorkflowSomebodyWaitsFor) {
  worker.handle<Part>([&](const Part&, Context&) { EXPECT_TRUE(may_end.wait()); });
  Workflow workflow{"w"};
  workflow.step("one", Part{1}).then("two", Part{2});
  const auto id = tasks.start(workflow)->id;
  EXPECT_EQ(tasks.wait_workflow(id, 1ms).error().code, TaskError::Code::timed_out);
  const auto run = [&](const std::stop_token& stop) { worker.run(stop); };
  std::jthread running(run);
  may_end.set();
  EXPECT_EQ(tasks.wait_workflow(id, 60s)->state, TaskState::done);
  EXPECT_EQ(sync_wait(tasks.async_wait_workflow(id))->state, TaskState::done);
  EXPECT_EQ(tasks.wait_workflow(TaskId::make(Time()), 1ms).error().code,
            TaskError::Code::not_found);
}

TEST_F(WorkersOfWorkflows, CancelWhatRuns) {
  Event began;
  worker.handle<Part>([&](const Part&, Context& context) {
    began.set();
    handoff::testing::eventually([&] { return context.stop().stop_requested(); });
  });
  Workflow workflow{"w"};
  workflow.step("one", Part{1}).then("two", Part{2});
  const auto id = tasks.start(workflow)->id;
  const auto run = [&](const std::stop_token& stop) { worker.run(stop); };
  std::jthread running(run);
  ASSERT_TRUE(began.wait());
  ASSERT_TRUE(tasks.cancel_workflow(id, "enough"));
  EXPECT_EQ(tasks.wait_workflow(id, 60s)->state, TaskState::cancelled);
}

TEST_F(WorkersOfWorkflows, AreRetriedAsOne) {
  int fails = 2;
  worker.handle<Part>([&](const Part& part, Context&) -> Finish {
    if (part.number == 1 && fails-- > 0) return Fail{"not yet"};
    return {};
  });
  Workflow workflow{"w"};
  workflow.step("one", Part{1}).then("two", Part{2});
  const auto id = tasks.start(workflow)->id;
  worker.run_until_idle();
  EXPECT_EQ(tasks.workflow(id)->state, TaskState::dead);
  EXPECT_EQ(tasks.retry_workflow(id), 1);
  worker.run_until_idle();
  EXPECT_EQ(tasks.workflow(id)->state, TaskState::dead);
  EXPECT_EQ(tasks.retry_workflow(id), 1);
  worker.run_until_idle();
  EXPECT_EQ(tasks.workflow(id)->state, TaskState::done);
  EXPECT_EQ(tasks.workflows()->workflows.size(), 1u);
}

TEST_F(WorkersOfWorkflows, AreSeenWhileTheyWork) {
  Event began;
  worker.handle<Part>([&](const Part&, Context&) {
    began.set();
    EXPECT_TRUE(may_end.wait());
  });
  const auto id = tasks.enqueue(Part{1})->id;
  EXPECT_EQ(tasks.explain(id)->code, Explanation::Code::no_worker);
  {
    const auto run = [&](const std::stop_token& stop) { worker.run(stop); };
    std::jthread running(run);
    ASSERT_TRUE(began.wait());
    const auto workers = tasks.workers();
    ASSERT_EQ(workers.size(), 1u);
    EXPECT_EQ(workers[0].name, "w");
    EXPECT_THAT(workers[0].kinds, ElementsAre("Part"));
    ASSERT_EQ(workers[0].running.size(), 1u);
    EXPECT_EQ(workers[0].running[0].task, id);
    EXPECT_EQ(tasks.explain(id)->code, Explanation::Code::running);
    may_end.set();
  }
  EXPECT_TRUE(tasks.workers().empty());
}

}  // namespace
}  // namespace handoff::tests
