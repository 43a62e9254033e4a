// Claims, and what workers say of what they have claimed.
#include "handoff/tasks/workflow.hpp"
#include "server/api_fixture.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using testing::eventually;

class ApiWork : public ApiTest {
 protected:
  // That have reached the store to change something. The keeper has none of its own while nothing is due.
  std::uint64_t calls() const { return tasks::TasksAccess::core(tasks).batcher().totals().calls; }
};

TEST_F(ApiWork, IsClaimedAndDone) {
  const std::string id = add("q", R"(,"payload":{"n":7},"timeout":"5s","group":"g")");
  const Reply claimed = claim("q", R"(,"worker":"w1","lease_for":"10s")");
  ASSERT_EQ(claimed.status, 200);
  EXPECT_EQ(claimed.size("tasks"), 1u);
  EXPECT_EQ(claimed.at("tasks.0.id"), id);
  EXPECT_EQ(claimed.at("tasks.0.payload.n"), "7");
  EXPECT_EQ(claimed.at("tasks.0.attempt"), "1");
  EXPECT_EQ(claimed.at("tasks.0.timeout"), "5s");
  EXPECT_EQ(claimed.at("tasks.0.group"), "g");
  EXPECT_EQ(get("/v1/tasks/" + id).at("worker"), "w1");
  EXPECT_EQ(say(claimed, "done", R"(,"result":[1,null])").status, 200);
  EXPECT_EQ(say(claimed, "done", R"(,"result":[1,null])").status, 200) << "said twice";
  const Reply task = get("/v1/tasks/" + id);
  EXPECT_EQ(task.at("state"), "done");
  EXPECT_EQ(task.at("result"), "[1,null]");
  EXPECT_EQ(claim().status, 204);
}

TEST_F(ApiWork, ThatFailsIsTriedAgainOrGivenUp) {
  const std::string id = add();
  EXPECT_EQ(say(claim(), "fail", R"(,"error":"no route","retry_in":"0s")").status, 200);
  const Reply again = claim("q", R"(,"wait":"60s")");
  EXPECT_EQ(again.at("tasks.0.attempt"), "2");
  EXPECT_EQ(say(again, "fail", R"(,"error":"no such user","dead":true)").status, 200);
  const Reply task = get("/v1/tasks/" + id);
  EXPECT_EQ(task.at("state"), "dead");
  EXPECT_EQ(task.at("reason"), "no such user");
  EXPECT_EQ(task.at("errors.0.message"), "no route");
  const Reply dead = get("/v1/dead?queue=q");
  EXPECT_EQ(dead.at("dead.0.count"), "1");
  EXPECT_EQ(dead.at("dead.0.reason"), "no such user");
  EXPECT_EQ(post("/v1/queues/q/retry", "").at("count"), "1");
}

TEST_F(ApiWork, CanBeDeferredAndGivenBack) {
  const std::string id = add();
  EXPECT_EQ(say(claim(), "release").status, 200);
  EXPECT_EQ(get("/v1/tasks/" + id).at("state"), "ready");
  EXPECT_EQ(say(claim(), "defer", R"(,"for":"1h")").status, 200);
  const Reply task = get("/v1/tasks/" + id);
  EXPECT_EQ(task.at("state"), "scheduled");
  EXPECT_EQ(task.at("attempt"), "0");
}

TEST_F(ApiWork, IsExtendedWithItsProgressAndLog) {
  const std::string id = add();
  const Reply claimed = claim();
  EXPECT_EQ(
      say(claimed, "extend", R"(,"for":"60s","progress":{"fraction":0.4,"note":"rows"})").status,
      200);
  EXPECT_EQ(say(claimed, "log", R"(,"line":"read 400")").status, 200);
  EXPECT_EQ(get("/v1/tasks/" + id).at("progress.fraction"), "0.4");
  EXPECT_EQ(get("/v1/tasks/" + id).at("progress.note"), "rows");
  EXPECT_EQ(get("/v1/tasks/" + id + "/log").at("lines.0.line"), "read 400");
  EXPECT_EQ(say(claimed, "extend", R"(,"for":"0s")").at("error.field"), "for");
  EXPECT_EQ(say(claimed, "extend", R"(,"progress":{"fraction":2})").at("error.field"),
            "progress.fraction");
}

TEST_F(ApiWork, OfAnotherLeaseIsRefused) {
  const std::string id = add();
  const Reply first = claim();
  EXPECT_EQ(say(first, "release").status, 200);
  const Reply second = claim();
  for (const auto* what : {"done", "release", "extend", "log"}) {
    const auto more = std::string_view(what) == "log" ? R"(,"line":"x")" : "";
    const Reply stale = say(first, what, more);
    EXPECT_EQ(stale.status, 409) << what;
    EXPECT_EQ(stale.at("error.code"), "stale_lease") << what;
  }
  EXPECT_EQ(get("/v1/tasks/" + id + "/log").size("lines"), 0u);
  EXPECT_EQ(say(second, "done").status, 200);
  EXPECT_EQ(post("/v1/tasks/" + id + "/done", R"({"lease":"mine"})").at("error.field"), "lease");
}

TEST_F(ApiWork, ThatWasCancelledIsToldSo) {
  add();
  const Reply claimed = claim();
  ASSERT_EQ(post("/v1/tasks/" + claimed.at("tasks.0.id") + "/cancel", "").status, 200);
  const Reply told = say(claimed, "extend");
  EXPECT_EQ(told.status, 409);
  EXPECT_EQ(told.at("error.code"), "cancelled");
  EXPECT_EQ(say(claimed, "done").at("error.code"), "cancelled");
}

TEST_F(ApiWork, IsReportedByTheDozen) {
  for (int i = 0; i < 3; ++i) add();
  const Reply claimed = claim("q", R"(,"max":3)");
  ASSERT_EQ(claimed.size("tasks"), 3u);
  const auto of = [&](int i, std::string_view what) {
    return fmt::format(R"({{"id":"{}","lease":"{}",{}}})",
                       claimed.at(fmt::format("tasks.{}.id", i)),
                       claimed.at(fmt::format("tasks.{}.lease", i)), what);
  };
  const std::string body =
      fmt::format("[{},{},{}]", of(0, R"("done":null)"),
                  of(1, R"("fail":{"error":"no","dead":true})"), of(2, R"("done":{"x":1})"));
  const Reply told = post("/v1/outcomes", body);
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(told.size("results"), 3u);
  EXPECT_EQ(told.at("results.1.ok"), "true");
  EXPECT_EQ(get("/v1/tasks/" + claimed.at("tasks.0.id")).at("result"), "null");
  EXPECT_EQ(get("/v1/tasks/" + claimed.at("tasks.1.id")).at("state"), "dead");
  const std::string other = fmt::format("[{}]", of(0, R"("fail":{"error":"x"},"done":1)"));
  EXPECT_EQ(post("/v1/outcomes", other).at("error.field"), "[0]");
}

TEST_F(ApiWork, IsWaitedForWithoutPolling) {
  const auto before = calls();
  raw::Client waits(port());
  waits.send(
      raw::request("POST", "/v1/claim", R"({"queues":["a","b"],"wait":"60s","worker":"w"})"));
  // It has looked, stood in line, and looked once more.
  eventually([&] { return calls() == before + 2; });
  const std::string id = add("b");
  EXPECT_EQ(reply_of(waits.read_answer()).at("tasks.0.id"), id);
  EXPECT_EQ(calls(), before + 4) << "the task, and the claim of it";
}

TEST_F(ApiWork, IsNotWaitedForLongerThanAsked) {
  EXPECT_EQ(claim("q", R"(,"wait":"10ms")").status, 204);
}

// Ten wait, and each task wakes one of them.
TEST_F(ApiWork, WakesOneClaimForEachTask) {
  const auto before = calls();
  std::vector<std::unique_ptr<raw::Client>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(std::make_unique<raw::Client>(port()));
    all.back()->send(raw::request(
        "POST", "/v1/claim", fmt::format(R"({{"queues":["q"],"wait":"60s","worker":"w{}"}})", i)));
  }
  eventually([&] { return calls() == before + 20; });
  add();
  const auto answered = [&] {
    return std::ranges::count_if(all, [](const auto& each) { return each->has_input(); });
  };
  eventually([&] { return answered() == 1; });
  EXPECT_EQ(calls(), before + 22) << "more than one has looked";
  for (int i = 0; i < 9; ++i) add();
  eventually([&] { return answered() == 10; });
}

TEST_F(ApiWork, OfAClientThatIsGoneIsGivenBack) {
  auto waits = std::make_unique<raw::Client>(port());
  waits->send(
      raw::request("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s","worker":"gone"})"));
  eventually([&] { return get("/v1/workers").size("workers") == 1; });
  waits.reset();
  eventually([&] { return http.counters().connections_open <= 1; });
  const std::string id = add();
  const Reply other = claim("q", R"(,"wait":"20s")");
  EXPECT_EQ(other.at("tasks.0.id"), id);
  EXPECT_EQ(other.at("tasks.0.attempt"), "1");
}

TEST_F(ApiWork, OfAClientThatIsGoneIsGivenBackWhateverItHasSentBefore) {
  raw::Client waits(port());
  waits.send(raw::request("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s","worker":"gone"})"));
  eventually([&] { return get("/v1/workers").size("workers") == 1; });
  waits.send("\r\n");
  waits.close();
  const std::string id = add();
  const Reply other = claim("q", R"(,"wait":"20s")");
  EXPECT_EQ(other.at("tasks.0.id"), id);
  EXPECT_EQ(other.at("tasks.0.attempt"), "1");
}

TEST_F(ApiWork, IsNotClaimedWhenTheServerStops) {
  raw::Client waits(port());
  waits.send(raw::request("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s","worker":"w"})"));
  eventually([&] { return get("/v1/workers").size("workers") == 1; });
  http.stop(within(10s));
  EXPECT_EQ(waits.read_answer().status, 204);
}

TEST_F(ApiWork, OfAWorkflowSeesWhatCameBefore) {
  const Reply started = post("/v1/workflows", R"({"name":"checkout","steps":[
    {"name":"charge","task":{"queue":"q","kind":"charge"}},
    {"name":"receipt","after":["charge"],"task":{"queue":"q","kind":"receipt"}}]})");
  ASSERT_EQ(started.status, 202) << started.answer.body;
  const Reply first = claim();
  EXPECT_EQ(first.at("tasks.0.id"), started.at("tasks.charge"));
  EXPECT_EQ(say(first, "done", R"(,"result":{"cents":500})").status, 200);
  const Reply second = claim();
  EXPECT_EQ(second.at("tasks.0.inputs.charge.cents"), "500");
  EXPECT_EQ(say(second, "done").status, 200);
  const Reply look = get("/v1/workflows/" + started.at("id") + "?wait=30s");
  EXPECT_EQ(look.at("state"), "done");
  EXPECT_EQ(look.size("steps"), 2u);
  EXPECT_EQ(get("/v1/workflows").at("workflows.0.name"), "checkout");
}

TEST_F(ApiWork, MayBeNestedDeep) {
  const auto nested = [](std::size_t depth) {
    return fmt::format("{}1{}", std::string(depth, '['), std::string(depth, ']'));
  };
  const std::string id = add("q", R"(,"payload":)" + nested(56));
  EXPECT_EQ(post("/v1/tasks", R"({"queue":"q","kind":"k","payload":)" + nested(57) + "}")
                .at("error.field"),
            "payload");
  const Reply claimed = claim();
  EXPECT_EQ(claimed.at("tasks.0.payload"), nested(56));
  EXPECT_EQ(say(claimed, "done", R"(,"result":)" + nested(57)).at("error.field"), "result");
  EXPECT_EQ(say(claimed, "done", R"(,"result":)" + nested(56)).status, 200);
  EXPECT_EQ(get("/v1/tasks/" + id).at("result"), nested(56));
}

// By the library, which allows more: whoever reads it sees it as it is, and others are not held up.
TEST_F(ApiWork, ThatIsNestedDeeperHoldsUpNobody) {
  const std::string deep = fmt::format("{}1{}", std::string(64, '['), std::string(64, ']'));
  ASSERT_TRUE(tasks.enqueue({.queue = "q", .kind = "k", .payload = deep}));
  add();
  const Reply claimed = claim("q", R"(,"max":2)");
  EXPECT_EQ(claimed.status, 200);
  EXPECT_THAT(claimed.answer.body, HasSubstr(deep));
}

TEST_F(ApiWork, ThatWasGivenBackIsNotDone) {
  const std::string id = add();
  const Reply claimed = claim();
  EXPECT_EQ(say(claimed, "release").status, 200);
  EXPECT_EQ(say(claimed, "release").status, 200) << "said twice";
  EXPECT_EQ(say(claimed, "done").at("error.code"), "stale_lease");
  const Reply again = claim();
  EXPECT_EQ(say(again, "done").status, 200);
  EXPECT_EQ(say(again, "fail", R"(,"error":"no")").at("error.code"), "stale_lease");
  EXPECT_EQ(get("/v1/tasks/" + id).at("state"), "done");
}

TEST_F(ApiWork, IsNotSaidToBeDeadAfterItWasGivenBack) {
  const std::string id = add();
  const Reply claimed = claim();
  EXPECT_EQ(say(claimed, "release").status, 200);
  EXPECT_EQ(say(claimed, "fail", R"(,"error":"no","dead":true)").at("error.code"), "stale_lease");
  EXPECT_EQ(get("/v1/tasks/" + id).at("state"), "ready");
  const Reply again = claim();
  EXPECT_EQ(say(again, "fail", R"(,"error":"no","dead":true)").status, 200);
  EXPECT_EQ(say(again, "fail", R"(,"error":"no","dead":true)").status, 200) << "said twice";
  EXPECT_EQ(say(again, "release").at("error.code"), "stale_lease");
  EXPECT_EQ(get("/v1/tasks/" + id).at("state"), "dead");
}

TEST_F(ApiWork, IsCancelledByItsWorkerAsOftenAsThatIsSaid) {
  const std::string id = add();
  const Reply claimed = claim();
  const std::string outcome = fmt::format(R"([{{"id":"{}","lease":"{}","cancel":"not wanted"}}])",
                                          id, claimed.at("tasks.0.lease"));
  EXPECT_EQ(post("/v1/outcomes", outcome).at("results.0.ok"), "true");
  EXPECT_EQ(post("/v1/outcomes", outcome).at("results.0.ok"), "true") << "said twice";
  EXPECT_EQ(say(claimed, "done").at("error.code"), "cancelled");
}

TEST_F(ApiWork, SaysWhatIsLongWithoutCuttingACharacter) {
  const std::string id = add();
  std::string error;
  while (error.size() < 20'000) error += "\u20ac";
  const Reply claimed = claim();
  EXPECT_EQ(say(claimed, "log", R"(,"line":")" + error + "\"").status, 200);
  EXPECT_EQ(say(claimed, "fail", R"(,"dead":true,"error":")" + error + "\"").status, 200);
  EXPECT_EQ(get("/v1/tasks/" + id).at("state"), "dead");
  EXPECT_EQ(get("/v1/tasks/" + id + "/log").at("lines.0.number"), "1");
}

// One that was rung for a task of one queue takes another one, of a queue it names first. Then somebody else has to look for that task.
TEST_F(ApiWork, OfSeveralQueuesIsLeftToOthersThatWait) {
  const auto wait = [&](raw::Client& client, std::string_view queues) {
    const auto before = calls();
    client.send(raw::request("POST", "/v1/claim",
                             fmt::format(R"({{"queues":[{}],"wait":"60s"}})", queues)));
    eventually([&] { return calls() >= before + 2; });
  };
  for (int i = 0; i < 20; ++i) {
    raw::Client both(port()), only_a(port());
    wait(both, R"("b","a")");
    wait(only_a, R"("a")");
    ASSERT_TRUE(tasks.enqueue(
        std::vector<tasks::NewTask>{{.queue = "a", .kind = "k"}, {.queue = "b", .kind = "k"}}));
    EXPECT_EQ(reply_of(both.read_answer()).at("tasks.0.queue"), "b");
    EXPECT_EQ(reply_of(only_a.read_answer()).at("tasks.0.queue"), "a");
  }
}

TEST_F(ApiWork, ThatMakesNoSenseIsRefused) {
  EXPECT_EQ(post("/v1/claim", R"({"queues":[]})").at("error.field"), "queues");
  EXPECT_EQ(post("/v1/claim", R"({"queues":["a b"]})").at("error.field"), "queues[0]");
  EXPECT_EQ(claim("q", R"(,"max":0)").at("error.field"), "max");
  EXPECT_EQ(claim("q", R"(,"wait":"1h")").at("error.field"), "wait");
  EXPECT_EQ(claim("q", R"(,"lease_for":"1ms")").at("error.field"), "lease_for");
}

TEST_F(ApiWork, WorkflowsThatMakeNoSenseAreRefused) {
  const auto start = [&](std::string_view steps) {
    return post("/v1/workflows", fmt::format(R"({{"steps":[{}]}})", steps));
  };
  const Reply circle = start(R"({"name":"a","after":["b"],"task":{"queue":"q","kind":"k"}},
                                {"name":"b","after":["a"],"task":{"queue":"q","kind":"k"}})");
  EXPECT_EQ(circle.status, 400);
  EXPECT_THAT(circle.at("error.message"), HasSubstr("a"));
  EXPECT_EQ(start(R"({"name":"a","after":["x"],"task":{"queue":"q","kind":"k"}})").status, 400);
  const Reply later = start(
      R"({"name":"a","task":{"queue":"q","kind":"k"},"compensate":{"queue":"q","kind":"undo"}})");
  EXPECT_EQ(later.at("error.field"), "steps.a.compensate");
  EXPECT_EQ(tasks.list()->tasks.size(), 0u);
}

}  // namespace
}  // namespace handoff::tests
