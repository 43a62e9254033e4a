// Steps that depend on each other: the builder, and what becomes of them.
#include "handoff/tasks/workflow.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tasks/stores.hpp"
#include "tasks/workflow.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = Outcome::Kind;

struct Charge {
  std::string order;
  int cents = 0;
};
BOOST_DESCRIBE_STRUCT(Charge, (), (order, cents))

NewTask plain() { return {.queue = "q", .kind = "k"}; }

// -- The builder ----------------------------------------------------------------------------------

const Time some_time = parse_time("2026-11-17T12:00:00Z").value();

std::vector<std::string> names(const NewWorkflow& workflow) {
  std::vector<std::string> all;
  for (const auto& each : workflow.steps) all.push_back(each.name);
  return all;
}

TEST(WorkflowBuilder, PutsStepsInAnOrderInWhichTheyCanRun) {
  Workflow workflow{"w"};
  workflow.step("last", plain(), {"left", "right"})
      .step("left", plain(), {"first"})
      .step("right", plain(), {"first"})
      .step("first", plain());
  const auto prepared = prepare(workflow, some_time).value();
  EXPECT_THAT(names(prepared), ElementsAre("first", "left", "right", "last"));
  EXPECT_THAT(prepared.steps[3].task.after,
              ElementsAre(*prepared.steps[1].task.id, *prepared.steps[2].task.id));
}

TEST(WorkflowBuilder, TakesPayloadsAsTheyAre) {
  Workflow workflow{"w"};
  workflow.step("charge", Charge{"o7", 500}, {.task = {.queue = "pay"}})
      .then("again", Charge{"o8", 1}, {.priority = 3})
      .then("raw", NewTask{.queue = "q", .kind = "k", .payload = "7"});
  const auto steps = prepare(workflow, some_time).value().steps;
  EXPECT_EQ(steps[0].task.kind, "Charge");
  EXPECT_EQ(steps[0].task.queue, "pay");
  EXPECT_EQ(steps[0].task.payload, R"({"order":"o7","cents":500})");
  EXPECT_EQ(steps[1].task.priority, 3);
  EXPECT_THAT(steps[1].after, ElementsAre("charge"));
  EXPECT_THAT(steps[2].after, ElementsAre("again"));
  EXPECT_EQ(steps[2].task.payload, "7");
}

TEST(WorkflowBuilder, NamesWhatIsWrong) {
  const auto error_of = [](const Workflow& workflow) {
    return prepare(workflow, some_time).error();
  };
  EXPECT_EQ(error_of(Workflow{"w"}).field, "steps");
  EXPECT_EQ(error_of(Workflow{""}.step("a", plain())).field, "name");
  EXPECT_EQ(error_of(Workflow{"w"}.step("a b", plain())).field, "steps[0].name");
  EXPECT_THAT(error_of(Workflow{"w"}.step("a", plain()).step("a", plain())).message,
              HasSubstr("two steps \"a\""));
  const auto unknown =
      error_of(Workflow{"w"}.step("charge", plain()).step("b", plain(), {"chrage"}));
  EXPECT_EQ(unknown.field, "steps.b.after");
  EXPECT_THAT(unknown.message, HasSubstr("did you mean \"charge\"?"));
  auto bad_task = plain();
  bad_task.priority = 1000;
  EXPECT_EQ(error_of(Workflow{"w"}.step("a", bad_task)).field, "steps.a.priority");
}

TEST(WorkflowBuilder, NamesACircle) {
  Workflow workflow{"w"};
  workflow.step("start", plain())
      .step("a", plain(), {"start", "c"})
      .step("b", plain(), {"a"})
      .step("c", plain(), {"b"})
      .step("behind", plain(), {"c"});
  EXPECT_THAT(prepare(workflow, some_time).error().message, HasSubstr("a after c after b after a"));
  EXPECT_THAT(prepare(Workflow{"w"}.step("a", plain(), {"a"}), some_time).error().message,
              HasSubstr("a after a"));
}

// -- In a store -----------------------------------------------------------------------------------

class Workflows : public StoreTest {
 protected:
  StartedWorkflow start(const Workflow& workflow) {
    return with([&](Transaction& each) {
             return each.start(prepare(workflow, clock.now()).value());
           })
        .value();
  }
  WorkflowLook look_at(const WorkflowId& id) {
    return with([&](Transaction& each) { return each.workflow(id).value(); });
  }
  TaskState state(const WorkflowId& id, std::string_view step) {
    const auto look = look_at(id);
    return std::ranges::find(look.steps, step, &StepLook::name)->state;
  }
  // Claims what is ready and ends it, until nothing is.
  void run_all(std::string_view failing = "") {
    for (auto claimed = claim(10); !claimed.empty(); claimed = claim(10)) {
      for (const Claimed& each : claimed) {
        const bool fails = !failing.empty() && get(each.id).step == failing;
        finish(each, fails ? Kind::failed_for_good : Kind::done,
               fails ? "no" : '"' + get(each.id).step + '"');
      }
    }
  }
  Workflow diamond() {
    Workflow workflow{"diamond"};
    workflow.step("first", plain())
        .step("left", plain(), {"first"})
        .step("right", plain(), {"first"})
        .step("last", plain(), {"left", "right"})
        .step("beside", plain());
    return workflow;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Workflows, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(Workflows, RunTheirStepsInOrder) {
  const auto started = start(diamond());
  EXPECT_EQ(look_at(started.id).state, TaskState::running);
  EXPECT_EQ(look_at(started.id).unfinished, 5);
  EXPECT_EQ(claim(10).size(), 2u);  // "first" and "beside".
  EXPECT_EQ(state(started.id, "left"), TaskState::waiting);
}

TEST_P(Workflows, EndWhenAllStepsHave) {
  const auto started = start(diamond());
  run_all();
  EXPECT_THAT(changes.workflows, ElementsAre());
  const auto look = look_at(started.id);
  EXPECT_EQ(look.state, TaskState::done);
  EXPECT_EQ(look.finished_at, clock.now());
  EXPECT_EQ(look.unfinished, 0);
  EXPECT_EQ(look.steps.back().result, "\"last\"");
  EXPECT_EQ(look.steps.back().name, "last");
  EXPECT_THAT(look.steps.back().after, ElementsAre("left", "right"));
}

TEST_P(Workflows, TellWhenTheyHaveEnded) {
  const auto started = start(Workflow{"w"}.step("a", plain()).then("b", plain()));
  finish(claim()[0]);
  EXPECT_TRUE(changes.workflows.empty());
  finish(claim()[0], Kind::failed_for_good);
  EXPECT_THAT(changes.workflows, ElementsAre(std::pair(started.id, TaskState::dead)));
}

TEST_P(Workflows, GiveEachStepWhatThoseBeforeItReturned) {
  const auto started = start(diamond());
  run_all();
  const auto inputs =
      with([&](Transaction& each) { return each.inputs_of(started.tasks.at("last")); });
  std::vector<std::string> seen;
  for (const auto& each : inputs) seen.push_back(each.step + "=" + each.result);
  EXPECT_THAT(seen, ElementsAre("first=\"first\"", "left=\"left\"", "right=\"right\""));
}

TEST_P(Workflows, GiveTheNearestResultsThatFit) {
  const auto started = start(diamond());
  run_all();
  const auto inputs =
      with([&](Transaction& each) { return each.inputs_within(started.tasks.at("last"), 13); });
  ASSERT_EQ(inputs.results.size(), 2u);
  EXPECT_EQ(inputs.results[0].step, "left");
  EXPECT_EQ(inputs.results[1].step, "right");
  EXPECT_THAT(inputs.left_out, ElementsAre("first"));
}

TEST_P(Workflows, AreNotRunAgainWhileAStepMayStillRun) {
  const auto started = start(diamond());
  const auto first = claim();
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel_workflow(started.id, "")); });
  const auto again = [&] {
    return with([&](Transaction& each) { return each.replay_workflow(started.id); });
  };
  EXPECT_EQ(again().error().code, TaskError::Code::conflict);
  EXPECT_EQ(finish(first[0]), Recorded::cancelled);
  EXPECT_TRUE(again());
  run_all();
  EXPECT_EQ(look_at(started.id).state, TaskState::done);
}

TEST_P(Workflows, GiveUpWhatDependsOnAStepThatIsDead) {
  const auto started = start(diamond());
  run_all("left");
  const auto look = look_at(started.id);
  EXPECT_EQ(look.state, TaskState::dead);
  EXPECT_EQ(state(started.id, "right"), TaskState::done);
  EXPECT_EQ(state(started.id, "beside"), TaskState::done);
  EXPECT_EQ(state(started.id, "last"), TaskState::cancelled);
  EXPECT_EQ(get(started.tasks.at("last")).reason, "it waits for step \"left\", which is dead");
}

TEST_P(Workflows, GoOnFromAStepThatIsRetried) {
  const auto started = start(diamond());
  run_all("first");
  EXPECT_EQ(state(started.id, "last"), TaskState::cancelled);
  with([&](Transaction& each) { ASSERT_TRUE(each.replay(started.tasks.at("first"))); });
  EXPECT_EQ(look_at(started.id).state, TaskState::running);
  EXPECT_EQ(look_at(started.id).finished_at, std::nullopt);
  EXPECT_EQ(state(started.id, "left"), TaskState::waiting);
  EXPECT_EQ(state(started.id, "last"), TaskState::waiting);
  run_all();
  EXPECT_EQ(look_at(started.id).state, TaskState::done);
  EXPECT_EQ(look().count(TaskState::done), 5);
}

// The way to one that was given up may be longer than another that leads to it.
TEST_P(Workflows, ReviveStepsAtTheEndOfWaysOfAnyLength) {
  Workflow workflow{"w"};
  workflow.step("a", plain())
      .step("short", plain(), {"a"})
      .step("long1", plain(), {"a"})
      .step("long2", plain(), {"long1"})
      .step("end", plain(), {"short", "long2"});
  const auto started = start(workflow);
  run_all("a");
  EXPECT_EQ(with([&](Transaction& each) { return each.replay_workflow(started.id); }).value(), 1);
  EXPECT_EQ(state(started.id, "end"), TaskState::waiting);
  run_all();
  EXPECT_EQ(look_at(started.id).state, TaskState::done);
}

TEST_P(Workflows, DoNotReviveAStepThatWaitsForAnotherLostOne) {
  Workflow workflow{"w"};
  workflow.step("a", plain()).step("b", plain()).step("both", plain(), {"a", "b"});
  const auto started = start(workflow);
  for (const Claimed& each : claim(10)) finish(each, Kind::failed_for_good);
  with([&](Transaction& each) { ASSERT_TRUE(each.replay(started.tasks.at("a"))); });
  EXPECT_EQ(state(started.id, "both"), TaskState::cancelled);
  const auto refused =
      with([&](Transaction& each) { return each.replay(started.tasks.at("both")); });
  EXPECT_THAT(refused.error().message, HasSubstr("retry that one"));
  with([&](Transaction& each) { ASSERT_TRUE(each.replay(started.tasks.at("b"))); });
  run_all();
  EXPECT_EQ(look_at(started.id).state, TaskState::done);
}

TEST_P(Workflows, MakeTheNextStepWaitIfOneBeforeItIsRunAgain) {
  Workflow workflow{"w"};
  workflow.step("a", plain()).step("b", plain()).step("both", plain(), {"a", "b"});
  const auto started = start(workflow);
  finish(claim()[0]);
  with([&](Transaction& each) { ASSERT_TRUE(each.replay(started.tasks.at("a"))); });
  finish(claim()[0]);
  EXPECT_EQ(state(started.id, "both"), TaskState::waiting);
  finish(claim()[0]);
  EXPECT_EQ(state(started.id, "both"), TaskState::ready);
}

TEST_P(Workflows, AreCancelledAsOne) {
  const auto started = start(diamond());
  const auto first = claim();
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel_workflow(started.id, "no more")); });
  const auto look = look_at(started.id);
  EXPECT_EQ(look.state, TaskState::cancelled);
  EXPECT_EQ(look.steps[0].reason, "no more");
  EXPECT_EQ(finish(first[0]), Recorded::cancelled);
  const auto again = with([&](Transaction& each) { return each.cancel_workflow(started.id, ""); });
  EXPECT_EQ(again.error().code, TaskError::Code::conflict);
  const auto other =
      with([&](Transaction& each) { return each.cancel_workflow(TaskId::make(clock.now()), ""); });
  EXPECT_EQ(other.error().code, TaskError::Code::not_found);
}

TEST_P(Workflows, AreStoredWholeOrNotAtAll) {
  const auto refused = [&](int capacity) {
    QueueSettings small;
    small.capacity = capacity;
    configure(small);
    return with([&](Transaction& each) {
             return each.start(prepare(diamond(), clock.now()).value());
           })
        .error()
        .code;
  };
  add(plain());
  EXPECT_EQ(refused(5), TaskError::Code::full);
  EXPECT_EQ(refused(4), TaskError::Code::too_large);
  EXPECT_EQ(look().unfinished(), 1);
  EXPECT_TRUE(with([](Transaction& each) { return each.workflows(10, {}); }).workflows.empty());
}

TEST_P(Workflows, AreStartedOnceForEachId) {
  const auto id = TaskId::make(clock.now());
  Workflow workflow = diamond();
  workflow.id(id);
  const auto first = start(workflow);
  EXPECT_FALSE(first.is_duplicate);
  const auto second = start(workflow);
  EXPECT_TRUE(second.is_duplicate);
  EXPECT_EQ(second.tasks, first.tasks);
  EXPECT_EQ(look().unfinished(), 5);
}

TEST_P(Workflows, RefuseAStepThatIsThereAlready) {
  auto taken = plain();
  taken.unique_key = "k";
  add(taken);
  const auto refused = with([&](Transaction& each) {
    return each.start(
        prepare(Workflow{"w"}.step("a", plain()).then("b", taken), clock.now()).value());
  });
  EXPECT_EQ(refused.error().field, "steps.b");
  EXPECT_EQ(look().unfinished(), 1);
}

// What a later step may read is there, however short its queue keeps what is done.
TEST_P(Workflows, KeepTheirStepsUntilTheyAreOver) {
  QueueSettings forgetful;
  forgetful.keep_done = 1s;
  forgetful.keep_dead = 1s;
  configure(forgetful);
  const auto started =
      start(Workflow{"w"}.step("a", plain()).then("b", plain()).then("c", plain()));
  finish(claim()[0], Kind::done, "1");
  finish(claim()[0], Kind::done, "2");
  clock.advance(1h);
  keep_time();
  with([&](Transaction& each) { each.purge("q", TaskState::done, 100); });
  EXPECT_EQ(look_at(started.id).steps.size(), 3u);
  EXPECT_EQ(with([&](Transaction& each) { return each.inputs_of(started.tasks.at("c")); }).size(),
            2u);
  finish(claim()[0]);
  clock.advance(1h);
  keep_time();
  EXPECT_EQ(look().count(TaskState::done), 0);
  EXPECT_FALSE(with([&](Transaction& each) { return each.workflow(started.id); }));
}

TEST_P(Workflows, KeepWhatALooseTaskWaitsFor) {
  QueueSettings forgetful;
  forgetful.keep_done = 1s;
  configure(forgetful);
  const auto before = add(plain()).id;
  auto after = plain();
  after.after = {before};
  const auto id = add(after).id;
  finish(claim()[0], Kind::done, "7");
  clock.advance(1h);
  keep_time();
  const auto inputs = with([&](Transaction& each) { return each.inputs_of(id); });
  ASSERT_EQ(inputs.size(), 1u);
  EXPECT_EQ(inputs[0].step, before.to_string());
  EXPECT_EQ(inputs[0].result, "7");
  finish(claim()[0]);
  clock.advance(1h);
  keep_time();
  EXPECT_EQ(look().count(TaskState::done), 0);
}

TEST_P(Workflows, AreListedAPageAtATime) {
  for (const char* name : {"w1", "w2", "w3"}) start(Workflow{name}.step("a", plain()));
  const auto page = with([](Transaction& each) { return each.workflows(2, {}); });
  ASSERT_EQ(page.workflows.size(), 2u);
  EXPECT_EQ(page.workflows[0].name, "w3");
  const auto rest = with([&](Transaction& each) { return each.workflows(2, page.next); });
  ASSERT_EQ(rest.workflows.size(), 1u);
  EXPECT_EQ(rest.workflows[0].name, "w1");
}

TEST_P(Workflows, FanOutAndInAgain) {
  Workflow workflow{"many"};
  workflow.step("split", plain());
  std::vector<std::string> parts;
  for (int i = 0; i < 200; ++i) {
    parts.push_back("part-" + std::to_string(i));
    workflow.step(parts.back(), plain(), {"split"});
  }
  workflow.step("join", plain(), parts);
  const auto started = start(workflow);
  finish(claim()[0]);
  const auto all = claim(1000);
  ASSERT_EQ(all.size(), 200u);
  for (std::size_t i = 1; i < all.size(); ++i) finish(all[i]);
  EXPECT_EQ(state(started.id, "join"), TaskState::waiting);
  finish(all[0]);
  EXPECT_EQ(state(started.id, "join"), TaskState::ready);
  EXPECT_EQ(
      with([&](Transaction& each) { return each.inputs_of(started.tasks.at("join")); }).size(),
      201u);
}

}  // namespace
}  // namespace handoff::tests
