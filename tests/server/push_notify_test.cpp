// Who wants to know that a task has ended is told.
#include "server/push_fixture.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using testing::eventually;

class Notifying : public PushTest {
 protected:
  std::string asking(std::string_view more = "") const {
    return fmt::format(R"(,"notify":{{"url":"{}"}}{})", receiver.url("/end"), more);
  }
  // What was told of the task, once so many are there: "state reason".
  std::vector<std::string> told(const std::string& id, std::size_t count = 1) {
    std::vector<std::string> states;
    eventually([&] {
      states.clear();
      for (const Received& each : receiver.all()) {
        const Reply body = reply_of({.body = each.body});
        if (body.at("id") == id) states.push_back(body.at("state"));
      }
      return states.size() >= count;
    });
    return states;
  }
  // Nothing more will come.
  void settle() {
    eventually([&] { return get("/v1/queues/handoff.notify").at("unfinished") == "0"; });
  }

  Receiver receiver;
};

TEST_F(Notifying, TellsWhatHasBecomeOfATask) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string id = add("q", asking(fmt::format(R"(,"trace":"{}")", trace)));
  EXPECT_EQ(task(id).at("notify.url"), receiver.url("/end"));
  EXPECT_EQ(say(claim(), "done", R"(,"result":{"pages":3})").status, 200);
  told(id);
  const Received request = receiver.all().at(0);
  EXPECT_EQ(request.line, "POST /end HTTP/1.1");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("handoff-queue"), "handoff.notify");
  EXPECT_EQ(request.header("handoff-kind"), "notify");
  EXPECT_EQ(request.header("traceparent"), trace);
  EXPECT_THAT(request.header("handoff-signature"), HasSubstr("v1="));
  const Reply body = reply_of({.body = request.body});
  EXPECT_EQ(body.at("id"), id);
  EXPECT_EQ(body.at("queue"), "q");
  EXPECT_EQ(body.at("kind"), "k");
  EXPECT_EQ(body.at("state"), "done");
  EXPECT_EQ(body.at("result.pages"), "3");
  EXPECT_EQ(body.at("finished_at"), task(id).at("finished_at"));
}

TEST_F(Notifying, TellsOnceHoweverATaskEnds) {
  const std::string done = add("done", asking());
  say(claim("done"), "done");
  const std::string dead = add("dead", asking());
  say(claim("dead"), "fail", R"(,"error":"no","dead":true)");
  const std::string cancelled = add("q", asking());
  post("/v1/tasks/" + cancelled + "/cancel", "");
  const std::string expired = add("q", asking(R"(,"expires_in":"1ms")"));
  const std::string purged = add("purged", asking());
  post("/v1/queues/purged/purge", R"({"state":"ready"})");
  EXPECT_EQ(told(done).at(0), "done");
  EXPECT_EQ(told(dead).at(0), "dead");
  EXPECT_EQ(told(cancelled).at(0), "cancelled");
  EXPECT_EQ(told(expired).at(0), "cancelled");
  EXPECT_EQ(told(purged).at(0), "cancelled");
  settle();
  EXPECT_EQ(receiver.count(), 5);
}

TEST_F(Notifying, TellsAgainWhenATaskEndsAgain) {
  const std::string id = add("q", asking());
  say(claim(), "fail", R"(,"error":"no","dead":true)");
  EXPECT_THAT(told(id), ::testing::ElementsAre("dead"));
  EXPECT_EQ(post("/v1/tasks/" + id + "/retry", "").status, 200);
  say(claim(), "done");
  EXPECT_THAT(told(id, 2), ::testing::ElementsAre("dead", "done"));
}

TEST_F(Notifying, TriesUntilItIsHeard) {
  Receiver deaf([](const Received& each) { return answer(each.count < 3 ? 500 : 200); });
  put("/v1/queues/handoff.notify", R"({"backoff":{"kind":"fixed","delay":"1ms"}})");
  add("q", fmt::format(R"(,"notify":{{"url":"{}"}})", deaf.url()));
  say(claim(), "done");
  settle();
  const auto all = deaf.all();
  ASSERT_EQ(all.size(), 3);
  EXPECT_EQ(all[0].header("handoff-task-id"), all[2].header("handoff-task-id"));
  EXPECT_EQ(all[2].header("handoff-attempt"), "3");
}

TEST_F(Notifying, TellsOfTasksThatAreDelivered) {
  Receiver worker([](const Received&) { return answer(200, "42"); });
  deliver("q", worker.url());
  const std::string id = add("q", asking());
  EXPECT_EQ(told(id).at(0), "done");
  EXPECT_EQ(reply_of({.body = receiver.all().at(0).body}).at("result"), "42");
}

TEST_F(Notifying, IsForBatchesWorkflowsAndSchedulesToo) {
  const std::string one = fmt::format(R"({{"queue":"q","kind":"k"{}}})", asking());
  const Reply batch = post("/v1/tasks/batch", "[" + one + "," + one + "]");
  ASSERT_EQ(batch.status, 202) << batch.answer.body;
  say(claim(), "done");
  told(batch.at("ids.0"));
  say(claim(), "done");
  told(batch.at("ids.1"));
  const Reply flow =
      post("/v1/workflows", fmt::format(R"({{"steps":[{{"name":"a","task":{}}}]}})", one));
  ASSERT_EQ(flow.status, 202) << flow.answer.body;
  say(claim(), "done");
  told(flow.at("tasks.a"));
  const Reply body = reply_of({.body = receiver.all().back().body});
  EXPECT_EQ(body.at("workflow"), flow.at("id"));
  EXPECT_EQ(body.at("step"), "a");
  const Reply schedule =
      put("/v1/schedules/s", fmt::format(R"({{"cron":"0 3 * * *","task":{}}})", one));
  ASSERT_EQ(schedule.status, 200) << schedule.answer.body;
  EXPECT_EQ(schedule.at("task.notify.url"), receiver.url("/end"));
}

TEST_F(Notifying, SaysWhomItMayTell) {
  const std::string bad = R"({"queue":"q","kind":"k","notify":{"url":"http://example.org/"}})";
  const Reply refused = post("/v1/tasks", bad);
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.at("error.field"), "notify.url");
  EXPECT_THAT(refused.at("error.message"), HasSubstr("127.0.0.0/8, ::1, localhost"));
  EXPECT_EQ(post("/v1/tasks/batch", R"([{"queue":"q","kind":"k"},)" + bad + "]").at("error.field"),
            "[1].notify.url");
  EXPECT_EQ(
      post("/v1/workflows", R"({"steps":[{"name":"a","task":)" + bad + "}]}").at("error.field"),
      "steps.a.notify.url");
  EXPECT_EQ(put("/v1/schedules/s", R"({"cron":"0 3 * * *","task":)" + bad + "}").at("error.field"),
            "task.notify.url");
  for (const char* const url : {"", "ftp://127.0.0.1/", "http://a:b@127.0.0.1/"}) {
    const Reply other = post(
        "/v1/tasks", fmt::format(R"({{"queue":"q","kind":"k","notify":{{"url":"{}"}}}})", url));
    EXPECT_EQ(other.at("error.field"), "notify.url") << url;
  }
  EXPECT_EQ(get("/v1/queues/q").at("unfinished"), "0");
}

TEST_F(Notifying, HasAQueueThatIsNotForOthers) {
  const Reply refused = post("/v1/tasks", R"({"queue":"handoff.notify","kind":"notify"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.at("error.field"), "queue");
  EXPECT_EQ(post("/v1/queues/handoff.notify/pause", "").at("paused"), "true");
  const std::string id = add("q", asking());
  say(claim(), "done");
  EXPECT_EQ(get("/v1/queues/handoff.notify").at("counts.ready"), "1");
  EXPECT_EQ(post("/v1/queues/handoff.notify/resume", "").at("paused"), "false");
  told(id);
}

}  // namespace
}  // namespace handoff::tests
