// Why a task is not running; who works; what is dead; many tasks at a time.
#include "handoff/tasks/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using Code = Explanation::Code;
using Kind = Outcome::Kind;

NewTask task() { return {.queue = "q", .kind = "k"}; }

class Explanations : public StoreTest {
 protected:
  Explanation explain(const TaskId& id) {
    return with([&](Transaction& each) { return each.explain(id).value(); });
  }
  std::int64_t add_worker(std::string queue = "q", std::vector<std::string> kinds = {"k"}) {
    return with([&](Transaction& each) {
      return each.add_worker(
          {.name = "w", .queues = {{.name = queue, .concurrency = 3}}, .kinds = kinds});
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Explanations, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(Explanations, SayThatItRunsOrHasEnded) {
  const auto id = add(task()).id;
  const auto claimed = claim();
  EXPECT_EQ(explain(id).code, Code::running);
  EXPECT_THAT(explain(id).message, HasSubstr("worker w"));
  finish(claimed[0], Kind::failed_for_good, "no such photo");
  EXPECT_EQ(explain(id).code, Code::finished);
  EXPECT_EQ(explain(id).message, "it is dead: no such photo");
}

TEST_P(Explanations, SayThatItsTimeIsAhead) {
  auto later = task();
  later.delay = 90s;
  const auto id = add(later).id;
  EXPECT_EQ(explain(id).code, Code::future);
  EXPECT_EQ(explain(id).message, "its time is 2026-11-17T12:01:30.000Z, in 90s");
  const auto failing = add(task()).id;
  finish(claim()[0], Kind::failed, "connection refused", 10s);
  EXPECT_THAT(explain(failing).message, HasSubstr("attempt 1 failed: connection refused"));
}

TEST_P(Explanations, SayForWhomItWaits) {
  const auto first = add(task()).id;
  const auto second = add(task()).id;
  auto after = task();
  after.after = {first};
  EXPECT_EQ(explain(add(after).id).message,
            "it waits for " + first.to_string() + ", which is ready");
  after.after = {first, second};
  const auto both = explain(add(after).id);
  EXPECT_EQ(both.code, Code::waiting_for);
  EXPECT_THAT(both.message, HasSubstr("and for 1 more"));
}

TEST_P(Explanations, SayThatNobodyTakesIt) {
  const auto id = add(task()).id;
  EXPECT_EQ(explain(id).code, Code::no_worker);
  EXPECT_EQ(explain(id).message, "no worker takes tasks of queue \"q\"");
  add_worker("other");
  EXPECT_EQ(explain(id).code, Code::no_worker);
  add_worker("q", {"another"});
  EXPECT_EQ(explain(id).message, "no worker of queue \"q\" knows the kind \"k\"");
  const auto worker = add_worker();
  EXPECT_EQ(explain(id).code, Code::next);
  with([&](Transaction& each) { each.remove_worker(worker); });
  EXPECT_EQ(explain(id).code, Code::no_worker);
}

TEST_P(Explanations, SayThatItsQueueIsPaused) {
  add_worker();
  const auto id = add(task()).id;
  with([](Transaction& each) { each.pause("q", true); });
  EXPECT_EQ(explain(id).code, Code::paused);
}

TEST_P(Explanations, SayWhichLimitIsReached) {
  add_worker();
  QueueSettings limited;
  limited.concurrency = 1;
  configure(limited);
  add(task());
  const auto id = add(task()).id;
  const auto running = claim();
  EXPECT_EQ(explain(id).code, Code::concurrency_limited);
  limited.concurrency = 0;
  limited.rate = 1;
  configure(limited);
  EXPECT_EQ(explain(id).code, Code::next);
  EXPECT_EQ(claim().size(), 1u);
  const auto next = add(task()).id;
  EXPECT_EQ(explain(next).code, Code::rate_limited);
  clock.advance(1s);
  EXPECT_EQ(explain(next).code, Code::next);
}

TEST_P(Explanations, SayThatItsGroupIsBusy) {
  add_worker();
  QueueSettings limited;
  limited.group_concurrency = 1;
  configure(limited);
  auto grouped = task();
  grouped.group = "customer-7";
  add(grouped);
  const auto id = add(grouped).id;
  EXPECT_EQ(explain(id).code, Code::group_busy);
  EXPECT_THAT(explain(id).message, HasSubstr("customer-7"));
}

TEST_P(Explanations, SayHowManyGoFirst) {
  add_worker();
  for (int i = 0; i < 16; ++i) add(task());
  const auto id = add(task()).id;
  auto urgent = task();
  urgent.priority = 5;
  add(urgent);
  EXPECT_EQ(explain(id).code, Code::queued);
  EXPECT_EQ(explain(id).position, 18);
  claim(17);
  EXPECT_EQ(explain(id).code, Code::next);
  EXPECT_EQ(explain(id).position, 1);
}

TEST_P(Explanations, KnowNothingOfWhatIsNotThere) {
  const auto nothing =
      with([&](Transaction& each) { return each.explain(TaskId::make(clock.now())); });
  EXPECT_FALSE(nothing);
}

TEST_P(Explanations, KnowWhoWorksAtWhat) {
  add_worker("q", {"k", "resize/2"});
  const auto id = add(task()).id;
  claim();
  clock.advance(5s);
  const auto workers = with([](Transaction& each) { return each.workers(); });
  ASSERT_EQ(workers.size(), 1u);
  EXPECT_EQ(workers[0].name, "w");
  EXPECT_EQ(workers[0].queues[0].name, "q");
  EXPECT_EQ(workers[0].queues[0].concurrency, 3);
  EXPECT_THAT(workers[0].kinds, ::testing::ElementsAre("k", "resize/2"));
  ASSERT_EQ(workers[0].running.size(), 1u);
  EXPECT_EQ(workers[0].running[0].task, id);
  EXPECT_EQ(workers[0].running[0].since, clock.now() - 5s);
}

TEST_P(Explanations, GroupWhatIsDead) {
  for (int i = 0; i < 5; ++i) add(task());
  const auto claimed = claim(5);
  for (int i = 0; i < 4; ++i) {
    clock.advance(1s);
    finish(claimed[static_cast<std::size_t>(i)], Kind::failed_for_good, i == 0 ? "rare" : "often");
  }
  const auto groups = with([](Transaction& each) { return each.dead("q"); });
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].reason, "often");
  EXPECT_EQ(groups[0].count, 3);
  EXPECT_EQ(groups[0].latest, clock.now());
  EXPECT_EQ(groups[0].example, claimed[3].id);
  EXPECT_EQ(groups[0].kind, "k");
  EXPECT_EQ(groups[1].count, 1);
  EXPECT_EQ(with([](Transaction& each) { return each.dead(""); }).size(), 2u);
  EXPECT_TRUE(with([](Transaction& each) { return each.dead("other"); }).empty());
}

// -- Through Tasks --------------------------------------------------------------------------------

TEST(ManyTasks, AreRetriedCancelledAndCounted) {
  const Tasks tasks = tasks::open("memory:").value();
  std::vector<NewTask> all(1200, task());
  for (std::size_t i = 0; i < all.size(); i += 2) all[i].kind = "even";
  ASSERT_TRUE(tasks.enqueue(all));
  EXPECT_EQ(tasks.count({.queue = "q", .state = TaskState::ready}), 1200);
  EXPECT_EQ(tasks.cancel_all({.queue = "q", .kind = "even", .state = TaskState::ready}, "no"), 600);
  EXPECT_EQ(tasks.queue("q").count(TaskState::cancelled), 600);
  EXPECT_EQ(tasks.retry_all({.queue = "q", .state = TaskState::cancelled}), 600);
  EXPECT_EQ(tasks.queue("q").count(TaskState::ready), 1200);
  EXPECT_EQ(tasks.count({.queue = "other", .state = TaskState::ready}), 0);
  EXPECT_EQ(tasks.retry_all({.state = TaskState::ready}).error().field, "state");
  EXPECT_EQ(tasks.cancel_all({.state = TaskState::dead}).error().field, "state");
}

}  // namespace
}  // namespace handoff::tests
