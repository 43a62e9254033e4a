// Queues, schedules, events, tokens, and the server itself.
#include "server/api_fixture.hpp"
#include "server/exposition.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing::eventually;

class ApiQueues : public ApiTest {};

TEST_F(ApiQueues, AreSetInPart) {
  const Reply set =
      put("/v1/queues/email", R"({"capacity":10,"when_full":"drop_newest","rate":"30/m","burst":5,
    "backoff":{"kind":"exponential","base":"2s","max":"1h"},"keep_done":"2h"})");
  ASSERT_EQ(set.status, 200) << set.answer.body;
  ASSERT_EQ(put("/v1/queues/email", R"({"concurrency":3})").status, 200);
  const Reply queue = get("/v1/queues/email");
  EXPECT_EQ(queue.at("settings.capacity"), "10");
  EXPECT_EQ(queue.at("settings.when_full"), "drop_newest");
  EXPECT_EQ(queue.at("settings.rate"), "0.5/s");
  EXPECT_EQ(queue.at("settings.backoff.kind"), "exponential");
  EXPECT_EQ(queue.at("settings.backoff.base"), "2s");
  EXPECT_EQ(queue.at("settings.concurrency"), "3");
  EXPECT_EQ(queue.at("settings.keep_done"), "2h");
  EXPECT_EQ(get("/v1/queues").at("queues.0.name"), "email");
}

TEST_F(ApiQueues, SayWhatMayBeSet) {
  EXPECT_EQ(put("/v1/queues/q", R"({"capacity":0})").at("error.field"), "capacity");
  EXPECT_EQ(put("/v1/queues/q", R"({"when_full":"drop_oldest"})").at("error.field"), "when_full");
  EXPECT_EQ(put("/v1/queues/q", R"({"rate":"fast"})").at("error.field"), "rate");
  EXPECT_EQ(put("/v1/queues/q", R"({"backoff":{"kind":"fixed","base":"1s"}})").at("error.field"),
            "backoff.base");
  EXPECT_EQ(put("/v1/queues/q", R"({"capcity":5})").at("error.field"), "capcity");
  EXPECT_EQ(put("/v1/queues/a%20b", R"({})").at("error.field"), "queue");
}

TEST_F(ApiQueues, CountWhatHappens) {
  add();
  add();
  EXPECT_EQ(say(claim(), "done").status, 200);
  const Reply queue = get("/v1/queues/q");
  EXPECT_EQ(queue.at("counts.done"), "1");
  EXPECT_EQ(queue.at("counts.ready"), "1");
  EXPECT_EQ(queue.at("unfinished"), "1");
  EXPECT_NE(queue.at("rates.in"), "0");
  EXPECT_NE(queue.at("rates.done"), "0");
  EXPECT_NE(queue.at("wait_time.p99"), "(none)");
  EXPECT_NE(queue.at("run_time.p50"), "(none)");
  EXPECT_NE(queue.at("oldest_ready_age"), "(none)");
}

TEST_F(ApiQueues, SayWhichCapacityASpikeTakes) {
  ASSERT_EQ(put("/v1/queues/q", R"({"capacity":10,"burst_for":"1m"})").status, 200);
  EXPECT_EQ(get("/v1/queues/q").at("advice"), "(none)");
  for (int i = 0; i < 10; ++i) add();
  EXPECT_EQ(say(claim(), "done").status, 200);
  const Reply queue = get("/v1/queues/q");
  // Ten at most came in a second: for a minute that is six hundred, less what is done meanwhile.
  EXPECT_GE(std::stoi(queue.at("advice.capacity")), 1);
  EXPECT_LE(std::stoi(queue.at("advice.capacity")), 600);
  EXPECT_THAT(queue.at("advice.message"), HasSubstr("the capacity is 10"));
}

TEST_F(ApiQueues, ArePausedAndPurged) {
  add();
  EXPECT_EQ(post("/v1/queues/q/pause", "").at("paused"), "true");
  EXPECT_EQ(claim().status, 204);
  EXPECT_EQ(post("/v1/queues/q/resume", "").at("paused"), "false");
  EXPECT_EQ(post("/v1/queues/q/purge", R"({"state":"ready"})").at("count"), "1");
  EXPECT_EQ(post("/v1/queues/q/purge", R"({"state":"gone"})").at("error.field"), "state");
}

class ApiSchedules : public ApiTest {};

TEST_F(ApiSchedules, AreMadeShownAndRemoved) {
  const Reply made =
      put("/v1/schedules/nightly", R"({"cron":"0 3 * * *","timezone":"UTC","missed":"skip",
    "task":{"queue":"reports","kind":"nightly","payload":{"a":1}}})");
  ASSERT_EQ(made.status, 200) << made.answer.body;
  EXPECT_THAT(made.at("next_at"), HasSubstr("T03:00:00"));
  const Reply one = get("/v1/schedules/nightly");
  EXPECT_EQ(one.at("missed"), "skip");
  EXPECT_EQ(one.at("task.payload.a"), "1");
  EXPECT_EQ(post("/v1/schedules/nightly/pause", "").at("paused"), "true");
  EXPECT_EQ(get("/v1/schedules").size("schedules"), 1u);
  EXPECT_EQ(remove("/v1/schedules/nightly").status, 204);
  EXPECT_EQ(get("/v1/schedules/nightly").status, 404);
  EXPECT_EQ(remove("/v1/schedules/nightly").status, 404);
}

TEST_F(ApiSchedules, SayWhatIsWrong) {
  EXPECT_EQ(put("/v1/schedules/x", R"({"cron":"never","task":{"queue":"q","kind":"k"}})")
                .at("error.field"),
            "cron");
  EXPECT_EQ(put("/v1/schedules/x",
                R"({"cron":"@daily","missed":"twice","task":{"queue":"q","kind":"k"}})")
                .at("error.field"),
            "missed");
}

class ApiEvents : public ApiTest {
 protected:
  // Reads until it has seen all of them.
  static std::string read_until(raw::Client& client,
                                std::initializer_list<std::string_view> marks) {
    std::string text;
    const auto has_all = [&] {
      return std::ranges::all_of(marks, [&](auto mark) { return text.find(mark) != text.npos; });
    };
    while (!has_all()) text += client.read_chunk().value_or("(end)");
    return text;
  }
  static std::string last_id(const std::string& text) {
    const auto at = text.rfind("id: ") + 4;
    return text.substr(at, text.find('\n', at) - at);
  }
};

TEST_F(ApiEvents, TellWhatHappens) {
  raw::Client reader(port());
  reader.send(raw::request("GET", "/v1/events?queue=q"));
  const auto head = reader.read_head();
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.header("content-type"), "text/event-stream");
  read_until(reader, {"event: stats"});
  add("other");
  const std::string id = add();
  EXPECT_EQ(say(claim(), "done").status, 200);
  const std::string text = read_until(reader, {"\"ready\"", "\"running\"", "\"done\""});
  EXPECT_THAT(text, HasSubstr(id));
  EXPECT_THAT(text, HasSubstr("event: task"));
  EXPECT_THAT(text, Not(HasSubstr("other")));
}

TEST_F(ApiEvents, GoOnFromWhereAReaderWas) {
  std::string place;
  {
    raw::Client reader(port());
    reader.send(raw::request("GET", "/v1/events"));
    reader.read_head();
    read_until(reader, {"event: stats"});
    add();
    place = last_id(read_until(reader, {"event: task"}));
  }
  const std::string missed = add();
  raw::Client again(port());
  again.send(raw::request("GET", "/v1/events", "", "Last-Event-ID: " + place + "\r\n"));
  again.read_head();
  EXPECT_THAT(read_until(again, {missed}), Not(HasSubstr("gap")));
}

TEST_F(ApiEvents, OfAnotherServerAreAGap) {
  raw::Client reader(port());
  reader.send(raw::request("GET", "/v1/events", "", "Last-Event-ID: abc-7\r\n"));
  reader.read_head();
  EXPECT_THAT(read_until(reader, {"event: gap"}), HasSubstr("{\"missed\":null}"));
}

TEST_F(ApiEvents, AreAGapForWhoWasTooSlow) {
  std::string place;
  {
    raw::Client reader(port());
    reader.send(raw::request("GET", "/v1/events"));
    reader.read_head();
    read_until(reader, {"event: stats"});
    add();
    place = last_id(read_until(reader, {"event: task"}));
  }
  std::vector<tasks::NewTask> many(1000, {.queue = "q", .kind = "k"});
  for (int i = 0; i < 17; ++i) ASSERT_TRUE(tasks.enqueue(many));
  raw::Client again(port());
  again.send(raw::request("GET", "/v1/events", "", "Last-Event-ID: " + place + "\r\n"));
  again.read_head();
  EXPECT_THAT(read_until(again, {"event: gap"}),
              HasSubstr("{\"missed\":616}"));  // 17,000 less 16,384.
}

TEST_F(ApiEvents, EndWhenTheServerStops) {
  raw::Client reader(port());
  reader.send(raw::request("GET", "/v1/events"));
  reader.read_head();
  read_until(reader, {"event: stats"});
  http.stop(within(10s));
  while (reader.read_chunk()) {
  }
}

class ApiSystem : public ApiTest {
 protected:
  std::string token(std::string name, server::Role role) {
    return "Authorization: Bearer " +
           server::make_token(tasks::TasksAccess::core(tasks), std::move(name), role, {}).value() +
           "\r\n";
  }
};

TEST_F(ApiSystem, LivesAndIsReady) {
  EXPECT_EQ(get("/healthz").at("status"), "ok");
  EXPECT_EQ(get("/readyz").at("status"), "ready");
  api.begin_to_shut_down();
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(ApiSystem, SaysWhatThereIsNot) {
  const Reply nothing = get("/v1/nothing");
  EXPECT_EQ(nothing.status, 404);
  EXPECT_EQ(nothing.at("error.code"), "not_found");
  const Reply method = remove("/v1/tasks");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(method.at("error.code"), "method_not_allowed");
  EXPECT_EQ(method.answer.header("allow"), "POST, GET");
}

TEST_F(ApiSystem, HasMetrics) {
  add();
  EXPECT_EQ(say(claim(), "done").status, 200);
  const std::string text = get("/metrics").answer.body;
  for (const auto* each :
       {"handoff_tasks{queue=\"q\",state=\"done\"} 1", "handoff_enqueued_total{queue=\"q\"} 1",
        "handoff_done_total{queue=\"q\"} 1", "handoff_wait_seconds_count{queue=\"q\"} 1",
        "handoff_run_seconds_bucket{queue=\"q\",le=\"+Inf\"} 1", "handoff_http_requests_total",
        "handoff_store_commits_total"}) {
    EXPECT_THAT(text, HasSubstr(each));
  }
}

TEST_F(ApiSystem, MetersRequestsByRouteAndHowTheyEnded) {
  const std::string id = add();
  EXPECT_EQ(get("/v1/tasks/" + id).status, 200);
  EXPECT_EQ(get("/v1/tasks/" + id + "?wait=10ms").status, 200);
  EXPECT_EQ(get("/v1/tasks/018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c").status, 404);
  EXPECT_EQ(claim().status, 200);
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_EQ(get("/nothing/else").status, 404);
  const Exposition metrics(get("/metrics").answer.body);
  EXPECT_THAT(metrics.problems, ::testing::IsEmpty());
  const auto requests = [&](const std::string& labels) {
    return metrics.value("handoff_http_request_seconds_count", "{" + labels + "}").value_or(0);
  };
  const std::string one = R"(route="/v1/tasks/{id}",method="GET",)";
  EXPECT_EQ(requests(R"(route="/v1/tasks",method="POST",status="2xx",waits="false")"), 1);
  EXPECT_EQ(requests(one + R"(status="2xx",waits="false")"), 1);
  EXPECT_EQ(requests(one + R"(status="2xx",waits="true")"), 1);
  EXPECT_EQ(requests(one + R"(status="4xx",waits="false")"), 1);
  EXPECT_EQ(requests(R"(route="/v1/claim",method="POST",status="2xx",waits="true")"), 1);
  EXPECT_EQ(requests(R"x(route="(none)",method="(any)",status="4xx",waits="false")x"), 2);
}

TEST_F(ApiSystem, DescribesEveryRoute) {
  const Reply document = get("/openapi.json");
  EXPECT_EQ(document.at("openapi"), "3.1.0");
  const auto parsed = tasks::JsonDocument::parse(document.answer.body);
  ASSERT_TRUE(parsed);
  const auto paths = parsed->root().member("paths");
  std::size_t operations = 0;
  for (std::size_t i = 0; i < paths->size(); ++i) operations += paths->member_at(i).second.size();
  EXPECT_EQ(operations, api.router().routes().size());
}

TEST_F(ApiSystem, LetsInByRole) {
  const std::string produce = token("shop", server::Role::produce);
  const std::string work = token("mailer", server::Role::work);
  const std::string admin = token("me", server::Role::admin);
  const auto body = R"({"queue":"q","kind":"k"})";
  eventually([&] { return post("/v1/tasks", body).status == 401; });  // Known within a second.
  const Reply nobody = post("/v1/tasks", body);
  EXPECT_EQ(nobody.at("error.code"), "unauthorized");
  EXPECT_EQ(nobody.answer.header("www-authenticate"), "Bearer");
  EXPECT_EQ(post("/v1/tasks", body, "Authorization: Bearer hof_1234\r\n").status, 401);
  EXPECT_EQ(post("/v1/tasks", body, produce).status, 202);
  EXPECT_EQ(get("/v1/queues", produce).status, 200);
  const auto claiming = R"({"queues":["q"]})";
  const Reply forbidden = post("/v1/claim", claiming, produce);
  EXPECT_EQ(forbidden.status, 403);
  EXPECT_EQ(forbidden.at("error.code"), "forbidden");
  EXPECT_EQ(post("/v1/claim", claiming, work).status, 200);
  EXPECT_EQ(post("/v1/queues/q/pause", "", work).status, 403);
  EXPECT_EQ(post("/v1/queues/q/pause", "", admin).status, 200);
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/metrics").status, 401);
  EXPECT_EQ(get("/metrics", produce).status, 200);
}

// Otherwise anybody could take up the memory that there is for them.
TEST_F(ApiSystem, ReadsALargeBodyOnlyFromWhoMaySendItWhereItIsTaken) {
  const std::string produce = token("shop", server::Role::produce);
  eventually([&] { return get("/v1/queues").status == 401; });
  const auto announce = [&](std::string_view target, const std::string& headers) {
    const Reply reply =
        reply_of(raw::ask(port(), fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\n{}"
                                              "Content-Length: 8000000\r\n\r\n",
                                              target, headers)));
    EXPECT_EQ(reply.answer.header("connection"), "close");
    return reply.status;
  };
  EXPECT_EQ(announce("/v1/tasks", ""), 401);
  EXPECT_EQ(announce("/v1/tasks", "Authorization: Bearer hof_1234\r\n"), 401);
  EXPECT_EQ(announce("/v1/claim", produce), 403);
  EXPECT_EQ(announce("/v1/nothing", ""), 404);
  EXPECT_EQ(announce("/healthz", ""), 405);
  EXPECT_EQ(announce("/v1/tasks/018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c/retry", produce), 403);
  const std::string admin = token("me", server::Role::admin);
  eventually([&] { return get("/v1/queues", admin).status == 200; });
  EXPECT_EQ(announce("/v1/tasks/018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c/retry", admin), 413);
  const std::string large =
      fmt::format(R"({{"queue":"q","kind":"k","payload":"{}"}})", std::string(500'000, 'x'));
  EXPECT_EQ(post("/v1/tasks", large, produce).status, 202);
}

TEST_F(ApiSystem, IsNotOpenToAllOnceTheLastTokenIsRevoked) {
  const std::string only = token("only", server::Role::admin);
  eventually(
      [&] { return get("/v1/queues", only).status == 200 && get("/v1/queues").status == 401; });
  ASSERT_TRUE(server::revoke_token(tasks::TasksAccess::core(tasks), "only"));
  eventually([&] { return get("/v1/queues", only).status == 401; });
  EXPECT_EQ(get("/v1/queues").status, 401);
}

TEST_F(ApiSystem, TellsNobodyWhoWaitsAnythingOnceItsTokenIsRevoked) {
  const std::string kept = token("kept", server::Role::admin);
  const std::string revoked = token("revoked", server::Role::admin);
  eventually([&] { return get("/v1/queues", revoked).status == 200; });
  raw::Client claims(port());
  claims.send(raw::request("POST", "/v1/claim", R"({"queues":["q"],"wait":"5m"})", revoked));
  raw::Client reads(port());
  reads.send(raw::request("GET", "/v1/events?stats=none", {}, revoked));
  ASSERT_EQ(reads.read_head().status, 200);
  ASSERT_TRUE(reads.read_chunk());  // It is open.
  eventually([&] { return get("/v1/workers", kept).size("workers") == 1; });
  ASSERT_TRUE(server::revoke_token(tasks::TasksAccess::core(tasks), "revoked"));
  eventually([&] { return get("/v1/queues", revoked).status == 401; });
  EXPECT_EQ(post("/v1/tasks", R"({"queue":"q","kind":"k"})", kept).status, 202);
  EXPECT_EQ(claims.read_answer().status, 401);
  for (std::optional<std::string> said = "";; said = reads.read_chunk()) {
    if (!said) break;  // It was cut.
    EXPECT_THAT(*said, Not(HasSubstr("event: task")));
  }
  EXPECT_EQ(reply_of(raw::post(port(), "/v1/claim", R"({"queues":["q"]})", kept)).status, 200)
      << "the task went to somebody else";
}

TEST_F(ApiSystem, LetsNobodyInWithATokenThatIsOver) {
  auto& core = tasks::TasksAccess::core(tasks);
  const auto old = server::make_token(core, "old", server::Role::admin,
                                      tasks::parse_time("2020-01-01T00:00:00Z").value());
  const std::string revoked = token("revoked", server::Role::admin);
  eventually([&] { return get("/v1/queues", revoked).status == 200; });
  EXPECT_THAT(
      get("/v1/queues", "Authorization: Bearer " + old.value() + "\r\n").at("error.message"),
      HasSubstr("expired"));
  ASSERT_TRUE(server::revoke_token(core, "revoked"));
  eventually([&] { return get("/v1/queues", revoked).status == 401; });
  EXPECT_EQ(server::revoke_token(core, "revoked").error().code, tasks::TaskError::Code::not_found);
  EXPECT_EQ(server::make_token(core, "old", server::Role::work, {}).error().code,
            tasks::TaskError::Code::conflict);
  for (const auto& each : server::list_tokens(core)) EXPECT_EQ(each.hash.size(), 64u);
}

}  // namespace
}  // namespace handoff::tests
