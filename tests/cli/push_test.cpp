// Deliveries and notices of a server that is killed, or asked to end.
#include <csignal>
#include <random>

#include "cli/server_process.hpp"
#include "server/raw_client.hpp"
#include "server/receiver.hpp"
#include "support/port.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using testing::eventually;

class Pushing : public CliTest {
 protected:
  Server serve(std::vector<std::string> more = {}) const {
    return Server(store, folder, std::move(more));
  }
  static std::string add(const Server& server, const std::string& queue, const std::string& more) {
    const auto made = raw::post(server.port(), "/v1/tasks",
                                R"({"queue":")" + queue + R"(","kind":"k")" + more + "}");
    EXPECT_EQ(made.status, 202) << made.body;
    return text_at(json_of(made.body), "id");
  }
  // All at once, so that many are under way.
  static void add_many(const Server& server, int count, const std::string& more,
                       std::vector<std::string>& ids) {
    std::string lines;
    for (int i = 0; i < count; ++i) lines += R"(,{"queue":"q","kind":"k")" + more + "}";
    lines.front() = '[';
    const auto made = raw::post(server.port(), "/v1/tasks/batch", lines + "]");
    ASSERT_EQ(made.status, 202) << made.body;
    const auto document = json_of(made.body);
    const auto all = document.root().member("ids").value();
    for (std::size_t i = 0; i < all.size(); ++i) ids.emplace_back(all.element(i).string());
  }
  static void deliver(const Server& server, const std::string& queue, const std::string& url) {
    const auto set = raw::ask(server.port(),
                              raw::request("PUT", "/v1/queues/" + queue,
                                           R"({"deliver_to":{"url":")" + url +
                                               R"("},"backoff":{"kind":"fixed","delay":"10ms"}})"));
    EXPECT_EQ(set.status, 200) << set.body;
  }
  static std::string asking(const std::string& url) {
    return R"(,"notify":{"url":")" + url + "\"}";
  }
};

TEST_F(Pushing, TellsAfterAKillBetweenTheEndAndTheNews) {
  const Port port;
  std::string id;
  {
    Receiver hangs([](const Received&) { return ""; }, port.number());
    Server server = serve();
    id = add(server, "q", asking(hangs.url()));
    const auto cancelled = raw::post(server.port(), "/v1/tasks/" + id + "/cancel", "");
    ASSERT_EQ(cancelled.status, 200) << cancelled.body;
    eventually([&] { return hangs.count() == 1; });  // The news is on its way, and not there.
    server.kill();
  }
  Receiver back([](const Received&) { return answer(200); }, port.number());
  Server server = serve();
  eventually([&] { return back.count() == 1; });
  EXPECT_THAT(back.all()[0].body, HasSubstr(id));
  EXPECT_THAT(back.all()[0].body, HasSubstr(R"("state":"cancelled")"));
  eventually([&] { return open().queue("handoff.notify").unfinished() == 0; });
  EXPECT_EQ(back.count(), 1);
}

// A thousand things may be under way when it comes.
TEST_F(Pushing, LosesNothingWhenItIsKilled) {
  Receiver worker([](const Received&) { return answer(200, "1"); });
  Receiver listener;
  std::vector<std::string> ids;
  std::minstd_rand random(11);
  for (int i = 0; i < 4; ++i) {
    Server server = serve();
    deliver(server, "q", worker.url());
    const std::size_t enough = listener.count() + 1 + random() % 39;
    add_many(server, 40, asking(listener.url()), ids);
    eventually([&] { return listener.count() >= enough; });
    server.kill();
  }
  Server server = serve();
  const auto has_been_told = [&](const std::string& id) {
    return std::ranges::any_of(listener.all(), [&](const Received& each) {
      return each.body.find("\"id\":\"" + id) != std::string::npos;
    });
  };
  eventually([&] {
    return open().queue("handoff.notify").unfinished() == 0 && open().queue("q").unfinished() == 0;
  });
  for (const std::string& id : ids) EXPECT_TRUE(has_been_told(id)) << id;
}

TEST_F(Pushing, GivesBackWhatIsNotAnsweredWhenItEnds) {
  Receiver hangs([](const Received&) { return ""; });
  Server server = serve({"--grace", "100ms"});
  deliver(server, "q", hangs.url());
  const std::string id = add(server, "q", "");
  eventually([&] { return hangs.count() == 1; });
  EXPECT_EQ(server.stop().code, 0);
  const tasks::Task back = task(id);
  EXPECT_EQ(back.state, tasks::TaskState::ready);
  EXPECT_EQ(back.attempt, 0);
  EXPECT_TRUE(back.errors.empty());
}

TEST_F(Pushing, HearsOfSettingsThatAnotherServerIsGiven) {
  Receiver receiver;
  Server one = serve();
  Server two = serve();
  deliver(one, "q", receiver.url());
  EXPECT_EQ(one.stop().code, 0);
  add(two, "q", "");
  eventually([&] { return receiver.count() == 1; });
}

TEST_F(Pushing, IsSetByItsConfiguration) {
  const auto with = [&](const std::string& text) {
    write("c.toml", text);
    return run({"serve", "--check", "--config", path("c.toml")});
  };
  EXPECT_EQ(with("push_hosts = [\"a.example\", \"10.0.0.0/8\"]\nnotify_secret = \"s\"\n").code, 0);
  EXPECT_THAT(with("push_hosts = [\"http://a.example\"]\n").err,
              HasSubstr("push_hosts must be names, addresses or networks"));
  EXPECT_EQ(with("push_threads = 0\n").code, 2);
  Server server = serve({"--push-hosts", "10.0.0.0/8"});
  const auto refused = raw::ask(
      server.port(),
      raw::request("PUT", "/v1/queues/q", R"({"deliver_to":{"url":"http://127.0.0.1/"}})"));
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("10.0.0.0/8"));
}

}  // namespace
}  // namespace handoff::tests
