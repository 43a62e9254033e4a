// Handing tasks in, and looking at them.
#include "server/api_fixture.hpp"
#include "server/exposition.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class ApiTasks : public ApiTest {};

TEST_F(ApiTasks, AreAcceptedWithAnIdAndAPlace) {
  const Reply made =
      post("/v1/tasks", R"({"queue":"email","kind":"welcome","payload":{"to":"a@b"}})");
  EXPECT_EQ(made.status, 202);
  EXPECT_EQ(made.at("state"), "ready");
  EXPECT_EQ(made.at("duplicate"), "false");
  EXPECT_EQ(made.answer.header("location"), "/v1/tasks/" + made.at("id"));
  const Reply task = get(made.answer.header("location"));
  EXPECT_EQ(task.status, 200);
  EXPECT_EQ(task.at("queue"), "email");
  EXPECT_EQ(task.at("kind"), "welcome");
  EXPECT_EQ(task.at("payload.to"), "a@b");
  EXPECT_EQ(task.at("state"), "ready");
  EXPECT_EQ(task.at("max_attempts"), "20");
  EXPECT_EQ(task.at("result"), "(none)");
}

TEST_F(ApiTasks, TakeAllOptions) {
  const Reply made = post("/v1/tasks", R"({"queue":"q","kind":"a/b","payload":[1],"delay":"2h",
    "priority":-5,"max_attempts":3,"timeout":"90s","unique_key":"u","unique_for":"1m",
    "expires_in":"1d","group":"g","trace":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})");
  ASSERT_EQ(made.status, 202) << made.answer.body;
  EXPECT_EQ(made.at("state"), "scheduled");
  const Reply task = get("/v1/tasks/" + made.at("id"));
  EXPECT_EQ(task.at("priority"), "-5");
  EXPECT_EQ(task.at("max_attempts"), "3");
  EXPECT_EQ(task.at("timeout"), "90s");
  EXPECT_EQ(task.at("unique_key"), "u");
  EXPECT_EQ(task.at("group"), "g");
  EXPECT_THAT(task.at("trace"), StartsWith("00-0af7"));
}

TEST_F(ApiTasks, TakeTheTraceOfTheirRequest) {
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Reply made =
      post("/v1/tasks", R"({"queue":"q","kind":"k"})", "traceparent: " + trace + "\r\n");
  EXPECT_EQ(get("/v1/tasks/" + made.at("id")).at("trace"), trace);
}

TEST_F(ApiTasks, DoNotMindAHeaderThatIsNoTrace) {
  const Reply made = post("/v1/tasks", R"({"queue":"q","kind":"k"})", "traceparent: 01-x\r\n");
  EXPECT_EQ(made.status, 202) << made.answer.body;
  EXPECT_EQ(get("/v1/tasks/" + made.at("id")).at("trace"), "(none)");
}

TEST_F(ApiTasks, AreNotMadeTwice) {
  const std::string id = "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c";
  const std::string body = R"({"queue":"q","kind":"k","id":")" + id + R"("})";
  EXPECT_EQ(post("/v1/tasks", body).status, 202);
  const Reply again = post("/v1/tasks", body);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.at("id"), id);
  EXPECT_EQ(again.at("duplicate"), "true");
  const std::string first = add("q", R"(,"unique_key":"u")");
  const Reply second = post("/v1/tasks", R"({"queue":"q","kind":"k","unique_key":"u"})");
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(second.at("id"), first);
}

TEST_F(ApiTasks, ThatAreWrongAreRefusedByTheNameOfTheField) {
  struct Case {
    std::string_view body;
    std::string_view field;
    std::string_view says;
  };
  constexpr Case cases[] = {
      {R"({"kind":"k"})", "queue", "queue"},
      {R"({"queue":"a b","kind":"k"})", "queue", "1 to 64"},
      {R"({"queue":"q","kind":"k","priority":101})", "priority", "-100 to 100"},
      {R"({"queue":"q","kind":"k","priority":"high"})", "priority", "whole number"},
      {R"({"queue":"q","kind":"k","delay":"soon"})", "delay", "unit"},
      {R"({"queue":"q","kind":"k","id":"7"})", "id", "UUID"},
      {R"({"queue":"q","kind":"k","max_attemps":3})", "max_attemps", "max_attempts"},
      {R"({"queue":"q","kind":"k","trace":"x"})", "trace", "traceparent"},
      {R"({"queue":"q","kind":"k","max_attempts":0})", "max_attempts", "1 to 1000"},
      {R"({"queue":"q","kind":"k","timeout":0})", "timeout", "1ms to 3650d"},
      {R"({"queue":"q","kind":"k","expires_in":"0s"})", "expires_in", "1ms to 3650d"},
      {R"({"queue":"q","kind":"k","unique_key":""})", "unique_key", "1 to 256 bytes"},
      {R"({"queue":"q","kind":"k","group":""})", "group", "1 to 128 bytes"},
      {R"({"queue":"q","kind":"k","trace":""})", "trace", "traceparent"},
      {R"({"queue":"q","kind":"k","notify":{"url":"http://example.org/"}})", "notify.url",
       "push_hosts"},
      {R"([])", "null", "object"},
      {R"({"queue":)", "null", ""},
  };
  for (const Case& each : cases) {
    const Reply reply = post("/v1/tasks", each.body);
    EXPECT_EQ(reply.status, 400) << each.body;
    EXPECT_EQ(reply.at("error.code"), "bad_request") << each.body;
    EXPECT_EQ(reply.at("error.field"), each.field) << reply.answer.body;
    EXPECT_THAT(reply.at("error.message"), HasSubstr(each.says)) << each.body;
  }
  EXPECT_EQ(tasks.list()->tasks.size(), 0u);
}

// What a NewTask has where nothing was given is no value that somebody may give, wherever a task is told of.
TEST_F(ApiTasks, ThatAreGivenNothingForAFieldAreRefusedWhereverTheyComeIn) {
  const std::string task = R"({"queue":"q","kind":"k","max_attempts":0})";
  const Reply second = post("/v1/tasks/batch", R"([{"queue":"q","kind":"k"},)" + task + "]");
  EXPECT_EQ(second.at("error.field"), "[1].max_attempts");
  EXPECT_THAT(second.at("error.message"), StartsWith("[1].max_attempts must be 1 to 1000"));
  EXPECT_EQ(
      post("/v1/workflows", R"({"steps":[{"name":"a","task":)" + task + "}]}").at("error.field"),
      "steps.a.max_attempts");
  EXPECT_EQ(put("/v1/schedules/x", R"({"cron":"@daily","task":)" + task + "}").at("error.field"),
            "task.max_attempts");
  EXPECT_EQ(tasks.list()->tasks.size(), 0u);
}

TEST_F(ApiTasks, ThatAreNoJsonAreRefused) {
  const Reply reply =
      reply_of(raw::ask(port(),
                        "POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
                        "application/x-www-form-urlencoded\r\nContent-Length: 4\r\n\r\na=b1"));
  EXPECT_EQ(reply.status, 415);
  EXPECT_EQ(reply.at("error.code"), "unsupported_media_type");
  EXPECT_THAT(reply.at("error.message"), HasSubstr("Content-Type: application/json"));
}

TEST_F(ApiTasks, AreRefusedByAFullQueue) {
  ASSERT_EQ(put("/v1/queues/small", R"({"capacity":1})").status, 200);
  add("small");
  const Reply full = post("/v1/tasks", R"({"queue":"small","kind":"k"})");
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.at("error.code"), "full");
  EXPECT_EQ(full.at("error.message"), "queue \"small\" holds 1 of 1 tasks");
  EXPECT_EQ(full.answer.header("retry-after"), "5");
  EXPECT_NE(get("/v1/queues/small").at("rates.rejected"), "0");
}

// Of a batch, and of a workflow, it is the queue without room that is to be looked at.
TEST_F(ApiTasks, AreCountedForTheQueueThatWasFull) {
  ASSERT_EQ(put("/v1/queues/small", R"({"capacity":1})").status, 200);
  add("small");
  const Reply batch =
      post("/v1/tasks/batch", R"([{"queue":"large","kind":"k"},{"queue":"small","kind":"k"}])");
  EXPECT_EQ(batch.at("error.field"), "[1].queue");
  const auto rejected = [&](std::string_view queue) {
    const Exposition metrics(get("/metrics").answer.body);
    return metrics.value("handoff_rejected_total", fmt::format(R"({{queue="{}"}})", queue));
  };
  EXPECT_EQ(rejected("small"), 2);
  EXPECT_EQ(rejected("large").value_or(0), 0);
  const Reply workflow = post("/v1/workflows", R"({"steps":[
      {"name":"one","task":{"queue":"large","kind":"k"}},
      {"name":"two","task":{"queue":"small","kind":"k"}}]})");
  EXPECT_EQ(workflow.status, 503);
  EXPECT_EQ(workflow.at("error.field"), "steps.two.queue");
  EXPECT_EQ(rejected("small"), 4);
  EXPECT_EQ(rejected("large").value_or(0), 0);
}

// "Try again" would be said for ever.
TEST_F(ApiTasks, AreTooLargeIfTheirQueueCouldNeverHoldThem) {
  ASSERT_EQ(put("/v1/queues/small",
                R"({"capacity":1,"capacity_bytes":10,"when_full":"block","block_for":"10m"})")
                .status,
            200);
  const auto expect_too_large = [](const Reply& reply, std::string_view field) {
    EXPECT_EQ(reply.status, 413) << reply.answer.body;
    EXPECT_EQ(reply.at("error.code"), "too_large");
    EXPECT_EQ(reply.at("error.field"), field);
    EXPECT_EQ(reply.answer.header("retry-after"), "");
  };
  const std::string task = R"({"queue":"small","kind":"k"})";
  const std::string large = R"({"queue":"small","kind":"k","payload":"0123456789abcdef"})";
  expect_too_large(post("/v1/tasks/batch", "[" + task + "," + task + "]"), "[1].queue");
  expect_too_large(post("/v1/tasks", large), "payload");
  expect_too_large(post("/v1/workflows", R"({"steps":[{"name":"a","task":)" + task +
                                             R"(},{"name":"b","task":)" + task + "}]}"),
                   "steps.b.queue");
  EXPECT_EQ(post("/v1/tasks", large).at("error.message"),
            "queue \"small\" may never hold more than 10 bytes of payloads, and these are 18");
  EXPECT_EQ(get("/v1/queues/small").at("rates.rejected"), "0");
}

TEST_F(ApiTasks, ThatSomebodyWantsToBeToldOfNeedRoomForTheNews) {
  ASSERT_EQ(put("/v1/queues/handoff.notify", R"({"capacity":1})").status, 200);
  const std::string notify = R"(,"notify":{"url":"http://127.0.0.1:9/end"})";
  post("/v1/tasks/" + add("q", notify) + "/cancel", "");
  const std::string told = R"({"queue":"q","kind":"k")" + notify + "}";
  const Reply full = post("/v1/tasks", told);
  EXPECT_EQ(full.status, 503);
  EXPECT_EQ(full.at("error.code"), "full");
  EXPECT_EQ(full.at("error.field"), "notify");
  EXPECT_THAT(full.at("error.message"), HasSubstr("\"handoff.notify\" holds 1 of 1 tasks"));
  EXPECT_EQ(post("/v1/tasks/batch", "[" + told + "]").at("error.field"), "[0].notify");
  EXPECT_EQ(
      post("/v1/workflows", R"({"steps":[{"name":"a","task":)" + told + "}]}").at("error.field"),
      "steps.a.notify");
  add("q");
}

TEST_F(ApiTasks, OfABatchOfOneHaveAnIndex) {
  ASSERT_EQ(put("/v1/queues/small", R"({"capacity":1})").status, 200);
  add("small");
  const auto field = [&](std::string_view body) {
    const Reply reply = post("/v1/tasks/batch", body);
    const std::string named = reply.at("error.field");
    if (reply.status != 503) {
      EXPECT_THAT(reply.at("error.message"), HasSubstr(named));
    }
    return named;
  };
  const std::string lost = R"("after":["01a1e8d0-9b61-7000-9072-e55e3f0443e8"])";
  EXPECT_EQ(field(R"([{"queue":"a b","kind":"k"}])"), "[0].queue");
  EXPECT_EQ(field(R"([{"queue":"small","kind":"k"}])"), "[0].queue");
  EXPECT_EQ(field(R"([{"queue":"q","kind":"k",)" + lost + "}]"), "[0].after[0]");
  EXPECT_EQ(field(R"([{"queue":"q","kind":"k"},{"queue":"q","kind":"k",)" + lost + "}]"),
            "[1].after[0]");
  const Reply alone = post("/v1/tasks", R"({"queue":"q","kind":"k",)" + lost + "}");
  EXPECT_EQ(alone.at("error.field"), "after[0]");
  EXPECT_THAT(alone.at("error.message"), ::testing::StartsWith("after[0] names a task"));
  const Reply wrong = post("/v1/tasks", R"({"queue":"a b","kind":"k"})");
  EXPECT_EQ(wrong.at("error.field"), "queue");
  EXPECT_THAT(wrong.at("error.message"), ::testing::StartsWith("queue "));
  EXPECT_EQ(post("/v1/tasks", R"({"queue":"small","kind":"k"})").at("error.field"), "queue");
}

TEST_F(ApiTasks, OfABatchAreStoredTogether) {
  const Reply made =
      post("/v1/tasks/batch", R"([{"queue":"q","kind":"a"},{"queue":"q","kind":"b"}])");
  EXPECT_EQ(made.status, 202);
  EXPECT_EQ(made.size("ids"), 2u);
  EXPECT_EQ(get("/v1/tasks/" + made.at("ids.1")).at("kind"), "b");
  const Reply wrong =
      post("/v1/tasks/batch", R"([{"queue":"q","kind":"a"},{"queue":"q q","kind":"b"}])");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.at("error.field"), "[1].queue");
  EXPECT_EQ(tasks.list()->tasks.size(), 2u);
}

TEST_F(ApiTasks, OfABatchMayComeInLines) {
  const std::string body =
      "{\"queue\":\"q\",\"kind\":\"a\"}\n\n{\"queue\":\"q\",\"kind\":\"b\"}\r\n";
  EXPECT_EQ(post_lines(body).size("ids"), 2u);
  const Reply wrong = post_lines(body + "{\"queue\":7}");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(wrong.at("error.field"), "[2].queue");
  EXPECT_EQ(post_lines(R"({"queue":"a b","kind":"k"})").at("error.field"), "[0].queue");
}

TEST_F(ApiTasks, OfABatchComeInLinesWhateverTheCaseOfTheirType) {
  const auto status = [&](std::string_view type) {
    return raw::ask(port(), fmt::format("POST /v1/tasks/batch HTTP/1.1\r\nHost: localhost\r\n"
                                        "Content-Type: {}\r\nContent-Length: 24\r\n\r\n{}",
                                        type, R"({"queue":"q","kind":"k"})"))
        .status;
  };
  EXPECT_EQ(status("Application/X-NDJSON"), 202);
  EXPECT_EQ(status("application/x-ndjson ; charset=utf-8"), 202);
  EXPECT_EQ(status("application/x-ndjson-2"), 415);
}

TEST_F(ApiTasks, AreListedNewestFirst) {
  for (int i = 0; i < 5; ++i) add();
  add("other");
  const Reply first = get("/v1/tasks?queue=q&limit=3");
  EXPECT_EQ(first.size("tasks"), 3u);
  const Reply rest = get("/v1/tasks?queue=q&limit=3&cursor=" + first.at("next_cursor"));
  EXPECT_EQ(rest.size("tasks"), 2u);
  EXPECT_EQ(rest.at("next_cursor"), "(none)");
  EXPECT_EQ(get("/v1/tasks?state=done").size("tasks"), 0u);
  for (const auto* wrong :
       {"?qeue=q", "?limit=0", "?limit=x", "?state=old", "?cursor=x", "?limit=1&limit=2"}) {
    EXPECT_EQ(get(std::string("/v1/tasks") + wrong).status, 400) << wrong;
  }
  EXPECT_THAT(get("/v1/tasks?qeue=q").at("error.message"), HasSubstr("did you mean \"queue\""));
}

TEST_F(ApiTasks, ThatAreLargeMakeShortPagesAndClaims) {
  const std::string payload = "\"" + std::string(900'000, 'x') + "\"";
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(tasks.enqueue({.queue = "q", .kind = "k", .payload = payload}));
  const Reply page = get("/v1/tasks");
  EXPECT_EQ(page.size("tasks"), 10u);
  EXPECT_EQ(get("/v1/tasks?cursor=" + page.at("next_cursor")).size("tasks"), 10u);
  EXPECT_EQ(claim("q", R"(,"max":1000)").size("tasks"), 9u);
}

TEST_F(ApiTasks, CanBeWaitedFor) {
  const std::string id = add();
  EXPECT_EQ(get("/v1/tasks/" + id + "?wait=1ms").at("state"), "ready");
  raw::Client waits(port());
  waits.send(raw::request("GET", "/v1/tasks/" + id + "?wait=60s"));
  const Reply claimed = claim();
  EXPECT_EQ(say(claimed, "done", R"(,"result":{"sent":true})").status, 200);
  const Reply end = reply_of(waits.read_answer());
  EXPECT_EQ(end.at("state"), "done");
  EXPECT_EQ(end.at("result.sent"), "true");
  EXPECT_EQ(get("/v1/tasks/" + id + "?wait=never").status, 400);
}

TEST_F(ApiTasks, ThatAreNotThereAreNotFound) {
  const std::string nobody = "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c";
  EXPECT_EQ(get("/v1/tasks/" + nobody).status, 404);
  EXPECT_EQ(get("/v1/tasks/" + nobody).at("error.code"), "not_found");
  EXPECT_EQ(get("/v1/tasks/" + nobody + "?wait=10s").status, 404);
  EXPECT_EQ(get("/v1/tasks/7").status, 400);
  EXPECT_EQ(post("/v1/tasks/" + nobody + "/cancel", "").status, 404);
  EXPECT_EQ(post("/v1/tasks/" + nobody + "/retry", "").status, 404);
  EXPECT_EQ(get("/v1/tasks/" + nobody + "/explain").status, 404);
}

TEST_F(ApiTasks, CanBeCancelledAndRunAgain) {
  const std::string id = add();
  const Reply cancelled = post("/v1/tasks/" + id + "/cancel", R"({"reason":"a mistake"})");
  EXPECT_EQ(cancelled.status, 200);
  EXPECT_EQ(cancelled.at("state"), "cancelled");
  EXPECT_EQ(cancelled.at("reason"), "a mistake");
  EXPECT_EQ(post("/v1/tasks/" + id + "/cancel", "").status, 409);
  EXPECT_EQ(post("/v1/tasks/" + id + "/retry", "").at("state"), "ready");
  EXPECT_EQ(post("/v1/tasks/" + id + "/retry", "").at("error.code"), "conflict");
}

TEST_F(ApiTasks, KeepAsMuchOfAReasonAsOfAnError) {
  const std::string reason = R"("reason":")" + std::string(100'000, 'x') + '"';
  const auto size_of = [&](const std::string& id) {
    return get("/v1/tasks/" + id).at("reason").size();
  };
  const std::string alone = add();
  ASSERT_EQ(post("/v1/tasks/" + alone + "/cancel", "{" + reason + "}").status, 200);
  EXPECT_EQ(size_of(alone), tasks::limits::message_size);

  const std::string one_of_many = add();
  ASSERT_EQ(post("/v1/tasks/bulk",
                 R"({"filter":{"queue":"q","state":"ready"},"action":"cancel",)" + reason + "}")
                .at("count"),
            "1");
  EXPECT_EQ(size_of(one_of_many), tasks::limits::message_size);

  const Reply workflow =
      post("/v1/workflows", R"({"steps":[{"name":"a","task":{"queue":"q","kind":"k"}}]})");
  const std::string cancel = "/v1/workflows/" + workflow.at("id") + "/cancel";
  ASSERT_EQ(post(cancel, "{" + reason + "}").status, 200);
  EXPECT_EQ(size_of(workflow.at("tasks.a")), tasks::limits::message_size);
}

TEST_F(ApiTasks, SayWhyTheyDoNotRun) {
  const std::string id = add();
  const Reply nobody = get("/v1/tasks/" + id + "/explain");
  EXPECT_EQ(nobody.at("code"), "no_worker");
  EXPECT_EQ(nobody.at("position"), "1");
  ASSERT_EQ(post("/v1/queues/q/pause", "").at("paused"), "true");
  EXPECT_EQ(get("/v1/tasks/" + id + "/explain").at("code"), "paused");
}

TEST_F(ApiTasks, AreChangedInBulk) {
  for (int i = 0; i < 3; ++i) add();
  const auto bulk = [&](std::string_view body) { return post("/v1/tasks/bulk", body); };
  EXPECT_EQ(bulk(R"({"filter":{"queue":"q","state":"ready"},"action":"cancel","dry_run":true})")
                .at("count"),
            "3");
  EXPECT_EQ(bulk(R"({"filter":{"queue":"q","state":"ready"},"action":"cancel"})").at("count"), "3");
  EXPECT_EQ(bulk(R"({"filter":{"state":"cancelled"},"action":"retry"})").at("count"), "3");
  EXPECT_EQ(bulk(R"({"filter":{"state":"ready"},"action":"retry"})").at("error.field"),
            "filter.state");
  EXPECT_EQ(bulk(R"({"filter":{},"action":"delete"})").at("error.field"), "action");
}

// -- Their size -----------------------------------------------------------------------------------

class SmallTasks : public ApiTest {
 protected:
  SmallTasks() : ApiTest(Start::now, {.payload_limit = 1000}) {}
};

TEST_F(SmallTasks, AreAllThatComesInWhateverTheWay) {
  const auto task = [](std::size_t bytes) {
    return R"({"queue":"q","kind":"k","payload":")" + std::string(bytes - 2, 'x') + R"("})";
  };
  const auto in_workflow = [&](std::size_t bytes) {
    return post("/v1/workflows", R"({"steps":[{"name":"a","task":)" + task(bytes) + "}]}");
  };
  const auto in_schedule = [&](std::size_t bytes) {
    return put("/v1/schedules/x", R"({"cron":"@daily","task":)" + task(bytes) + "}");
  };
  EXPECT_EQ(post("/v1/tasks", task(1000)).status, 202);
  EXPECT_EQ(in_workflow(1000).status, 202);
  EXPECT_EQ(in_schedule(1000).status, 200);

  const auto expect_refused = [](const Reply& reply, const std::string& field) {
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.at("error.code"), "too_large");
    EXPECT_EQ(reply.at("error.field"), field);
    EXPECT_EQ(reply.at("error.message"), field + " must have 1000 bytes at most, got 1001");
  };
  expect_refused(post("/v1/tasks", task(1001)), "payload");
  expect_refused(post("/v1/tasks/batch", "[" + task(9) + "," + task(1001) + "]"), "[1].payload");
  expect_refused(post_lines(task(9) + "\n" + task(1001)), "[1].payload");
  expect_refused(in_workflow(1001), "steps.a.payload");
  expect_refused(in_schedule(1001), "task.payload");
}

TEST_F(ApiTasks, HaveAMebibyteOfPayload) {
  const auto with = [&](std::size_t bytes) {
    return post("/v1/tasks",
                R"({"queue":"q","kind":"k","payload":")" + std::string(bytes - 2, 'x') + R"("})");
  };
  EXPECT_EQ(with(1 << 20).status, 202);
  const Reply larger = with((1 << 20) + 1);
  EXPECT_EQ(larger.status, 413);
  EXPECT_EQ(larger.at("error.field"), "payload");
}

}  // namespace
}  // namespace handoff::tests
