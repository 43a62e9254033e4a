// Where tasks may go, and when: settings, hosts, pauses, and the end of a server.
#include "server/push_fixture.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using server::PushHosts;
using testing::eventually;

// -- Hosts ----------------------------------------------------------------------------------------

bool may_call(const PushHosts& hosts, const std::string& url) { return !hosts.refusal(url); }

TEST(PushHosts, AreThisMachineUnlessOthersAreNamed) {
  const PushHosts hosts;
  for (const char* const good :
       {"http://127.0.0.1/", "https://127.9.8.7:8443/a", "http://[::1]:80/x?y=z",
        "http://localhost", "http://LOCALHOST:1/", "http://2130706433/", "http://0x7f.1/",
        "http://[::ffff:127.0.0.1]/"}) {
    EXPECT_TRUE(may_call(hosts, good)) << good;
  }
  for (const char* const bad :
       {"http://example.org/", "http://10.0.0.1/", "http://128.0.0.1/", "http://[::2]/",
        "http://localhost.example.org/", "http://127.0.0.1.example.org/", "http://169.254.169.254/",
        "http://0.0.0.0/", "http://3232235777/", "http://[::ffff:10.0.0.1]/"}) {
    EXPECT_FALSE(may_call(hosts, bad)) << bad;
  }
}

TEST(PushHosts, AreOfStrictUrlsOnly) {
  const PushHosts hosts;
  for (const char* const bad :
       {"", "127.0.0.1", "//127.0.0.1/", "ftp://127.0.0.1/", "file:///etc/passwd",
        "http://me@127.0.0.1/", "http://me:pw@127.0.0.1/", "http://127.0.0.1:99999/",
        "http://127.0.0.1:port/", "http:///path", "http://example.org\\@127.0.0.1/",
        "http://127.0.0.1\\@example.org/", "http://127.0.0.1 /", "http://127.0.0.1/\n",
        "http://[fe80::1%25lo]/", "http://[::1/", "javascript:alert(1)", "gopher://127.0.0.1:1/"}) {
    EXPECT_FALSE(may_call(hosts, bad)) << bad;
  }
  EXPECT_THAT(hosts.refusal("http://me@127.0.0.1/").value(), HasSubstr("without a user"));
  EXPECT_THAT(hosts.refusal("http://example.org/").value(),
              HasSubstr("127.0.0.0/8, ::1, localhost (push_hosts), got \"example.org\""));
}

TEST(PushHosts, MayBeNamesAddressesAndNetworks) {
  const auto hosts =
      PushHosts::parse({"Hooks.Example.org", "10.1.0.0/15", "fd00::/8", "192.0.2.7"}).value();
  for (const char* const good : {"https://hooks.example.ORG/a", "http://10.0.0.1/",
                                 "http://10.1.255.1/", "http://[fd12::1]/", "http://192.0.2.7/"}) {
    EXPECT_TRUE(may_call(hosts, good)) << good;
  }
  for (const char* const bad : {"http://127.0.0.1/", "http://10.2.0.1/", "http://192.0.2.8/",
                                "http://example.org/", "http://a.hooks.example.org/"}) {
    EXPECT_FALSE(may_call(hosts, bad)) << bad;
  }
  EXPECT_FALSE(may_call(PushHosts::parse({}).value(), "http://127.0.0.1/"));
  for (const char* const bad :
       {"http://a", "10.0.0.0/33", "::/129", "a:80", "10.0.0.0/x", "", "1.2.3"}) {
    EXPECT_FALSE(PushHosts::parse({bad})) << bad;
  }
}

// -- Settings -------------------------------------------------------------------------------------

class DeliverySettings : public PushTest {};

TEST_F(DeliverySettings, ShowAllButTheSecret) {
  const Reply set = deliver("q", "http://127.0.0.1:9/hook", R"(,"secret":"hush-hush")", "");
  ASSERT_EQ(set.status, 200) << set.answer.body;
  for (const Reply& seen : {set, get("/v1/queues/q")}) {
    EXPECT_EQ(seen.at("settings.deliver_to"),
              R"({"url":"http://127.0.0.1:9/hook","timeout":"10s","signed":true})");
    EXPECT_THAT(seen.answer.body, Not(HasSubstr("hush-hush")));
  }
  EXPECT_THAT(get("/v1/queues").answer.body, Not(HasSubstr("hush-hush")));
  EXPECT_EQ(put("/v1/queues/q", R"({"capacity":7})").at("settings.deliver_to.signed"), "true");
  // A secret does not follow to another URL.
  const Reply moved = deliver("q", "http://127.0.0.1:9/other", R"(,"timeout":"3s")", "");
  EXPECT_EQ(moved.at("settings.deliver_to.signed"), "false");
  EXPECT_EQ(moved.at("settings.deliver_to.timeout"), "3s");
  EXPECT_EQ(put("/v1/queues/q", R"({"deliver_to":null})").at("settings.deliver_to"), "null");
}

TEST_F(DeliverySettings, SayWhatMayBeSet) {
  const auto field = [&](std::string_view text) {
    const Reply refused = put("/v1/queues/q", fmt::format(R"({{"deliver_to":{}}})", text));
    EXPECT_EQ(refused.status, 400) << text;
    return refused.at("error.field");
  };
  EXPECT_EQ(field(R"({"url":"http://example.org/"})"), "deliver_to.url");
  EXPECT_EQ(field(R"({"url":"ftp://127.0.0.1/"})"), "deliver_to.url");
  EXPECT_EQ(field(R"({"url":"http://a:b@127.0.0.1/"})"), "deliver_to.url");
  EXPECT_EQ(field(R"({"url":""})"), "deliver_to.url");
  EXPECT_EQ(field(R"({"timeout":"1s"})"), "deliver_to.url");
  EXPECT_EQ(field(R"({"url":"http://127.0.0.1/","secret":""})"), "deliver_to.secret");
  EXPECT_EQ(field(R"({"url":"http://127.0.0.1/","timeout":"2h"})"), "deliver_to.timeout");
  EXPECT_EQ(field(R"({"url":"http://127.0.0.1/","signed":true})"), "deliver_to.signed");
  EXPECT_EQ(field("7"), "deliver_to");
  EXPECT_EQ(get("/v1/queues/q").at("settings.deliver_to"), "null");
  EXPECT_THAT(put("/v1/queues/q", R"({"deliver_to":{"url":"http://example.org/"}})").answer.body,
              HasSubstr("127.0.0.0/8, ::1, localhost"));
  EXPECT_EQ(deliver("handoff.notify", "http://127.0.0.1/").at("error.field"), "deliver_to");
}

TEST_F(DeliverySettings, CountFromTheNextTaskOn) {
  Receiver first;
  Receiver second;
  deliver("q", first.url());
  EXPECT_EQ(ended(add()).at("state"), "done");
  deliver("q", second.url("/new"), R"(,"secret":"s")");
  // What it was told last is seen soon, not at once: the answer to the change does not wait for that.
  eventually([&] {
    ended(add());
    return second.count() > 0;
  });
  EXPECT_EQ(second.all()[0].path(), "/new");
  EXPECT_NE(second.all()[0].header("handoff-signature"), "(none)");
  const std::size_t before = first.count();
  EXPECT_EQ(ended(add()).at("state"), "done");
  EXPECT_EQ(first.count(), before);
}

TEST_F(DeliverySettings, EndDeliveriesAndBeginThemAgain) {
  Receiver receiver;
  deliver("q", receiver.url());
  EXPECT_EQ(ended(add()).at("state"), "done");
  put("/v1/queues/q", R"({"deliver_to":null})");
  eventually([&] { return get("/v1/workers").answer.body.find("/q\"") == std::string::npos; });
  const std::string id = add();
  EXPECT_EQ(claim().at("tasks.0.id"), id);  // Workers take them again.
  const std::string next = add();
  EXPECT_EQ(state(next), "ready");
  deliver("q", receiver.url());
  EXPECT_EQ(ended(next).at("state"), "done");
}

TEST_F(DeliverySettings, OfOtherProcessesAreSeenSoon) {
  Receiver receiver;
  auto options = usual();
  options.period = 10ms;
  restart(options);
  const std::string id = add();
  tasks::QueueSettings settings;
  settings.deliver_to.url = receiver.url();
  ASSERT_TRUE(tasks.configure("q", settings));
  EXPECT_EQ(ended(id).at("state"), "done");
}

// It may have been set by a program that knows nothing of this server.
TEST_F(DeliverySettings, AreCheckedOnceMoreAtADelivery) {
  tasks::QueueSettings settings;
  settings.deliver_to.url = "http://example.org/hook";
  ASSERT_TRUE(tasks.configure("q", settings));
  restart();
  const Reply dead = failed(add("q", R"(,"max_attempts":1)"));
  EXPECT_EQ(dead.at("state"), "dead");
  EXPECT_THAT(dead.at("reason"), HasSubstr("must name a host that the server may call"));
}

TEST_F(DeliverySettings, LeaveAPausedQueueAlone) {
  Receiver receiver;
  deliver("q", receiver.url());
  EXPECT_EQ(ended(add()).at("state"), "done");
  post("/v1/queues/q/pause", "");
  const std::string id = add();
  deliver("other", receiver.url());
  EXPECT_EQ(ended(add("other")).at("state"), "done");
  EXPECT_EQ(state(id), "ready");
  post("/v1/queues/q/resume", "");
  EXPECT_EQ(ended(id).at("state"), "done");
  EXPECT_EQ(receiver.count(), 3);
}

TEST_F(DeliverySettings, KeepToTheLimitsOfTheQueue) {
  Receiver receiver([](const Received&) { return ""; });
  deliver("q", receiver.url(), "", R"(,"concurrency":1)");
  add();
  add();
  eventually([&] { return receiver.count() == 1; });
  const Reply queue = get("/v1/queues/q");
  EXPECT_EQ(queue.at("counts.running"), "1");
  EXPECT_EQ(queue.at("counts.ready"), "1");
}

// A receiver that hangs has its own part of the threads, and no more.
TEST_F(DeliverySettings, OfOneQueueDoNotHoldUpAnother) {
  Receiver hangs([](const Received&) { return ""; });
  Receiver answers;
  deliver("slow", hangs.url(), R"(,"timeout":"1h")");
  for (int i = 0; i < 50; ++i) add("slow");
  eventually([&] { return hangs.count() == 2; });
  deliver("q", answers.url());
  EXPECT_EQ(ended(add()).at("state"), "done");
  EXPECT_EQ(hangs.count(), 2);
}

// -- The end of a server --------------------------------------------------------------------------

class PusherEnd : public PushTest {};

TEST_F(PusherEnd, GivesBackWhatIsNotAnsweredInTime) {
  Receiver receiver([](const Received&) { return ""; });
  auto options = usual();
  options.grace = 0ms;
  restart(options);
  deliver("q", receiver.url(), R"(,"timeout":"1h")");
  const std::string id = add();
  eventually([&] { return receiver.count() == 1; });
  pusher.reset();
  const Reply back = task(id);
  EXPECT_EQ(back.at("state"), "ready");
  EXPECT_EQ(back.at("attempt"), "0");
  EXPECT_EQ(back.size("errors"), 0);
}

TEST_F(PusherEnd, LetsAnswersComeThatAreOnTheirWay) {
  Receiver receiver([](const Received&) { return ""; });
  deliver("q", receiver.url(), R"(,"timeout":"1h")");
  const std::string id = add();
  eventually([&] { return receiver.count() == 1; });
  pusher->begin_to_stop();
  const std::string later = add();
  receiver.let_go(answer(200, "\"just in time\""));
  pusher.reset();
  EXPECT_EQ(task(id).at("result"), "just in time");
  EXPECT_EQ(state(later), "ready");
  EXPECT_EQ(receiver.count(), 1);
}

TEST(TwoPushers, BringEachTaskOnce) {
  const Folder folder;
  const std::string store = "sqlite:" + folder.file("tasks.db");
  Receiver receiver;
  server::Log log{{.format = server::LogFormat::text, .least = server::LogSeverity::off}};
  const tasks::Tasks one = tasks::open(store, {.fast = true}).value();
  const tasks::Tasks two = tasks::open(store, {.fast = true}).value();
  tasks::QueueSettings settings;
  settings.deliver_to.url = receiver.url();
  ASSERT_TRUE(one.configure("q", settings));
  server::Pusher first(one, {.threads = 8, .grace = 10s}, log);
  server::Pusher second(two, {.threads = 8, .grace = 10s}, log);
  constexpr std::size_t many = 200;
  for (std::size_t i = 0; i < many; ++i) ASSERT_TRUE(one.enqueue({.queue = "q", .kind = "k"}));
  eventually([&] { return one.queue("q").count(tasks::TaskState::done) == many; });
  std::vector<std::string> ids;
  for (const Received& each : receiver.all()) ids.push_back(each.header("handoff-task-id"));
  std::ranges::sort(ids);
  EXPECT_EQ(ids.size(), many);
  EXPECT_EQ(std::ranges::adjacent_find(ids), ids.end());
}

}  // namespace
}  // namespace handoff::tests
