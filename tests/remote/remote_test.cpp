// open("http://..."): the interface of a store, over a server that may go and come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>

#include "handoff/event.hpp"
#include "handoff/pool.hpp"
#include "handoff/spawn.hpp"
#include "handoff/sync_wait.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "net/deaf_server.hpp"
#include "remote/proxy.hpp"
#include "remote/served.hpp"
#include "server/auth/tokens.hpp"
#include "tasks/running_worker.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::eventually;

NewTask plain(std::string payload = "null") {
  return {.queue = "q", .kind = "k", .payload = std::move(payload)};
}

class Remote : public ::testing::Test {
 protected:
  Served server;
  const Tasks tasks = server.open();
  const Tasks& store = server.store();  // Beside the server.
};

// -- Handing in and looking -----------------------------------------------------------------------

TEST_F(Remote, TasksAreHandedInWithAllTheirFieldsAndSeen) {
  NewTask task = plain(R"({"a":[1,2.5,"x"]})");
  task.priority = 7;
  task.delay = 1h;
  task.max_attempts = 3;
  task.timeout = 90s;
  task.unique_key = "key";
  task.unique_for = 1min;
  task.expires_in = 2h;
  task.group = "a group / with signs";
  task.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  task.notify_url = "http://127.0.0.1:1/told";
  const auto made = tasks.enqueue(task).value();
  EXPECT_EQ(made.state, TaskState::scheduled);
  EXPECT_FALSE(made.is_duplicate);
  const Task seen = tasks.get(made.id).value();
  const Task stored = store.get(made.id).value();
  EXPECT_EQ(seen.payload, stored.payload);
  EXPECT_EQ(seen.priority, 7);
  EXPECT_EQ(seen.run_at, stored.run_at);
  EXPECT_EQ(seen.max_attempts, 3);
  EXPECT_EQ(seen.timeout, 90s);
  EXPECT_EQ(seen.unique_key, "key");
  EXPECT_EQ(seen.group, task.group);
  EXPECT_EQ(seen.trace, task.trace);
  EXPECT_EQ(seen.notify_url, task.notify_url);
  EXPECT_EQ(tasks.enqueue(task).value().id, made.id);
  EXPECT_TRUE(tasks.enqueue(task).value().is_duplicate);
  const auto page = tasks.list({.queue = "q", .group = task.group}).value();
  ASSERT_EQ(page.tasks.size(), 1u);
  EXPECT_EQ(page.tasks[0].id, made.id);
  EXPECT_FALSE(tasks.get(TaskId::make({})));
}

TEST_F(Remote, ABatchIsAllOrNothingAndSaysWhatWasThere) {
  NewTask later = plain();
  later.delay = 1h;
  NewTask known = plain();
  known.id = tasks.enqueue(plain()).value().id;
  const auto made = tasks.enqueue(std::vector{plain("1"), later, known}).value();
  EXPECT_EQ(made[0].state, TaskState::ready);
  EXPECT_EQ(made[1].state, TaskState::scheduled);
  EXPECT_EQ(made[2].id, *known.id);
  EXPECT_FALSE(made[1].is_duplicate);
  EXPECT_TRUE(made[2].is_duplicate);
  NewTask wrong = plain();
  wrong.after = {TaskId::make({})};
  const auto refused = tasks.enqueue(std::vector{plain(), wrong});
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().field, HasSubstr("[1]"));
  EXPECT_EQ(store.queue("q").unfinished(), 3);
}

TEST_F(Remote, WhatIsWrongHasTheCodesOfAStore) {
  QueueSettings one;
  one.capacity = 1;
  ASSERT_TRUE(tasks.configure("q", one));
  const auto id = tasks.enqueue(plain()).value().id;
  EXPECT_EQ(tasks.enqueue(plain()).error().code, TaskError::Code::full);
  EXPECT_EQ(tasks.enqueue(plain()).error().field, "queue");
  EXPECT_EQ(tasks.enqueue(std::vector{plain()}).error().field, "[0].queue");
  EXPECT_EQ(tasks.retry(id).error().code, TaskError::Code::conflict);
  EXPECT_EQ(tasks.cancel(TaskId::make({})).error().code, TaskError::Code::not_found);
  EXPECT_EQ(tasks.explain(TaskId::make({})).error().code, TaskError::Code::not_found);
  EXPECT_EQ(tasks.wait(TaskId::make({}), 1s).error().code, TaskError::Code::not_found);
  EXPECT_EQ(tasks.enqueue_in(nullptr, plain()).error().code, TaskError::Code::bad_request);
  EXPECT_EQ(tasks::open(server.url() + "/v1").error().code, TaskError::Code::bad_request);
  EXPECT_EQ(tasks::open(server.url(), {.fast = true}).error().field, "fast");
}

TEST_F(Remote, TasksAreCancelledRetriedAndPurged) {
  const auto id = tasks.enqueue(plain()).value().id;
  EXPECT_EQ(tasks.cancel(id, "nobody wants it").value(), TaskState::ready);
  EXPECT_EQ(tasks.get(id)->reason, "nobody wants it");
  EXPECT_EQ(tasks.retry(id).value(), TaskState::cancelled);
  EXPECT_EQ(tasks.count({.queue = "q", .state = TaskState::ready}).value(), 1);
  EXPECT_EQ(tasks.cancel_all({.queue = "q", .state = TaskState::ready}, "all").value(), 1);
  EXPECT_EQ(tasks.retry_all({.queue = "q", .state = TaskState::cancelled}).value(), 1);
  EXPECT_EQ(tasks.purge("q", TaskState::ready).value(), 1);
  EXPECT_FALSE(tasks.get(id));
}

TEST_F(Remote, QueuesAreSetAndSeen) {
  QueueSettings settings;
  settings.capacity = 12;
  settings.rate = 2.5;
  settings.when_full = WhenFull::block;
  settings.block_for = 5ms;
  settings.retry = {ExponentialBackoff{.base = 2s, .factor = 3, .max = 1min, .jitter = 0.5}};
  settings.deliver_to = {.url = "http://127.0.0.1:1/", .timeout = 3s, .secret = "hush"};
  ASSERT_TRUE(tasks.configure("q", settings));
  QueueSettings stored = store.queue("q").settings;
  EXPECT_EQ(stored.deliver_to, settings.deliver_to);
  EXPECT_EQ(stored.retry, settings.retry);
  // Read, changed and written: what is not shown stays.
  QueueSettings read = tasks.queue("q").settings;
  EXPECT_EQ(read.rate, 2.5);
  EXPECT_EQ(read.when_full, WhenFull::block);
  EXPECT_EQ(read.deliver_to.secret, "");
  read.capacity = 13;
  ASSERT_TRUE(tasks.configure("q", read));
  stored = store.queue("q").settings;
  EXPECT_EQ(stored.capacity, 13);
  EXPECT_EQ(stored.deliver_to.secret, "hush");
  ASSERT_TRUE(tasks.pause("q"));
  EXPECT_TRUE(tasks.queue("q").is_paused);
  ASSERT_TRUE(tasks.resume("q"));
  ASSERT_EQ(tasks.queues().size(), 1u);
  EXPECT_FALSE(tasks.queues()[0].is_paused);
}

TEST_F(Remote, SchedulesAreMadeSeenPausedAndRemoved) {
  const auto made = tasks.schedule({.name = "nightly",
                                    .cron = "0 3 * * *",
                                    .timezone = "Europe/Berlin",
                                    .task = plain("[1]"),
                                    .missed = Missed::skip});
  ASSERT_TRUE(made) << made.error().message;
  const auto seen = tasks.schedule(std::string_view("nightly")).value();
  EXPECT_EQ(seen.schedule.timezone, "Europe/Berlin");
  EXPECT_EQ(seen.schedule.task.payload, "[1]");
  EXPECT_EQ(seen.schedule.missed, Missed::skip);
  EXPECT_EQ(seen.next_at, store.schedules().at(0).next_at);
  ASSERT_TRUE(tasks.pause_schedule("nightly"));
  EXPECT_TRUE(tasks.schedules().at(0).is_paused);
  ASSERT_TRUE(tasks.resume_schedule("nightly"));
  ASSERT_TRUE(tasks.unschedule("nightly"));
  EXPECT_EQ(tasks.unschedule("nightly").error().code, TaskError::Code::not_found);
  EXPECT_FALSE(tasks.schedule(std::string_view("nightly")));
}

TEST_F(Remote, AStoreIsUsedAsOneInAFile) {
  const std::string url = server.url();
  const auto opened = handoff::tasks::open(url);  // "http://127.0.0.1:8077", or https://
  if (!opened) throw std::runtime_error(opened.error().message);
  Worker worker{*opened, {.queues = {{"email", 20}}}};  // Here, or on ten machines.
  worker.handle("welcome", [](const Json& mail, Context&) { return mail; });
  const auto mail = opened->enqueue(
      NewTask{.queue = "email", .kind = "welcome", .payload = R"({"to":"new@example.org"})"});
  if (!mail) throw std::runtime_error(mail.error().message);
  EXPECT_EQ(worker.run_until_idle().done, 1u);
  EXPECT_EQ(store.get(mail->id)->result, R"({"to":"new@example.org"})");
}

// -- Waiting --------------------------------------------------------------------------------------

TEST_F(Remote, WaitsEndWithTheTaskTheTimeOrAStop) {
  const auto id = tasks.enqueue(plain()).value().id;
  EXPECT_EQ(tasks.wait(id, 1ms).error().code, TaskError::Code::timed_out);
  const auto other = tasks.enqueue(plain()).value().id;  // Nobody ends it.
  std::stop_source stop;
  std::expected<Task, TaskError> stopped;
  std::expected<Task, TaskError> ended;
  {
    const std::jthread first(
        [&] { stopped = tasks.wait(other, {.deadline = {}, .stop = stop.get_token()}); });
    const std::jthread second([&] { ended = tasks.wait(id); });
    eventually([&] {
      const auto waited_for = TasksAccess::core(store).listeners().waited_for();
      return std::ranges::count(waited_for, id) > 0 && std::ranges::count(waited_for, other) > 0;
    });
    stop.request_stop();
    ASSERT_TRUE(store.cancel(id));
  }
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, TaskError::Code::stopped);
  EXPECT_EQ(ended.value().state, TaskState::cancelled);
}

TEST_F(Remote, CoroutinesAndCallsHearOfTheEnd) {
  const auto id = tasks.enqueue(plain()).value().id;
  Event called;
  TaskState state{};
  const auto notice = tasks.on_finished(id, [&](std::expected<Task, TaskError> task) {
    state = task.value().state;
    called.set();
  });
  ASSERT_TRUE(notice);
  std::expected<Task, TaskError> end;
  const std::jthread waits([&] { end = sync_wait(tasks.async_wait(id)); });
  ASSERT_TRUE(store.cancel(id));
  ASSERT_TRUE(called.wait({.deadline = within(60s), .stop = {}}));
  EXPECT_EQ(state, TaskState::cancelled);
}

TEST_F(Remote, AWatchSeesWhatOthersDo) {
  auto watch = tasks.watch({.queue = "q"});
  const auto id = store.enqueue(plain()).value().id;
  ASSERT_TRUE(store.enqueue({.queue = "other", .kind = "k"}));
  ASSERT_TRUE(store.cancel(id));
  const auto first = watch.take({.deadline = within(60s), .stop = {}});
  const auto second = watch.take({.deadline = within(60s), .stop = {}});
  EXPECT_EQ(first.value().id, id);
  EXPECT_EQ(first->state, TaskState::ready);
  EXPECT_EQ(second.value().state, TaskState::cancelled);
  EXPECT_EQ(watch.poll().error(), Refusal::empty);
  EXPECT_EQ(watch.missed(), 0u);
}

TEST_F(Remote, AWatchGoesOnAfterARestartAndSaysThatItMissedSomething) {
  auto watch = tasks.watch();
  ASSERT_TRUE(store.enqueue(plain()));
  ASSERT_TRUE(watch.take({.deadline = within(60s), .stop = {}}));
  server.stop();
  ASSERT_TRUE(store.enqueue(plain()));
  server.start();
  eventually([&] {
    static_cast<void>(store.enqueue(plain()));
    return watch.poll(10ms).has_value();
  });
  EXPECT_GE(watch.missed(), 1u);
}

// The server answers, but cannot be listened to yet: as when it comes back between two calls.
class NotHeardYet : public Remote {
 protected:
  NotHeardYet() {
    server.meddler().answer_with([this](const server::Request& request) {
      return Meddler::away_if(!is_heard && request.path == "/v1/events");
    });
  }
  ~NotHeardYet() override { server.meddler().answer_with({}); }

  std::atomic<bool> is_heard = false;
  const TaskId id = store.enqueue(plain()).value().id;
};

TEST_F(NotHeardYet, WhoWaitsHearsOfAnEndBeforeTheFirstEvent) {
  std::expected<Task, TaskError> end;
  {
    const std::jthread waits([&] { end = sync_wait(tasks.async_wait(id, within(60s))); });
    eventually([&] { return server.meddler().answered("GET /v1/tasks/") > 0; }, 60s);
    ASSERT_TRUE(store.cancel(id));
    is_heard = true;
  }
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->state, TaskState::cancelled);
}

TEST_F(NotHeardYet, WhoIsToBeCalledHearsOfAnEndBeforeTheFirstEvent) {
  Event called;
  const auto notice =
      tasks.on_finished(id, [&](const std::expected<Task, TaskError>&) { called.set(); });
  ASSERT_TRUE(notice);
  ASSERT_TRUE(store.cancel(id));
  is_heard = true;
  EXPECT_TRUE(called.wait({.deadline = within(60s), .stop = {}}));
}

TEST_F(NotHeardYet, AWatchSaysThatItMissedSomething) {
  const auto watch = tasks.watch();
  ASSERT_TRUE(store.cancel(id));
  is_heard = true;
  EXPECT_TRUE(eventually([&] { return watch.missed() > 0; }, 60s));
}

TEST_F(Remote, WorkflowsRunAndAreWaitedFor) {
  Worker worker{tasks, {.queues = {{"q", 2}}}};
  worker.handle_any([](const Json&, Context& context) -> Finish {
    if (context.inputs().empty()) return Json::parse("20").value();
    return context.input<int>("first") + 1;
  });
  Workflow workflow{"two"};
  workflow.step("first", plain()).then("second", plain());
  const auto started = tasks.start(workflow).value();
  EXPECT_FALSE(started.is_duplicate);
  std::expected<WorkflowLook, TaskError> later;
  {
    const std::jthread waits([&] { later = sync_wait(tasks.async_wait_workflow(started.id)); });
    Running running(worker);
    const auto end = tasks.wait_workflow(started.id, 60s);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_EQ(end->state, TaskState::done);
    EXPECT_EQ(end->steps.at(1).result, "21");
  }
  EXPECT_EQ(later.value().state, TaskState::done);
  EXPECT_EQ(tasks.workflows().value().workflows.at(0).id, started.id);
  EXPECT_EQ(tasks.cancel_workflow(TaskId::make({})).error().code, TaskError::Code::not_found);
}

TEST_F(Remote, ManyAtATimeNeedFewConnectionsAndThreads) {
  constexpr int threads = 32;
  {
    std::vector<std::jthread> producers;
    for (int i = 0; i < threads; ++i) {
      producers.emplace_back([&] {
        for (int k = 0; k < 10; ++k) EXPECT_TRUE(tasks.enqueue(plain()));
      });
    }
  }
  EXPECT_EQ(store.queue("q").count(TaskState::ready), threads * 10);
  std::vector<Lazy<std::expected<Enqueued, TaskError>>> all;
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(sync_wait(tasks.async_enqueue(plain())));
}

// -- Lost answers ---------------------------------------------------------------------------------

class LostAnswers : public Remote {
 protected:
  Proxy proxy{server.port()};
  const Tasks far = tasks::open(proxy.url()).value();
};

TEST_F(LostAnswers, AnEnqueueMakesNoSecondTask) {
  proxy.lose("POST /v1/tasks ");
  const auto made = far.enqueue(plain("7"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(proxy.lost(), 1);
  EXPECT_FALSE(made->is_duplicate);
  EXPECT_EQ(store.get(made->id)->payload, "7");
  EXPECT_EQ(store.queue("q").unfinished(), 1);
}

TEST_F(LostAnswers, ABatchMakesNoSecondTasks) {
  proxy.lose("POST /v1/tasks/batch");
  const auto made = far.enqueue(std::vector{plain(), plain(), plain()});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(proxy.lost(), 1);
  EXPECT_EQ(made->size(), 3u);
  EXPECT_EQ(store.queue("q").unfinished(), 3);
}

TEST_F(LostAnswers, AWorkflowIsStartedOnce) {
  proxy.lose("POST /v1/workflows");
  Workflow workflow{"two"};
  workflow.step("first", plain()).then("second", plain());
  const auto started = far.start(workflow);
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(proxy.lost(), 1);
  EXPECT_EQ(started->tasks.size(), 2u);
  EXPECT_EQ(store.queue("q").unfinished(), 2);
  EXPECT_EQ(store.workflows().value().workflows.size(), 1u);
}

// Its lease would last for ten minutes.
TEST_F(LostAnswers, AClaimStrandsNothing) {
  Worker worker{far, {.queues = {{"q", 2}}, .lease_for = 10min}};
  worker.handle_any([](const Json&, Context&) {});
  const auto first = store.enqueue(plain()).value().id;
  proxy.lose("POST /v1/claim ");
  Running running(worker);
  EXPECT_EQ(store.wait(first, 60s).value().state, TaskState::done);
  EXPECT_EQ(proxy.lost(), 1);
  // Also one that has waited.
  eventually([&] { return !store.workers().empty(); });
  proxy.lose("POST /v1/claim ");
  const auto second = store.enqueue(plain()).value().id;
  EXPECT_EQ(store.wait(second, 60s).value().state, TaskState::done);
  EXPECT_EQ(store.get(second)->crashes, 0);
  running.stop();
}

TEST_F(LostAnswers, AnOutcomeIsSaidAgainAndCountsOnce) {
  Worker worker{far, {.queues = {{"q", 1}}}};
  std::atomic<int> runs = 0;
  worker.handle_any([&](const Json&, Context& context) {
    context.log("a line");
    ++runs;
    return 5;
  });
  const auto id = store.enqueue(plain()).value().id;
  proxy.lose("POST /v1/outcomes");
  EXPECT_EQ(worker.run_until_idle().done, 1u);
  EXPECT_EQ(proxy.lost(), 1);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(store.get(id)->result, "5");
  EXPECT_EQ(store.log(id).size(), 1u);
}

// -- Servers that go ------------------------------------------------------------------------------

TEST_F(Remote, AWorkerGoesOnAfterARestart) {
  Worker worker{tasks, {.queues = {{"q", 2}}}};
  worker.handle_any([](const Json&, Context&) {});
  Running running(worker);
  const auto first = tasks.enqueue(plain()).value().id;
  EXPECT_EQ(tasks.wait(first, 60s).value().state, TaskState::done);
  server.stop();
  const auto second = store.enqueue(plain()).value().id;
  server.start();
  EXPECT_EQ(store.wait(second, 60s).value().state, TaskState::done);
  EXPECT_EQ(running.stop().done, 2u);
}

// A worker with something in hand, of which it is asked after each gap whether it was cancelled.
class Holder final : public HungryOne {
 public:
  explicit Holder(TaskId task) : task_(task) {}
  bool ring(std::string_view) override { return false; }
  std::vector<TaskId> in_hand() override { return {task_}; }
  void hear_of_cancelled(const TaskId&) override {}

 private:
  const TaskId task_;
};

TEST_F(Remote, AWatchGoesOnIfAServerThatComesBackCannotSayWhatWasMissed) {
  auto watch = tasks.watch();
  Holder holder(store.enqueue(plain()).value().id);
  ASSERT_TRUE(watch.take({.deadline = within(60s), .stop = {}}));
  Listeners& listeners = TasksAccess::core(tasks).listeners();
  listeners.add(holder, {"q"});
  std::atomic<bool> is_broken = true;
  server.meddler().answer_with(
      [&](const server::Request& request) -> std::optional<server::Response> {
        if (!is_broken || !request.path.starts_with("/v1/tasks/")) return std::nullopt;
        return Meddler::failure(500, "internal");
      });
  server.stop();
  server.start();
  eventually([&] { return server.meddler().answered("GET /v1/tasks/") > 0; }, 60s);
  is_broken = false;
  eventually([&] {
    static_cast<void>(store.enqueue(plain()));
    return watch.poll(10ms).has_value();
  });
  EXPECT_GE(watch.missed(), 1u);
  listeners.remove(holder);
  server.meddler().answer_with({});
}

TEST_F(Remote, AStoreThatIsClosedTriesNothingThatNobodyWaitsFor) {
  constexpr int calls = 200;
  server.meddler().answer_with(
      [](const server::Request& request) { return Meddler::away_if(request.path == "/v1/tasks"); });
  const auto tries = [&] { return server.meddler().answered("POST /v1/tasks"); };
  std::optional<Tasks> far = server.open({.patience = 1s});
  std::atomic<int> begun = 0;
  const auto call = [](const Tasks& there, std::atomic<int>& count) -> Lazy<bool> {
    ++count;
    auto lazy = there.async_enqueue(plain());
    const auto made = co_await std::move(lazy);
    co_return made.has_value();
  };
  WorkerPool pool{{.workers = 2, .capacity = calls}};
  std::vector<Future<bool>> all;
  for (int i = 0; i < calls; ++i) all.push_back(spawn(pool, call(*far, begun)).value());
  eventually([&] { return begun == calls && tries() > 0; }, 60s);
  static_cast<void>(pool.shutdown(interrupt()));
  for (auto& each : all) EXPECT_FALSE(each.get().value());
  const int before = tries();
  far.reset();
  EXPECT_LT(tries(), before + calls / 2);
}

TEST_F(Remote, AnOutcomeWaitsForTheServer) {
  Event began;
  Event may_end;
  Worker worker{tasks, {.queues = {{"q", 1}}}};
  worker.handle_any([&](const Json&, Context&) {
    began.set();
    static_cast<void>(may_end.wait());
    return 1;
  });
  const auto id = tasks.enqueue(plain()).value().id;
  Running running(worker);
  ASSERT_TRUE(began.wait());
  server.stop();
  may_end.set();
  server.start();
  EXPECT_EQ(tasks.wait(id, 60s).value().result, "1");
  EXPECT_EQ(running.stop().stale, 0u);
}

TEST_F(Remote, WhoCannotBeReachedIsNamedInTime) {
  const std::string url = server.url();
  const Tasks hasty = server.open({.patience = 2s});
  const auto id = hasty.enqueue(plain()).value().id;
  server.stop();
  const auto refused = hasty.enqueue(plain());
  EXPECT_EQ(refused.error().code, TaskError::Code::unavailable);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr(url), HasSubstr("handoff serve")));
  EXPECT_EQ(hasty.wait(id, 60s).error().code, TaskError::Code::unavailable);
  EXPECT_THROW(static_cast<void>(hasty.get(id)), std::runtime_error);
  EXPECT_EQ(tasks::open(url).error().code, TaskError::Code::unavailable);
  // A stop ends the trying, too.
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(tasks.wait(id, {.deadline = {}, .stop = stop.get_token()}).error().code,
            TaskError::Code::stopped);
}

TEST_F(Remote, AWorkerThatStopsWithoutItsServerEnds) {
  Worker worker{server.open({.patience = 2s}), {.queues = {{"q", 1}}}};
  worker.handle_any([](const Json&, Context&) {});
  Running running(worker);
  eventually([&] { return !store.workers().empty(); });
  server.stop();
  EXPECT_EQ(running.stop().done, 0u);
}

// -- Tokens ---------------------------------------------------------------------------------------

TEST(RemoteTokens, AreAskedForByNameAndByRole) {
  const Tasks store = tasks::open("memory:").value();
  auto& core = TasksAccess::core(store);
  const std::string produce = server::make_token(core, "shop", server::Role::produce, {}).value();
  const std::string admin = server::make_token(core, "me", server::Role::admin, {}).value();
  Served server(store);
  const auto without = tasks::open(server.url());
  EXPECT_EQ(without.error().code, TaskError::Code::forbidden);
  EXPECT_THAT(without.error().message,
              AllOf(HasSubstr("HANDOFF_TOKEN"), HasSubstr("handoff token create")));
  EXPECT_EQ(tasks::open(server.url(), {.token = "hof_wrong"}).error().code,
            TaskError::Code::forbidden);
  EXPECT_EQ(tasks::open(server.url(), {.token = "a\r\nb: c"}).error().code,
            TaskError::Code::bad_request);
  const Tasks shop = server.open({.token = produce});
  EXPECT_TRUE(shop.enqueue(plain()));
  const auto refused = shop.pause("q");
  EXPECT_EQ(refused.error().code, TaskError::Code::forbidden);
  EXPECT_THAT(refused.error().message, AllOf(HasSubstr("admin"), HasSubstr("produce")));
  EXPECT_TRUE(server.open({.token = admin}).pause("q"));
}

// -- Workers --------------------------------------------------------------------------------------

TEST_F(Remote, ACancelReachesAHandlerAtOnce) {
  Event began;
  Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 1h}};  // The next heartbeat is far away.
  worker.handle_any([&](const Json&, Context& context) {
    began.set();
    static_cast<void>(Event().wait({.deadline = {}, .stop = context.stop()}));
  });
  Running running(worker);
  const auto id = tasks.enqueue(plain()).value().id;
  ASSERT_TRUE(began.wait());
  EXPECT_EQ(tasks.cancel(id).value(), TaskState::running);
  EXPECT_EQ(running.stop().cancelled, 1u);
}

TEST_F(Remote, AWorkerTakesNoMoreThanItHasRoomForOfEachQueue) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(store.enqueue({.queue = "a", .kind = "k"}));
    ASSERT_TRUE(store.enqueue({.queue = "b", .kind = "k"}));
  }
  Event may_end;
  std::atomic<int> running_now = 0;
  Worker worker{tasks, {.queues = {{"a", 2}, {"b", 3}}, .name = "w"}};
  worker.handle_any([&](const Json&, Context&) {
    ++running_now;
    static_cast<void>(may_end.wait());
  });
  Running running(worker);
  eventually([&] { return running_now == 5; });
  EXPECT_EQ(store.queue("a").count(TaskState::running), 2);
  EXPECT_EQ(store.queue("b").count(TaskState::running), 3);
  const auto look = tasks.workers().at(0);
  EXPECT_EQ(look.name, "w");
  ASSERT_EQ(look.queues.size(), 2u);
  EXPECT_EQ(look.queues[1].concurrency, 3);
  may_end.set();
  eventually([&] { return running_now == 40; });
  EXPECT_EQ(running.stop().done, 40u);
}

TEST_F(Remote, AWorkerThatStopsGivesBackAllItHas) {
  Event began;
  Worker worker{tasks, {.queues = {{"q", 2}}, .lease_for = 1h}};
  worker.handle_any([&](const Json&, Context& context) {
    began.set();
    static_cast<void>(Event().wait({.deadline = {}, .stop = context.stop()}));
    throw std::runtime_error("stopped");
  });
  ASSERT_TRUE(tasks.enqueue(plain()));
  Running running(worker);
  ASSERT_TRUE(began.wait());
  EXPECT_EQ(running.stop().given_back, 1u);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(tasks.enqueue(plain()));
  eventually([&] { return store.queue("q").count(TaskState::ready) == 6; });
}

}  // namespace
}  // namespace handoff::tests
