// A task that ends leaves another one, for who wants to know: in the same transaction, and once.
#include "handoff/tasks/notify.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "handoff/tasks/codec.hpp"
#include "handoff/tasks/json.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/tasks/workflow.hpp"
#include "tasks/stores.hpp"
#include "tasks/workflow.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = Outcome::Kind;

constexpr auto url = "http://127.0.0.1:9/end";
const std::string notices(notify_queue);

NewTask told(std::string payload = "null") {
  NewTask task{.queue = "q", .kind = "k", .payload = std::move(payload)};
  task.notify_url = url;
  return task;
}

// What stands at `name` of the task that a notice tells of; strings with their quotes.
std::string at(const Claimed& notice, std::string_view name) {
  const auto document = JsonDocument::parse(notice.payload).value();
  const auto found = document.root().member("task")->member(name);
  return found ? found->json().text() : "(none)";
}

class Notices : public StoreTest {
 protected:
  std::vector<Claimed> taken() { return claim(1000, notices); }
  // The states that those tell of that nobody has taken yet.
  std::vector<std::string> states() {
    std::vector<std::string> all;
    for (const Claimed& each : taken()) all.push_back(at(each, "state"));
    return all;
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Notices, ::testing::Values("memory", "file"),
                         [](const auto& each) { return each.param; });

TEST_P(Notices, TellWhatHasBecomeOfATask) {
  NewTask task = told();
  task.trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const auto id = add(task).id;
  EXPECT_EQ(get(id).notify_url, url);
  finish(claim()[0], Kind::done, R"({"pages":3})");
  EXPECT_EQ(changes.ready.at(notices), 1);  // Who delivers them is woken.
  const auto all = taken();
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].kind, notify_kind);
  EXPECT_EQ(all[0].trace, task.trace);
  EXPECT_THAT(all[0].payload, HasSubstr(std::string(R"("url":")") + url + '"'));
  EXPECT_EQ(at(all[0], "id"), '"' + id.to_string() + '"');
  EXPECT_EQ(at(all[0], "queue"), R"("q")");
  EXPECT_EQ(at(all[0], "kind"), R"("k")");
  EXPECT_EQ(at(all[0], "state"), R"("done")");
  EXPECT_EQ(at(all[0], "result"), R"({"pages":3})");
  EXPECT_EQ(at(all[0], "finished_at"), '"' + to_text(clock.now()) + '"');
  EXPECT_EQ(at(all[0], "workflow"), "(none)");
}

TEST_P(Notices, ComeOnlyToWhoHasAsked) {
  add({.queue = "q", .kind = "k"});
  finish(claim()[0]);
  EXPECT_THAT(states(), IsEmpty());
  EXPECT_EQ(look(notices).unfinished(), 0);
}

TEST_P(Notices, ComeOnceHoweverATaskEnds) {
  add(told());
  finish(claim()[0], Kind::failed_for_good, "no such photo");
  const auto dead = taken();
  ASSERT_EQ(dead.size(), 1);
  EXPECT_EQ(at(dead[0], "state"), R"("dead")");
  EXPECT_EQ(at(dead[0], "reason"), R"("no such photo")");

  const auto id = add(told()).id;
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel(id, "not wanted")); });
  EXPECT_THAT(states(), ElementsAre(R"("cancelled")"));

  add(told());
  finish(claim()[0], Kind::cancelled, "its handler says so");
  EXPECT_THAT(states(), ElementsAre(R"("cancelled")"));

  NewTask late = told();
  late.expires_in = 1s;
  add(late);
  clock.advance(2s);
  keep_time();
  keep_time();
  EXPECT_THAT(states(), ElementsAre(R"("cancelled")"));

  add(late);
  clock.advance(2s);
  EXPECT_THAT(claim(), IsEmpty());  // Who claims finds that it is late.
  EXPECT_THAT(states(), ElementsAre(R"("cancelled")"));

  add(told());
  with([&](Transaction& each) { each.purge("q", TaskState::ready, 100); });
  EXPECT_THAT(states(), ElementsAre(R"("cancelled")"));
}

TEST_P(Notices, ComeAtTheEndAndNotBefore) {
  NewTask task = told();
  task.max_attempts = 2;
  add(task);
  finish(claim()[0], Kind::deferred, "", 0ms);
  keep_time();
  finish(claim()[0], Kind::released);
  finish(claim()[0], Kind::failed, "once", 0ms);
  keep_time();
  EXPECT_THAT(states(), IsEmpty());
  const auto last = claim()[0];
  finish(last, Kind::failed, "twice");
  EXPECT_EQ(finish(last, Kind::failed, "twice"), Recorded::again);
  EXPECT_THAT(states(), ElementsAre(R"("dead")"));
}

TEST_P(Notices, TellOfThoseWhoseWorkersAreGone) {
  add(told());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(claim().size(), 1);
    clock.advance(1min);
    with([&](Transaction& each) { each.reclaim(100); });
  }
  EXPECT_THAT(states(), ElementsAre(R"("dead")"));
}

TEST_P(Notices, ComeAgainWhenATaskEndsAgain) {
  const auto id = add(told()).id;
  finish(claim()[0], Kind::failed_for_good, "no");
  EXPECT_THAT(states(), ElementsAre(R"("dead")"));
  with([&](Transaction& each) { ASSERT_TRUE(each.replay(id)); });
  EXPECT_THAT(states(), IsEmpty());
  finish(claim()[0]);
  EXPECT_THAT(states(), ElementsAre(R"("done")"));
}

TEST_P(Notices, ComeForEachOfMany) {
  constexpr int many = 60;
  std::vector<NewTask> all(many, told());
  for (int i = 0; i < many; i += 2) all[static_cast<std::size_t>(i)].notify_url.clear();
  ASSERT_TRUE(insert(all));
  const auto claimed = claim(many);
  std::vector<Outcome> outcomes;
  for (const Claimed& each : claimed) {
    outcomes.push_back({.id = each.id, .lease = each.lease, .kind = Kind::done, .text = "null"});
  }
  with([&](Transaction& each) { each.finish(outcomes); });
  EXPECT_EQ(states().size(), many / 2);
}

TEST_P(Notices, ComeAlthoughTheirQueueIsFull) {
  QueueSettings settings;
  settings.capacity = 1;
  settings.capacity_bytes = 1;
  configure(settings, notices);
  for (int i = 0; i < 3; ++i) add(told());
  for (int i = 0; i < 3; ++i) finish(claim()[0]);
  EXPECT_EQ(states().size(), 3);
}

// So there are never more than their queue holds, and one for each task that was accepted before.
TEST_P(Notices, AreNotPromisedWhileTheirQueueIsFull) {
  QueueSettings settings;
  settings.capacity = 2;
  configure(settings, notices);
  NewTask known = told();
  known.id = TaskId::make(clock.now());
  add(known);
  for (int i = 0; i < 2; ++i) add(told());
  for (int i = 0; i < 2; ++i) finish(claim()[0]);
  const auto refused = insert({{.queue = "q", .kind = "k"}, told()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, TaskError::Code::full);
  EXPECT_EQ(refused.error().field, "[1].notify");
  EXPECT_EQ(refused.error().queue, notices);
  EXPECT_THAT(refused.error().message, HasSubstr("queue \"handoff.notify\" holds 2 of 2 tasks"));
  EXPECT_TRUE(insert({{.queue = "q", .kind = "k"}})) << "nobody wants to be told of it";
  EXPECT_TRUE(add(known).is_duplicate);
  finish(claim()[0]);
  EXPECT_EQ(look(notices).unfinished(), 3) << "what was promised is kept";
  for (const Claimed& each : claim(2, notices)) finish(each);
  EXPECT_TRUE(insert({told()}));
}

TEST_P(Notices, AreNotPromisedWhileTheirQueueIsFullOfBytes) {
  QueueSettings settings;
  settings.capacity_bytes = 10;
  configure(settings, notices);
  add(told());
  finish(claim()[0]);
  EXPECT_THAT(insert({told()}).error().message, HasSubstr("of 10 bytes"));
}

TEST_P(Notices, AreGoneWithTheTransactionThatEndsTheTask) {
  add(told());
  const auto claimed = claim()[0];
  const Outcome outcome{.id = claimed.id, .lease = claimed.lease, .kind = Kind::done, .text = "1"};
  EXPECT_THROW(with([&](Transaction& each) {
                 each.finish(std::span(&outcome, 1));
                 throw std::runtime_error("the machine stops here");
               }),
               std::runtime_error);
  EXPECT_THAT(states(), IsEmpty());
  EXPECT_EQ(get(claimed.id).state, TaskState::running);
}

TEST_P(Notices, TellOfStepsWithTheirWorkflow) {
  Workflow workflow{"w"};
  workflow.step("first", told()).then("second", told());
  const auto started = with([&](Transaction& each) {
                         return each.start(prepare(workflow, clock.now()).value());
                       }).value();
  finish(claim()[0], Kind::failed_for_good, "no");
  const auto all = taken();  // The second is given up with the first.
  ASSERT_EQ(all.size(), 2);
  EXPECT_EQ(at(all[0], "workflow"), '"' + started.id.to_string() + '"');
  EXPECT_EQ(at(all[0], "step"), R"("first")");
  EXPECT_EQ(at(all[1], "step"), R"("second")");
  EXPECT_EQ(at(all[1], "state"), R"("cancelled")");
}

TEST_P(Notices, TellOfWhatAScheduleMakes) {
  with([&](Transaction& each) {
    return each.put_schedule({.name = "s", .cron = "* * * * *", .timezone = "UTC", .task = told()});
  }).value();
  clock.advance(1min);
  with([&](Transaction& each) {
    each.fire(10);
    each.promote(10);
  });
  const auto made = claim(10);
  ASSERT_FALSE(made.empty());
  finish(made[0]);
  EXPECT_EQ(states().size(), 1);
}

// Results are as workers of other programs have made them.
TEST_P(Notices, HoldResultsThatCannotStandThereAsText) {
  const std::string deep = std::string(64, '[') + std::string(64, ']');
  for (const std::string& result : {std::string("~aes:AAAA"), deep}) {
    add(told());
    finish(claim()[0], Kind::done, result);
    const auto all = taken();
    ASSERT_EQ(all.size(), 1);
    EXPECT_EQ(at(all[0], "result"), "(none)");
    EXPECT_EQ(at(all[0], "result_text"), '"' + result + '"');
  }
  const auto id = add(told()).id;
  with([&](Transaction& each) { ASSERT_TRUE(each.cancel(id, "not \xff UTF-8")); });
  EXPECT_EQ(at(taken()[0], "reason"), R"("not ? UTF-8")");
}

// -- By those who use it --------------------------------------------------------------------------

TEST(NotifyUrl, MustBeOne) {
  const Tasks tasks = open("memory:").value();
  NewTask task{.queue = "q", .kind = "k"};
  for (const char* const bad : {"ftp://a/", "127.0.0.1:80", "http://a b/", "http://a/\n"}) {
    task.notify_url = bad;
    EXPECT_EQ(tasks.enqueue(task).error().field, "notify_url") << bad;
  }
  task.notify_url = "http://a/" + std::string(2048, 'x');
  EXPECT_EQ(tasks.enqueue(task).error().field, "notify_url");
  task.notify_url = "https://a/b?c=d";
  EXPECT_TRUE(tasks.enqueue(task));
}

TEST(NotifyUrl, WaitsForRoomForTheNoticeIfTheirQueueSaysSo) {
  const Tasks tasks = open("memory:").value();
  QueueSettings settings;
  settings.capacity = 1;
  settings.when_full = WhenFull::block;
  settings.block_for = 10min;
  ASSERT_TRUE(tasks.configure(notices, settings));
  ASSERT_TRUE(tasks.cancel(tasks.enqueue(told())->id));
  const auto notice = tasks.list({.queue = notices})->tasks.at(0).id;
  const std::jthread waits([&] { EXPECT_TRUE(tasks.enqueue(told())); });
  ASSERT_TRUE(tasks.cancel(notice));
}

TEST(ReservedQueues, TakeNoTasksFromOutside) {
  const Tasks tasks = open("memory:").value();
  const auto refused = tasks.enqueue({.queue = "handoff.notify", .kind = "k"});
  EXPECT_EQ(refused.error().code, TaskError::Code::bad_request);
  EXPECT_EQ(refused.error().field, "queue");
  EXPECT_TRUE(tasks.pause("handoff.notify"));
  EXPECT_TRUE(tasks.resume("handoff.notify"));
  EXPECT_TRUE(tasks.enqueue({.queue = "handoffs", .kind = "k"}));
}

TEST(ReservedQueues, MayBeWorkedOffByAnybody) {
  const Tasks tasks = open("memory:").value();
  const auto id = tasks.enqueue(told())->id;
  ASSERT_TRUE(tasks.cancel(id));
  Worker worker{tasks, {.queues = {{notices, 1}}, .runs_inline = true}};
  std::vector<std::string> seen;
  worker.handle(std::string(notify_kind),
                [&](const Json& json, Context&) { seen.push_back(json.text()); });
  EXPECT_EQ(worker.run_until_idle().done, 1);
  EXPECT_THAT(seen, ElementsAre(HasSubstr(id.to_string())));
}

// -- Queues that are delivered --------------------------------------------------------------------

class Deliveries : public StoreTest {};
INSTANTIATE_TEST_SUITE_P(Kinds, Deliveries, ::testing::Values("file"),
                         [](const auto& each) { return each.param; });

TEST_P(Deliveries, AreKeptWithTheirQueue) {
  QueueSettings settings;
  settings.deliver_to = {.url = url, .timeout = 3s, .secret = "s e c\nret"};
  configure(settings, "pushed");
  configure({}, "other");
  reopen();
  const auto all = with([](Transaction& each) { return each.delivering(); });
  ASSERT_EQ(all.size(), 1);
  EXPECT_EQ(all[0].name, "pushed");
  EXPECT_EQ(all[0].delivery, settings.deliver_to);
  EXPECT_EQ(look("pushed").settings.deliver_to, settings.deliver_to);
  configure({}, "pushed");
  EXPECT_THAT(with([](Transaction& each) { return each.delivering(); }), IsEmpty());
}

TEST(DeliverySettings, AreChecked) {
  const Tasks tasks = open("memory:").value();
  QueueSettings settings;
  settings.deliver_to.url = "gopher://a";
  EXPECT_EQ(tasks.configure("q", settings).error().field, "deliver_to.url");
  settings.deliver_to = {.url = url, .timeout = 2h, .secret = {}};
  EXPECT_EQ(tasks.configure("q", settings).error().field, "deliver_to.timeout");
  settings.deliver_to = {.url = url, .timeout = 1s, .secret = std::string(1025, 'x')};
  EXPECT_EQ(tasks.configure("q", settings).error().field, "deliver_to.secret");
}

}  // namespace
}  // namespace handoff::tests
