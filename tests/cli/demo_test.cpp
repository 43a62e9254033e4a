// `handoff serve --demo` as a newcomer meets it: each thing to try does what it says.
#include <chrono>

#include "cli/program.hpp"
#include "cli/server_process.hpp"
#include "handoff/testing/eventually.hpp"
#include "server/raw_client.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::eventually;

constexpr auto long_enough = 100s;  // Of real work, on a busy machine under a sanitizer.

class Trying : public CliTest {
 protected:
  std::string get(std::string_view target) const { return raw::get(server.port(), target).body; }
  // The ids of the tasks it has made.
  std::vector<std::string> start(std::string_view name) const {
    const auto answer = raw::post(server.port(), "/v1/demo/" + std::string(name), "");
    EXPECT_EQ(answer.status, 202) << answer.body;
    std::vector<std::string> ids;
    const auto document = json_of(answer.body);
    const auto tasks = document.root().member("tasks");
    for (std::size_t i = 0; i < tasks->size(); ++i) ids.emplace_back(tasks->element(i).string());
    return ids;
  }
  bool comes_to(const std::string& id, std::string_view text) const {
    return eventually([&] { return get("/v1/tasks/" + id).find(text) != std::string::npos; },
                      long_enough);
  }
  double number(std::string_view target, std::string_view group, std::string_view name) const {
    const auto document = json_of(get(target));
    const auto found = document.root().member(group)->member(name);
    return std::stod(std::string(found->json().text()));
  }

  const Server server{store, folder, {"--demo", "--fast", "true"}};
};

TEST_F(Trying, ShowsWhatThereIsToTry) {
  EXPECT_THAT(get("/v1/server"), HasSubstr("\"demo\":true"));
  const std::string things = get("/v1/demo");
  for (const auto* each : {"email", "image", "report", "flaky", "limited", "workflow", "burst"}) {
    EXPECT_THAT(things, HasSubstr(std::string("\"name\":\"") + each + "\""));
  }
  EXPECT_EQ(raw::post(server.port(), "/v1/demo/nothing", "").status, 404);
}

TEST_F(Trying, DoesSomeOfEach) {
  const auto report = start("report");
  const auto payments = start("flaky");
  const auto mail = start("email");
  const auto steps = start("workflow");
  EXPECT_TRUE(comes_to(report.front(), "of 20 shops"));          // It says how far it is.
  EXPECT_TRUE(comes_to(mail.front(), "\"finished_at\""));        // Done, or a dead letter.
  EXPECT_TRUE(comes_to(payments.back(), "\"attempt\":2"));       // It was tried again,
  EXPECT_TRUE(comes_to(payments.back(), "\"state\":\"dead\""));  // until it was given up.
  EXPECT_THAT(get("/v1/dead?queue=payments"), HasSubstr("card expired"));
  for (const auto& each : steps) EXPECT_TRUE(comes_to(each, "\"state\":\"done\""));
  eventually([&] { return number("/v1/queues/email", "counts", "done") > 0; }, long_enough);
}

TEST_F(Trying, HoldsBackWhatIsLimited) {
  const auto texts = start("limited");
  ASSERT_EQ(texts.size(), 20u);
  const std::string last = "/v1/tasks/" + texts.back() + "/explain";
  eventually([&] { return get(last).find("rate_limited") != std::string::npos; }, long_enough);
}

TEST_F(Trying, RefusesWhatABurstHasTooMuch) {
  EXPECT_EQ(raw::post(server.port(), "/v1/demo/burst", "").status, 202);
  EXPECT_EQ(raw::post(server.port(), "/v1/demo/burst", "").status, 409);  // One at a time.
  eventually([&] { return number("/v1/queues/clicks", "rates", "rejected") > 0; }, long_enough);
  EXPECT_GT(number("/v1/queues/clicks", "rates", "in"), 0);
  EXPECT_LE(number("/v1/queues/clicks", "settings", "capacity"), 1000);
  EXPECT_EQ(raw::get(server.port(), "/readyz").status, 200);
}

TEST_F(CliTest, WithoutADemoThereIsNothingToTry) {
  const Server server{store, folder};
  EXPECT_EQ(raw::get(server.port(), "/v1/demo").status, 404);
  EXPECT_EQ(raw::post(server.port(), "/v1/demo/burst", "").status, 404);
  EXPECT_THAT(raw::get(server.port(), "/v1/server").body, HasSubstr("\"demo\":false"));
}

}  // namespace
}  // namespace handoff::tests
