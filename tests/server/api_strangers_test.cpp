// What a route does not take: parameters and bodies that it does not name.
#include "server/api_fixture.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;

class ApiStrangers : public ApiTest {};

TEST_F(ApiStrangers, AreRefusedByTheirName) {
  const auto field = [](const Reply& reply) {
    EXPECT_EQ(reply.status, 400) << reply.answer.body;
    return reply.at("error.field");
  };
  EXPECT_EQ(field(post("/v1/tasks?dry_run=true", R"({"queue":"q","kind":"k"})")), "dry_run");
  EXPECT_EQ(get("/v1/tasks").size("tasks"), 0u);
  EXPECT_EQ(field(post("/v1/queues/q/retry", R"({"kind":"other"})")), "kind");
  EXPECT_EQ(field(post("/v1/queues/q/pause", R"({"until":"x"})")), "until");
  EXPECT_EQ(get("/v1/queues/q").at("paused"), "false");
  EXPECT_EQ(field(post("/v1/tasks/" + add() + "/retry", R"({"junk":1})")), "junk");
  EXPECT_EQ(field(get("/v1/server?zz=1")), "zz");
  EXPECT_EQ(field(reply_of(raw::ask(port(), raw::request("DELETE", "/v1/schedules/s?force=1")))),
            "force");
  EXPECT_EQ(post("/v1/queues/q/resume", "not json").status, 400);
  EXPECT_EQ(post("/v1/queues/q/resume", "[]").status, 400);
}

TEST_F(ApiStrangers, AreToldWhatMayHaveBeenMeant) {
  const Reply reply = get("/v1/tasks?stat=dead");
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(reply.at("error.message"), HasSubstr("state"));
  EXPECT_THAT(get("/v1/tasks?queue=a&queue=b").at("error.message"), HasSubstr("twice"));
}

// Every route, so that a new one is no exception.
TEST_F(ApiStrangers, AreRefusedByAllThatIsAboutTasks) {
  for (const server::Route& each : api.router().routes()) {
    if (!each.pattern.starts_with("/v1/")) continue;
    const std::string method(to_string(each.method));
    std::string path = each.pattern;
    if (const auto open = path.find('{'); open != path.npos) {
      path.replace(open, path.find('}') - open + 1, "01a1e8d0-9b61-7000-9072-e55e3f0443e8");
    }
    const auto told = raw::ask(port(), raw::request(method, path + "?no_such=1", "{}"));
    EXPECT_EQ(told.status, 400) << method << " " << path;
    EXPECT_THAT(told.body, HasSubstr("no_such")) << method << " " << path;
    const auto read = raw::ask(port(), raw::request(method, path, R"({"no_such":1})"));
    EXPECT_EQ(read.status, 400) << method << " " << path << ": " << read.body;
  }
}

TEST_F(ApiStrangers, MayBeAnObjectWithNothingInIt) {
  EXPECT_EQ(post("/v1/queues/q/pause", "{}").at("paused"), "true");
  EXPECT_EQ(post("/v1/queues/q/resume", "").at("paused"), "false");
  EXPECT_EQ(post("/v1/queues/q/retry", "{ }").at("count"), "0");
}

TEST_F(ApiStrangers, AreWelcomeWhereProbesAndBrowsersBringThem) {
  for (const auto* each : {"/metrics", "/healthz", "/readyz", "/"}) {
    EXPECT_EQ(get(std::string(each) + "?from=a-probe").status, 200) << each;
  }
}

}  // namespace
}  // namespace handoff::tests
