// Handlers that are coroutines: they hold no thread while they wait, and end as the others do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/tasks/testing.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "handoff/when.hpp"
#include "support/sanitized.hpp"
#include "tasks/running_worker.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {

struct Page {
  std::string url;
};
BOOST_DESCRIBE_STRUCT(Page, (), (url))

namespace {

using namespace std::chrono_literals;
using namespace tasks;
using handoff::testing::eventually;

// How many are in a scope of theirs.
class Counted {
 public:
  explicit Counted(std::atomic<int>& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  std::atomic<int>& count_;
};

class CoroutineHandlers : public ::testing::Test {
 protected:
  TaskId add(NewTask task = {.queue = "q", .kind = "k"}) { return tasks.enqueue(task).value().id; }

  const Tasks tasks = tasks::open("memory:").value();
  std::atomic<int> alive = 0;
  Event gate;
};

TEST_F(CoroutineHandlers, GiveResultsAsOthersDo) {
  Worker worker{tasks, {.queues = {{"q", 4}}, .threads = 1}};
  worker.handle<Page>([](Page page, Context& context) -> Lazy<std::string> {
    co_await handoff::yield();
    co_return page.url + context.kind();
  });
  worker.handle("nothing", [](const Json&, Context&) -> Lazy<> { co_await handoff::yield(); });
  worker.handle("json", [](Json json, Context&) -> Lazy<Json> {
    co_await handoff::yield();
    co_return json;
  });
  worker.handle("defer", [](const Json&, Context&) -> Lazy<Finish> {
    co_await handoff::yield();
    co_return Defer{1h};
  });
  worker.handle("throw", [](const Json&, Context&) -> Lazy<Finish> {
    co_await handoff::yield();
    throw std::runtime_error("no luck");
  });
  const auto page = tasks.enqueue(Page{"a.org/"}, {.queue = "q"}).value().id;
  const auto nothing = add({.queue = "q", .kind = "nothing"});
  const auto json = add({.queue = "q", .kind = "json", .payload = "[1]"});
  const auto defer = add({.queue = "q", .kind = "defer"});
  const auto thrown = add({.queue = "q", .kind = "throw"});
  const auto unreadable = add({.queue = "q", .kind = "Page", .payload = "[]"});
  const auto report = worker.run_until_idle();
  EXPECT_EQ(report.done, 3u);
  EXPECT_EQ(report.deferred, 1u);
  EXPECT_EQ(report.failed, 2u);
  EXPECT_EQ(tasks.get(page)->result, "\"a.org/Page\"");
  EXPECT_EQ(tasks.get(nothing)->result, "null");
  EXPECT_EQ(tasks.get(json)->result, "[1]");
  EXPECT_EQ(tasks.get(defer)->state, TaskState::scheduled);
  EXPECT_EQ(tasks.get(thrown)->errors[0].message, "no luck");
  EXPECT_THAT(tasks.get(unreadable)->errors[0].message,
              ::testing::HasSubstr("its payload cannot be read"));
}

// A payload that is referred to lives as long as the coroutine.
TEST_F(CoroutineHandlers, MayTakeTheirPayloadByReference) {
  Worker worker{tasks, {.queues = {{"q", 1}}}};
  worker.handle<Page>([&](const Page& page, Context&) -> Lazy<std::string> {
    static_cast<void>(co_await gate.async_wait());
    co_return page.url;
  });
  const auto id = tasks.enqueue(Page{std::string(100, 'x')}, {.queue = "q"}).value().id;
  Running running(worker);
  eventually([&] { return tasks.get(id)->state == TaskState::running; });
  gate.set();
  EXPECT_EQ(tasks.wait(id, 1min)->result, "\"" + std::string(100, 'x') + "\"");
}

TEST_F(CoroutineHandlers, WaitByTheThousandOnTwoThreads) {
  constexpr int all = 2000;
  constexpr int at_a_time = 1000;
  WorkerPool pool{{.workers = 2, .capacity = 64, .name = "two"}};
  Worker worker{tasks, {.queues = {{"q", at_a_time}}, .pool = &pool}};
  std::atomic<int> most = 0;
  worker.handle("k", [&](const Json&, Context&) -> Lazy<> {
    const Counted counted(alive);
    int seen = most;
    while (alive > seen && !most.compare_exchange_weak(seen, alive)) {
    }
    static_cast<void>(co_await gate.async_wait());
    co_await handoff::sleep_for(1ms);
  });
  ASSERT_TRUE(tasks.enqueue(std::vector<NewTask>(all, {.queue = "q", .kind = "k"})));
  Running running(worker);
  eventually([&] { return alive == at_a_time && most == at_a_time; }, 60s);
  EXPECT_EQ(pool.stats().threads, 2u);
  EXPECT_EQ(tasks.queue("q").count(TaskState::running), at_a_time);
  gate.set();
  eventually([&] { return tasks.queue("q").count(TaskState::done) == all; }, 60s);
  EXPECT_EQ(running.stop().done, static_cast<std::size_t>(all));
  EXPECT_EQ(most, at_a_time);
  EXPECT_EQ(alive, 0);
}

TEST_F(CoroutineHandlers, EndTheirWaitsIfTheTaskIsCancelled) {
  Worker worker{tasks, {.queues = {{"q", 2}}, .threads = 1}};
  std::optional<Refusal> why;
  worker.handle("k", [&](const Json&, Context&) -> Lazy<> {
    const Counted counted(alive);
    const auto waited = co_await gate.async_wait();
    if (!waited) why = waited.error();
  });
  const auto id = add();
  Running running(worker);
  eventually([&] { return alive == 1; });
  EXPECT_EQ(tasks.cancel(id), TaskState::running);
  eventually([&] { return alive == 0; });
  EXPECT_EQ(running.stop().cancelled, 1u);
  EXPECT_EQ(why, Refusal::stopped);
}

TEST_F(CoroutineHandlers, EndTheirWaitsIfTheyTakeTooLong) {
  Worker worker{tasks, {.queues = {{"q", 2}}, .threads = 1}};
  worker.handle("k", [&](const Json&, Context&) -> Lazy<> {
    const auto waited = co_await gate.async_wait();
    if (!waited) throw std::runtime_error("stopped");
  });
  const auto id = add({.queue = "q", .kind = "k", .max_attempts = 1, .timeout = 20ms});
  worker.run_until_idle();
  EXPECT_EQ(tasks.get(id)->reason, "it took longer than 20ms: stopped");
}

TEST_F(CoroutineHandlers, GoBackToTheirQueueAsTheWorkerStops) {
  Worker worker{tasks, {.queues = {{"q", 10}}, .threads = 1}};
  worker.handle("k", [&](const Json&, Context&) -> Lazy<> {
    const Counted counted(alive);
    const auto waited = co_await gate.async_wait();
    if (!waited) throw std::runtime_error("stopped");
  });
  for (int i = 0; i < 10; ++i) add();
  Running running(worker);
  eventually([&] { return alive == 10; });
  EXPECT_EQ(running.stop().given_back, 10u);
  EXPECT_EQ(tasks.queue("q").count(TaskState::ready), 10);
  EXPECT_EQ(alive, 0);
}

TEST_F(CoroutineHandlers, AreWaitedForByTheWorkersDestructor) {
  WorkerPool pool{{.workers = 1, .capacity = 10}};
  auto worker = std::make_unique<Worker>(
      tasks, WorkerOptions{.queues = {{"q", 10}}, .name = "w", .lease_for = {}, .pool = &pool});
  worker->handle("k", [&](const Json&, Context& context) -> Lazy<> {
    const Counted counted(alive);
    // Does not heed the stop: shielded from it.
    auto stubborn = [](Event& opens) -> Lazy<> { static_cast<void>(co_await opens.async_wait()); };
    auto waits = stubborn(gate);
    static_cast<void>(co_await handoff::shield(10min, std::move(waits)));
    context.log("still here");  // The worker is, too.
  });
  for (int i = 0; i < 3; ++i) add();
  Running running(*worker, 0ms);
  eventually([&] { return alive == 3; });
  EXPECT_EQ(running.stop().given_back, 3u);
  EXPECT_EQ(alive, 3);
  std::jthread opens([&] { gate.set(); });
  worker.reset();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(pool.stats().coroutines, 0u);
  EXPECT_EQ(tasks.queue("q").count(TaskState::ready), 3);
}

// -- Pools of the user's --------------------------------------------------------------------------

TEST_F(CoroutineHandlers, AreAskedToStopByTheirPool) {
  auto pool = std::make_unique<WorkerPool>(PoolOptions{.workers = 1, .capacity = 10});
  Worker worker{tasks, {.queues = {{"q", 5}}, .pool = pool.get()}};
  worker.handle("k", [&](const Json&, Context&) -> Lazy<> {
    const Counted counted(alive);
    const auto waited = co_await gate.async_wait();
    if (!waited) throw std::runtime_error("stopped");
  });
  worker.handle("plain", [&](const Json&, Context& context) {
    const Counted counted(alive);
    if (!gate.wait({.deadline = {}, .stop = context.stop()})) throw std::runtime_error("stopped");
  });
  for (int i = 0; i < 2; ++i) add();
  eventually([&] { return tasks.queue("q").count(TaskState::ready) == 2; });
  Running running(worker);
  eventually([&] { return alive == 2; });
  add({.queue = "q", .kind = "plain"});
  eventually([&] { return alive == 3; });
  // Not begun: there is one thread, and it is taken.
  add({.queue = "q", .kind = "plain"});
  add();
  eventually([&] { return tasks.queue("q").count(TaskState::running) == 5; });
  const auto report = pool->shutdown(handoff::interrupt());
  EXPECT_TRUE(report.handed_back.empty());
  EXPECT_EQ(alive, 0);
  eventually([&] { return tasks.queue("q").count(TaskState::ready) == 5; });
  const auto stopped = running.stop();
  EXPECT_GE(stopped.given_back, 5u);
  EXPECT_EQ(stopped.failed, 0u);
}

// What a full pool has no room for goes back, and is asked for again after a while.
TEST_F(CoroutineHandlers, RunOneAfterTheOtherOnASmallPool) {
  WorkerPool pool{{.workers = 1, .capacity = 1, .when_full = WhenFull::reject}};
  Worker worker{tasks, {.queues = {{"q", 50}}, .pool = &pool}};
  std::atomic<int> ran = 0;
  worker.handle("k", [&](const Json&, Context&) { ++ran; });
  worker.handle("lazy", [&](const Json&, Context&) -> Lazy<> {
    co_await handoff::yield();
    ++ran;
  });
  std::vector<NewTask> all(10, {.queue = "q", .kind = "k"});
  all.resize(20, {.queue = "q", .kind = "lazy"});
  ASSERT_TRUE(tasks.enqueue(all));
  EXPECT_EQ(worker.run_until_idle().done, 20u);
  EXPECT_EQ(ran, 20);
}

TEST_F(CoroutineHandlers, NeedOnePlaceToRun) {
  WorkerPool pool{{.workers = 1, .capacity = 1}};
  EXPECT_THROW(Worker(tasks, {.queues = {{"q", 1}}, .pool = &pool, .threads = 1}),
               std::invalid_argument);
  EXPECT_THROW(Worker(tasks, {.queues = {{"q", 1}}, .threads = 1001}), std::invalid_argument);
  EXPECT_THROW(Worker(tasks, {.queues = {{"q", 10'001}}}), std::invalid_argument);
}

}  // namespace
}  // namespace handoff::tests
