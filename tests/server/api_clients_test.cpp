// What the API has for clients that are libraries: claims that can be repeated and taken back, many outcomes at once, streams of one state.
#include "server/api_fixture.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tasks::TaskState;
using testing::eventually;

class Clients : public ApiTest {
 protected:
  std::int64_t count(TaskState state, std::string_view queue = "q") const {
    return tasks.queue(queue).count(state);
  }
  static std::string item(const Reply& claimed, int index, std::string_view more) {
    return fmt::format(R"({{"id":"{}","lease":"{}",{}}})",
                       claimed.at(fmt::format("tasks.{}.id", index)),
                       claimed.at(fmt::format("tasks.{}.lease", index)), more);
  }
};

TEST_F(Clients, TakeBackWhatAClaimHasGot) {
  add();
  add();
  ASSERT_EQ(claim("q", R"(,"max":2,"claim_id":"c1")").size("tasks"), 2u);
  EXPECT_EQ(post("/v1/claim/release", R"({"claim_id":"c1"})").at("count"), "2");
  EXPECT_EQ(count(TaskState::ready), 2);
  EXPECT_EQ(post("/v1/claim/release", R"({"claim_id":"c1"})").at("count"), "0");
  EXPECT_EQ(post("/v1/claim/release", R"({"claim_id":"never seen"})").status, 400);
}

TEST_F(Clients, GetNothingByAClaimThatTheyHaveTakenBack) {
  EXPECT_EQ(post("/v1/claim/release", R"({"claim_id":"early"})").at("count"), "0");
  add();
  EXPECT_EQ(claim("q", R"(,"claim_id":"early")").status, 204);
  eventually([&] { return count(TaskState::ready) == 1; });
}

TEST_F(Clients, MayRepeatAClaim) {
  const std::string id = add();
  ASSERT_EQ(claim("q", R"(,"claim_id":"c1")").at("tasks.0.id"), id);
  const Reply again = claim("q", R"(,"claim_id":"c1")");
  EXPECT_EQ(again.at("tasks.0.id"), id);
  EXPECT_EQ(again.at("tasks.0.attempt"), "1");
  EXPECT_EQ(say(again, "done", R"(,"result":1)").status, 200);
}

TEST_F(Clients, SayHowManyTheyWantOfEachQueue) {
  for (int i = 0; i < 5; ++i) {
    add("a");
    add("b");
  }
  const Reply got = post("/v1/claim", R"({"queues":["a","b"],"max":100,"limits":{"a":1,"b":3}})");
  EXPECT_EQ(got.size("tasks"), 4u);
  EXPECT_EQ(count(TaskState::running, "a"), 1);
  EXPECT_EQ(count(TaskState::running, "b"), 3);
  EXPECT_EQ(got.at("tasks.0.lease_for"), "30s");
  EXPECT_EQ(post("/v1/claim", R"({"queues":["a"],"limits":{"a":0}})").at("error.field"),
            "limits.a");
}

TEST_F(Clients, SayWhatBecameOfManyInOneRequest) {
  for (int i = 0; i < 6; ++i) add();
  const Reply got = claim("q", R"(,"max":6)");
  ASSERT_EQ(got.size("tasks"), 6u);
  const std::string body = fmt::format(
      "[{},{},{},{},{},{}]", item(got, 0, R"("done":1,"log":["first","second"])"),
      item(got, 1, R"("fail":{"error":"no","dead":true})"), item(got, 2, R"("defer":"1h")"),
      item(got, 3, R"("release":true)"), item(got, 4, R"("cancel":"not wanted")"),
      item(got, 5, R"("extend":{"for":"1m","progress":{"fraction":0.5,"note":"half"}})"));
  const Reply said = post("/v1/outcomes", body);
  ASSERT_EQ(said.status, 200) << said.answer.body;
  for (int i = 0; i < 6; ++i) EXPECT_EQ(said.at(fmt::format("results.{}.ok", i)), "true") << i;
  using enum TaskState;
  for (const TaskState each : {done, dead, scheduled, ready, cancelled, running}) {
    EXPECT_EQ(count(each), 1) << to_string(each);
  }
  EXPECT_EQ(get(fmt::format("/v1/tasks/{}/log", got.at("tasks.0.id"))).size("lines"), 2u);
  EXPECT_EQ(get("/v1/tasks/" + got.at("tasks.5.id")).at("progress.note"), "half");
  // Said again: the same, and nothing is logged twice.
  const Reply again = post("/v1/outcomes", "[" + item(got, 0, R"("done":1,"log":["third"])") + "]");
  EXPECT_EQ(again.at("results.0.again"), "true");
  EXPECT_EQ(get(fmt::format("/v1/tasks/{}/log", got.at("tasks.0.id"))).size("lines"), 2u);
  EXPECT_EQ(post("/v1/outcomes", "[" + item(got, 5, R"("done":1,"release":true)") + "]").status,
            400);
  EXPECT_EQ(post("/v1/outcomes", "[" + item(got, 5, R"("log":[])") + "]").status, 400);
}

TEST_F(Clients, SayWhoTheyAreAndThatTheyLeave) {
  EXPECT_EQ(claim("q", R"(,"worker":"w","presence":{"queues":{"q":7,"r":2},"kinds":["k"]})").status,
            204);
  const Reply seen = get("/v1/workers");
  ASSERT_EQ(seen.size("workers"), 1u);
  EXPECT_EQ(seen.at("workers.0.queues.0.concurrency"), "7");
  EXPECT_EQ(seen.at("workers.0.queues.1.name"), "r");
  EXPECT_EQ(seen.at("workers.0.kinds.0"), "k");
  EXPECT_EQ(post("/v1/workers/leave", R"({"worker":"w"})").status, 200);
  EXPECT_EQ(get("/v1/workers").size("workers"), 0u);
  EXPECT_EQ(post("/v1/workers/leave", R"({"worker":"w"})").status, 200);
}

TEST_F(Clients, OfOneNameThatClaimByTurnsAreOneWorker) {
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(claim("q", R"(,"worker":"w")").status, 204);
    EXPECT_EQ(claim("r", R"(,"worker":"w")").status, 204);
  }
  const Reply seen = get("/v1/workers");
  ASSERT_EQ(seen.size("workers"), 1u) << seen.answer.body;
  EXPECT_EQ(seen.at("workers.0.queues.0.name"), "q");
  EXPECT_EQ(seen.at("workers.0.queues.1.name"), "r");
  EXPECT_EQ(get("/v1/tasks/" + add("r") + "/explain").at("code"), "next");
  EXPECT_EQ(post("/v1/workers/leave", R"({"worker":"w"})").status, 200);
  EXPECT_EQ(get("/v1/workers").size("workers"), 0u);
}

TEST_F(Clients, WhoSayFromWhichQueuesTheyClaimAreSeenAtThose) {
  EXPECT_EQ(claim("q", R"(,"worker":"w","presence":{"queues":{"q":1,"r":2}})").status, 204);
  EXPECT_EQ(claim("r", R"(,"worker":"w","presence":{"queues":{"r":2}})").status, 204);
  const Reply seen = get("/v1/workers");
  ASSERT_EQ(seen.size("workers"), 1u) << seen.answer.body;
  EXPECT_EQ(seen.at("workers.0.queues.0.name"), "r");
  EXPECT_EQ(seen.at("workers.0.queues.1.name"), "(none)");
}

TEST_F(Clients, AreToldInWhichStateATaskWas) {
  const std::string id = add();
  EXPECT_EQ(post("/v1/tasks/" + id + "/cancel", "").at("was"), "ready");
  EXPECT_EQ(post("/v1/tasks/" + id + "/retry", "").at("was"), "cancelled");
  const Reply batch = post(
      "/v1/tasks/batch",
      fmt::format(
          R"([{{"queue":"q","kind":"k"}},{{"queue":"q","kind":"k","id":"{}"}},{{"queue":"q","kind":"k","delay":"1h"}}])",
          id));
  EXPECT_EQ(batch.at("states.2"), "scheduled");
  EXPECT_EQ(batch.at("duplicates"), "[1]");
}

TEST_F(Clients, ReadEventsOfOneStateOnly) {
  raw::Client stream(port());
  stream.send(raw::request("GET", "/v1/events?state=cancelled&stats=none"));
  ASSERT_EQ(stream.read_head().status, 200);
  ASSERT_TRUE(stream.read_chunk());  // It is open.
  const std::string id = add();
  ASSERT_TRUE(tasks.cancel(tasks::TaskId::parse(id).value()));
  const std::string event = stream.read_chunk().value();
  EXPECT_THAT(event, HasSubstr(id));
  EXPECT_THAT(event, HasSubstr("\"cancelled\""));
  EXPECT_THAT(event, Not(HasSubstr("\"ready\"")));
  EXPECT_THAT(event, Not(HasSubstr("stats")));
  EXPECT_EQ(get("/v1/events?stats=some").status, 400);
}

// Otherwise it would be told again and again of what it has missed, or of what it does not want.
TEST_F(Clients, GoOnAfterAGapAndAfterFiguresAsAfterAnyEvent) {
  raw::Client stream(port());
  stream.send(
      raw::request("GET", "/v1/events?queue=r&stats=totals", {}, "Last-Event-ID: older-7\r\n"));
  ASSERT_EQ(stream.read_head().status, 200);
  ASSERT_TRUE(stream.read_chunk());  // It is open.
  std::string text = stream.read_chunk().value();
  const auto id_before = [&](std::string_view event) {
    const auto at = text.find(fmt::format("event: {}\n", event));
    if (at == std::string::npos) return std::string("(there is none)");
    const auto line = text.rfind("id: ", at);
    if (line == std::string::npos) return std::string("(it has none)");
    return text.substr(line + 4, at - line - 5);
  };
  EXPECT_THAT(id_before("gap"), ::testing::EndsWith("-0"));
  add("q");
  add("q");
  // Each second.
  while (!id_before("stats").ends_with("-2")) text = stream.read_chunk().value();
}

}  // namespace
}  // namespace handoff::tests
