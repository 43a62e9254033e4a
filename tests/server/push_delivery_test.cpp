// What a receiver gets, and what its answer means.
#include <openssl/sha.h>

#include "handoff/tasks/time.hpp"
#include "server/push/signature.hpp"
#include "server/push_fixture.hpp"
#include "support/port.hpp"

namespace handoff::tests {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::eventually;

class Deliveries : public PushTest {};

TEST_F(Deliveries, BringATaskAndItsName) {
  Receiver receiver([](const Received&) { return answer(201, R"({"ok":[1,2]})"); });
  ASSERT_EQ(deliver("q", receiver.url("/a/b?c=d")).status, 200);
  const std::string trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const std::string id = add("q", fmt::format(R"(,"payload":{{"to":"me"}},"trace":"{}")", trace));
  const Reply done = ended(id);
  EXPECT_EQ(done.at("state"), "done");
  EXPECT_EQ(done.at("result"), R"({"ok":[1,2]})");
  ASSERT_EQ(receiver.count(), 1);
  const Received request = receiver.all()[0];
  EXPECT_EQ(request.line, "POST /a/b?c=d HTTP/1.1");
  EXPECT_EQ(request.body, R"({"to":"me"})");
  EXPECT_EQ(request.header("content-type"), "application/json");
  EXPECT_EQ(request.header("handoff-task-id"), id);
  EXPECT_EQ(request.header("handoff-queue"), "q");
  EXPECT_EQ(request.header("handoff-kind"), "k");
  EXPECT_EQ(request.header("handoff-attempt"), "1");
  EXPECT_EQ(request.header("traceparent"), trace);
  EXPECT_EQ(request.header("handoff-signature"), "(none)");
}

TEST_F(Deliveries, AreDoneWhateverAGoodAnswerSays) {
  const std::string large = '"' + std::string(std::size_t{65} << 10, 'x') + '"';
  Receiver receiver([&](const Received& request) {
    if (request.body == "1") return answer(204);
    if (request.body == "2") return answer(200, "<p>fine</p>");
    return answer(202, large);
  });
  deliver("q", receiver.url());
  EXPECT_EQ(ended(add("q", R"(,"payload":1)")).at("result"), R"({"status":204})");
  EXPECT_EQ(ended(add("q", R"(,"payload":2)")).at("result"), R"({"status":200})");
  EXPECT_EQ(ended(add("q", R"(,"payload":3)")).at("result"), R"({"status":202})");
  EXPECT_EQ(receiver.count(), 3);
}

// HMAC as RFC 2104 has it, for a key that is no longer than a block.
std::string hmac(std::string_view key, std::string_view text) {
  const auto hash = [](const std::string& bytes) {
    std::string digest(SHA256_DIGEST_LENGTH, '\0');
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
  };
  std::string inner(64, 0x36);
  std::string outer(64, 0x5c);
  for (std::size_t i = 0; i < key.size(); ++i) {
    inner[i] = static_cast<char>(inner[i] ^ key[i]);
    outer[i] = static_cast<char>(outer[i] ^ key[i]);
  }
  std::string hexadecimal;
  for (const char each : hash(outer + hash(inner + std::string(text)))) {
    hexadecimal += fmt::format("{:02x}", static_cast<unsigned char>(each));
  }
  return hexadecimal;
}

TEST_F(Deliveries, AreSignedWithTheSecretOfTheirQueue) {
  Receiver receiver;
  deliver("q", receiver.url(), R"(,"secret":"hush")");
  const auto before = std::chrono::system_clock::now();
  ended(add("q", R"(,"payload":{"n":1})"));
  const std::string signature = receiver.all().at(0).header("handoff-signature");
  ASSERT_THAT(signature, ::testing::StartsWith("t="));
  const std::string time = signature.substr(2, signature.find(',') - 2);
  EXPECT_EQ(signature, "t=" + time + ",v1=" + hmac("hush", time + R"(.{"n":1})"));
  const auto age = std::stoll(time) - std::chrono::system_clock::to_time_t(before);
  EXPECT_GE(age, 0);
  EXPECT_LT(age, 60);
}

// python3 -c 'import hmac; print(hmac.new(b"key", b"1764590400.{}", "sha256").hexdigest())'
TEST(Signatures, AreAsOthersMakeThem) {
  EXPECT_EQ(
      server::signature("key", std::chrono::sys_seconds(std::chrono::seconds(1764590400)), "{}"),
      "t=1764590400,v1=c0afee26c4149b3dd9d36d1d9c5c903540588fd4b83dbb022facf23988588272");
}

// -- Not now --------------------------------------------------------------------------------------

std::string in(std::chrono::seconds time) {
  const std::time_t at =
      std::chrono::system_clock::to_time_t(std::chrono::system_clock::now() + time);
  std::tm parts{};
  ::gmtime_r(&at, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text.data();
}

// In how long a task is tried again.
std::chrono::milliseconds delay_of(const Reply& task) {
  return tasks::parse_time(task.at("run_at")).value() -
         std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

TEST_F(Deliveries, ArePutOffAsTheReceiverAsks) {
  struct Case {
    int status;
    std::string retry_after;
    std::chrono::seconds least, most;
  };
  const std::vector<Case> cases{{429, "120", 60s, 120s},
                                {503, "120", 60s, 120s},
                                {503, in(300s), 200s, 300s},
                                {429, "86400", 3500s, 3600s},
                                {429, "99999999999999999999999", 3500s, 3600s}};
  Receiver receiver([&](const Received& request) {
    const Case& each = cases.at(std::stoul(request.body));
    return answer(each.status, "busy", "Retry-After: " + each.retry_after + "\r\n");
  });
  deliver("q", receiver.url());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].retry_after);
    const std::string id = add("q", fmt::format(R"(,"payload":{})", i));
    eventually([&] { return state(id) == "scheduled"; });
    const Reply seen = task(id);
    EXPECT_EQ(seen.at("attempt"), "0");
    EXPECT_EQ(seen.size("errors"), 0);
    EXPECT_GT(delay_of(seen), cases[i].least);
    EXPECT_LE(delay_of(seen), cases[i].most);
  }
  EXPECT_EQ(receiver.count(), cases.size());
}

TEST_F(Deliveries, FailIfTheReceiverDoesNotSayWhenToComeAgain) {
  Receiver receiver([](const Received& request) {
    return request.body == "1" ? answer(503) : answer(429, "", "Retry-After: soon\r\n");
  });
  deliver("q", receiver.url());
  const Reply one = failed(add("q", R"(,"payload":1,"max_attempts":1)"));
  EXPECT_EQ(one.at("state"), "dead");
  EXPECT_EQ(one.at("errors.0.message"), receiver.url() + " answered 503");
  const Reply two = failed(add("q", R"(,"payload":2,"max_attempts":1)"));
  EXPECT_EQ(two.at("errors.0.message"), receiver.url() + " answered 429");
}

// -- Failures -------------------------------------------------------------------------------------

TEST_F(Deliveries, FailWithWhatTheReceiverSaysAndAreTriedAgain) {
  std::string page = "no\n";
  for (int i = 0; i < 300; ++i) page += "\xc3\xa4";
  Receiver receiver([&](const Received& request) {
    return request.count < 3 ? answer(500, page) : answer(200, "7");
  });
  deliver("q", receiver.url());
  const Reply done = ended(add());
  EXPECT_EQ(done.at("state"), "done");
  EXPECT_EQ(done.at("result"), "7");
  EXPECT_EQ(done.at("attempt"), "3");
  std::string shown = receiver.url() + " answered 500: no ";
  for (int i = 0; i < 197; ++i) shown += "\xc3\xa4";
  EXPECT_EQ(done.at("errors.0.message"), shown);
  EXPECT_EQ(done.size("errors"), 2);
  EXPECT_EQ(receiver.all().at(2).header("handoff-attempt"), "3");
}

TEST_F(Deliveries, DoNotFollowTo) {
  Receiver elsewhere;
  Receiver receiver(
      [&](const Received&) { return answer(302, "", "Location: " + elsewhere.url() + "\r\n"); });
  deliver("q", receiver.url());
  const Reply dead = failed(add("q", R"(,"max_attempts":1)"));
  EXPECT_EQ(dead.at("state"), "dead");
  EXPECT_EQ(dead.at("reason"), receiver.url() + " answered 302");
  EXPECT_EQ(receiver.count(), 1);
  EXPECT_EQ(elsewhere.count(), 0);
}

TEST_F(Deliveries, DoNotWaitLongerThanTheirQueueSays) {
  Receiver receiver([](const Received&) { return ""; });
  deliver("q", receiver.url(), R"(,"timeout":"100ms")");
  const Reply dead = failed(add("q", R"(,"max_attempts":1)"));
  EXPECT_EQ(dead.at("state"), "dead");
  EXPECT_THAT(dead.at("reason"), AllOf(HasSubstr(receiver.url()), HasSubstr("timed out")));
}

TEST_F(Deliveries, DoNotWaitLongerThanTheTaskSays) {
  Receiver receiver([](const Received&) { return ""; });
  deliver("q", receiver.url(), R"(,"timeout":"1h")");
  const Reply dead = failed(add("q", R"(,"max_attempts":1,"timeout":"100ms")"));
  EXPECT_EQ(dead.at("state"), "dead");
  EXPECT_THAT(dead.at("reason"), HasSubstr("it took longer than 100ms"));
}

TEST_F(Deliveries, EndWhenTheTaskIsCancelled) {
  Receiver receiver([](const Received&) { return ""; });
  deliver("q", receiver.url(), R"(,"timeout":"1h")");
  const std::string id = add();
  eventually([&] { return receiver.count() == 1; });
  EXPECT_EQ(post("/v1/tasks/" + id + "/cancel", "").status, 200);
  eventually([&] { return get("/v1/workers").answer.body.find(id) == std::string::npos; });
  EXPECT_EQ(state(id), "cancelled");
}

TEST_F(Deliveries, WaitForAReceiverThatIsAway) {
  const Port port;
  const std::string url = fmt::format("http://127.0.0.1:{}/hook", port.number());
  deliver("q", url);
  const std::string id = add("q", R"(,"max_attempts":1000)");
  EXPECT_THAT(failed(id).at("errors.0.message"), AllOf(HasSubstr(url), Not(HasSubstr("answered"))));
  Receiver back([](const Received&) { return answer(200, "\"back\""); }, port.number());
  EXPECT_EQ(ended(id).at("result"), "back");
  EXPECT_EQ(back.count(), 1);
}

// The connection breaks before there is an answer.
TEST_F(Deliveries, FailWhenTheReceiverHangsUp) {
  Receiver receiver([](const Received& request) {
    return request.count == 1 ? std::string("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n")
                              : answer(200, "1");
  });
  deliver("q", receiver.url());
  const Reply done = ended(add());
  EXPECT_EQ(done.at("state"), "done");
  EXPECT_EQ(done.at("attempt"), "2");
}

}  // namespace
}  // namespace handoff::tests
