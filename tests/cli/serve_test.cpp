// The server as a process: how it begins and ends, and what is left when it is killed.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <mutex>
#include <random>
#include <thread>

#include "cli/program.hpp"
#include "cli/server_process.hpp"
#include "handoff/testing/eventually.hpp"
#include "server/exposition.hpp"
#include "server/raw_client.hpp"
#include "server/self_signed.hpp"
#include "support/sanitized.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using testing::eventually;

constexpr auto a_task = R"({"queue":"q","kind":"k","payload":{"n":1}})";

std::string id_in(const raw::Answer& answer) { return text_at(json_of(answer.body), "id"); }

long resident_kib(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
  }
  return 0;
}

class Serving : public CliTest {
 protected:
  Server serve(std::vector<std::string> more = {}) const {
    return Server(store, folder, std::move(more));
  }
};

TEST_F(Serving, AnswersAndEndsWhenAsked) {
  Server server = serve();
  const auto made = raw::post(server.port(), "/v1/tasks", a_task);
  EXPECT_EQ(made.status, 202);
  raw::Client waits(server.port());
  waits.send(
      raw::request("POST", "/v1/claim", R"({"queues":["other"],"wait":"60s","worker":"w"})"));
  eventually([&] {
    return raw::get(server.port(), "/v1/workers").body.find("\"w\"") != std::string::npos;
  });
  const Ended end = server.stop();
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(waits.read_answer().status, 204);
  EXPECT_EQ(task(id_in(made)).state, tasks::TaskState::ready);
  EXPECT_THAT(end.err, HasSubstr("\"message\":\"stopped\""));
}

TEST_F(Serving, ShareAFile) {
  Server one = serve();
  Server two = serve();
  raw::Client waits(one.port());
  waits.send(raw::request("POST", "/v1/claim", R"({"queues":["q"],"wait":"60s","worker":"w"})"));
  eventually(
      [&] { return raw::get(two.port(), "/v1/workers").body.find("\"w\"") != std::string::npos; });
  const std::string id = id_in(raw::post(two.port(), "/v1/tasks", a_task));
  EXPECT_THAT(waits.read_answer().body, HasSubstr(id));
}

// A lease is the worker's, who may live longer than the server.
TEST_F(Serving, KeepsLeasesOverARestart) {
  raw::Answer claimed;
  std::string id;
  {
    Server server = serve();
    id = id_in(raw::post(server.port(), "/v1/tasks", a_task));
    claimed = raw::post(server.port(), "/v1/claim", R"({"queues":["q"],"lease_for":"10m"})");
    ASSERT_EQ(claimed.status, 200);
    server.kill();
  }
  Server server = serve();
  EXPECT_EQ(raw::post(server.port(), "/v1/claim", R"({"queues":["q"]})").status, 204);
  const std::string lease = text_behind(claimed.body, "\"lease\":\"");
  const auto done = raw::post(server.port(), "/v1/tasks/" + id + "/done",
                              R"({"lease":")" + lease + R"(","result":7})");
  EXPECT_EQ(done.status, 200) << done.body;
  EXPECT_EQ(task(id).result, "7");
}

TEST_F(Serving, LosesNothingItHasAcceptedWhenItIsKilled) {
  constexpr int usual_kills = is_sanitized ? 10 : 100;
  const char* const wanted = std::getenv("HANDOFF_KILLS");
  const int kills = wanted != nullptr ? std::atoi(wanted) : usual_kills;
  std::mutex lock;
  std::vector<std::string> accepted;
  std::minstd_rand random(7);
  for (int i = 0; i < kills; ++i) {
    Server server = serve();
    std::atomic<int> answers = 0;
    {
      std::vector<std::jthread> clients;
      for (int k = 0; k < 4; ++k) {
        clients.emplace_back([&] {
          try {
            raw::Client client(server.port());
            for (;;) {
              client.send(raw::request("POST", "/v1/tasks", a_task));
              const auto answer = client.read_answer();
              const std::lock_guard hold(lock);
              if (answer.status == 202) accepted.push_back(id_in(answer));
              ++answers;
            }
          } catch (const std::exception&) {  // The server is gone.
          }
        });
      }
      const int enough = 1 + static_cast<int>(random() % 50);
      eventually([&] { return answers >= enough; });
      server.kill();
    }
  }
  const tasks::Tasks tasks = open();
  for (const std::string& id : accepted) {
    ASSERT_TRUE(tasks.get(tasks::TaskId::parse(id).value())) << id;
  }
  RecordProperty("kills", kills);
  RecordProperty("accepted", static_cast<int>(accepted.size()));
  EXPECT_GE(std::ssize(accepted), kills);
}

TEST_F(Serving, SaysThatTheDiskIsFullAndGoesOnOnceThereIsRoom) {
  const bool has_disk = ::unshare(CLONE_NEWNS) == 0 &&
                        ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                        ::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=2m") == 0;
  if (!has_disk) GTEST_SKIP() << "a disk of its own needs root";
  Server server = serve();
  ASSERT_EQ(raw::post(server.port(), "/v1/tasks", a_task).status, 202);
  const std::string filler = path("filler");
  const int file = ::open(filler.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string block(512, 'x');
  while (::write(file, block.data(), block.size()) > 0) {
  }
  ::close(file);
  raw::Answer refused;
  eventually([&] {  // There may be room in the file itself for some.
    refused = raw::post(server.port(), "/v1/tasks", a_task);
    return refused.status != 202;
  });
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.header("retry-after"), "1");
  EXPECT_THAT(refused.body, HasSubstr("the disk is full"));
  EXPECT_EQ(raw::get(server.port(), "/healthz").status, 200);
  std::filesystem::remove(filler);
  eventually([&] { return raw::post(server.port(), "/v1/tasks", a_task).status == 202; });
  EXPECT_EQ(server.stop().code, 0);
  ::umount2(folder.c_str(), MNT_DETACH);
}

// A hundred times as much as there is room for: what is accepted is stored, the rest is told to come back, and nothing grows.
TEST_F(Serving, RefusesWhatItHasNoRoomForAndDoesNotGrow) {
  Server server = serve();
  ASSERT_EQ(
      raw::ask(server.port(), raw::request("PUT", "/v1/queues/q", R"({"capacity":100})")).status,
      200);
  std::atomic<int> accepted = 0;
  std::atomic<int> refused = 0;
  const auto hammer = [&](int requests) {
    std::vector<std::jthread> clients;
    for (int k = 0; k < 8; ++k) {
      clients.emplace_back([&, requests] {
        raw::Client client(server.port());
        for (int i = 0; i < requests; ++i) {
          client.send(raw::request("POST", "/v1/tasks", a_task));
          const auto answer = client.read_answer();
          if (answer.status == 202) ++accepted;
          if (answer.status == 503 && answer.header("retry-after") == "5") ++refused;
        }
      });
    }
  };
  hammer(125);
  const long before = resident_kib(server.id());
  hammer(1125);
  EXPECT_EQ(accepted, 100);
  EXPECT_EQ(refused, 10'000 - 100);
  EXPECT_EQ(open().queue("q").count(tasks::TaskState::ready), 100);
  // A sanitizer keeps what was freed.
  const long after = resident_kib(server.id());
  EXPECT_TRUE(is_sanitized || after < before + 16 * 1024) << before << " KiB, then " << after;
}

// A hundred clients where one may wait: how long accepted work takes depends on how many wait before it, and that is bounded.
TEST_F(Serving, LetsNoMoreWaitThanMayHoweverManyCome) {
  constexpr int limit = 2;
  constexpr int clients = 100 * limit;
  constexpr int each = is_sanitized ? 5 : 25;
  Server server = serve({"--waiting-limit", std::to_string(limit)});
  std::mutex mutex;
  std::vector<std::string> accepted;
  std::vector<double> milliseconds;
  std::atomic<int> refused = 0;
  std::atomic<int> odd = 0;
  std::atomic<bool> is_over = false;
  double most_waiting = 0;
  std::thread looks([&] {
    while (!is_over) {
      const Exposition metrics(raw::get(server.port(), "/metrics").body);
      most_waiting = std::max(most_waiting, metrics.value("handoff_store_waiting").value_or(1e9));
    }
  });
  {
    std::vector<std::jthread> all;
    for (int k = 0; k < clients; ++k) {
      all.emplace_back([&] {
        raw::Client client(server.port());
        for (int i = 0; i < each; ++i) {
          const auto began = std::chrono::steady_clock::now();
          client.send(raw::request("POST", "/v1/tasks", a_task));
          const auto answer = client.read_answer();
          const std::chrono::duration<double, std::milli> took =
              std::chrono::steady_clock::now() - began;
          if (answer.status == 503 && answer.header("retry-after") == "1") {
            ++refused;
          } else if (answer.status == 202) {
            const std::lock_guard lock(mutex);
            accepted.push_back(id_in(answer));
            milliseconds.push_back(took.count());
          } else {
            ++odd;
          }
        }
      });
    }
  }
  is_over = true;
  looks.join();
  EXPECT_EQ(odd, 0);
  EXPECT_GT(refused, 0);
  EXPECT_LE(most_waiting, limit);
  const tasks::Tasks tasks = open();
  EXPECT_EQ(tasks.queue("q").count(tasks::TaskState::ready), std::ssize(accepted));
  for (const std::string& id : accepted) EXPECT_TRUE(tasks.get(tasks::TaskId::parse(id).value()));
  const Exposition metrics(raw::get(server.port(), "/metrics").body);
  EXPECT_EQ(metrics.value("handoff_store_refused_total"), refused);
  EXPECT_EQ(metrics.value("handoff_store_waiting"), 0);
  std::ranges::sort(milliseconds);
  ASSERT_FALSE(milliseconds.empty());
  RecordProperty("accepted", static_cast<int>(accepted.size()));
  RecordProperty("refused", refused.load());
  RecordProperty("accepted_ms_p99", std::to_string(milliseconds[milliseconds.size() * 99 / 100]));
}

TEST_F(Serving, IsNotForOthersWithoutTokens) {
  const Ended open_to_all = run({"serve", "--listen", "0.0.0.0:0"});
  EXPECT_EQ(open_to_all.code, 4);
  EXPECT_THAT(open_to_all.err, HasSubstr("handoff token create"));
  const Ended made = run({"token", "create", "--name", "me", "--role", "admin"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::string token = made.out.substr(0, made.out.find('\n'));
  Server server = serve({"--listen", "0.0.0.0:0"});
  EXPECT_EQ(raw::get(server.port(), "/v1/queues").status, 401);
  EXPECT_EQ(raw::get(server.port(), "/v1/queues", "Authorization: Bearer " + token + "\r\n").status,
            200);
  raw::post(server.port(), "/v1/queues/q/pause", "", "Authorization: Bearer " + token + "\r\n");
  const Ended end = server.stop();
  EXPECT_THAT(end.err, HasSubstr("\"action\":\"POST /v1/queues/q/pause\",\"token\":\"me\""));
  EXPECT_THAT(end.err, ::testing::Not(HasSubstr(token)));
  EXPECT_THAT(run({"token", "ls"}).out, HasSubstr("admin"));
  EXPECT_EQ(run({"token", "revoke", "me"}).code, 0);
  EXPECT_EQ(run({"token", "revoke", "me"}).code, 3);
  EXPECT_EQ(run({"token", "create", "--name", "x", "--role", "king"}).code, 2);
}

TEST_F(Serving, IsSetByFlagsThenTheEnvironmentThenAFile) {
  write("c.toml",
        "listen = \"127.0.0.1:1\"\ngrace = \"5s\"\nhosts = [\"a.example\", \"b.example\"]\n");
  const auto check = [&](std::vector<std::string> more,
                         const std::vector<std::string>& environment = {}) {
    std::vector<std::string> all{"serve", "--check", "--config", path("c.toml")};
    all.insert(all.end(), more.begin(), more.end());
    return run(all, "", environment);
  };
  EXPECT_THAT(check({}).out, HasSubstr("127.0.0.1:1\n"));
  EXPECT_THAT(check({}, {"HANDOFF_LISTEN=127.0.0.1:2"}).out, HasSubstr("127.0.0.1:2\n"));
  EXPECT_THAT(check({"--listen", "127.0.0.1:3"}, {"HANDOFF_LISTEN=127.0.0.1:2"}).out,
              HasSubstr("127.0.0.1:3\n"));
}

// Also if it says what would be the case anyway.
TEST_F(Serving, AFlagCountsWhateverItsValueIs) {
  write("c.toml",
        "store = \"sqlite:other.db\"\nlisten = \"127.0.0.1:1\"\nhosts = [\"a.example\"]\n");
  const auto check = [&](std::vector<std::string> more,
                         const std::vector<std::string>& environment = {}) {
    std::vector<std::string> all{"serve", "--check", "--config", path("c.toml")};
    all.insert(all.end(), more.begin(), more.end());
    return run(all, "", environment).out;
  };
  EXPECT_THAT(check({"--store", "sqlite:handoff.db"}, {"HANDOFF_STORE="}),
              HasSubstr("sqlite:handoff.db on"));
  EXPECT_THAT(check({"--store", store}, {"HANDOFF_STORE=" + store}), HasSubstr(store + " on"));
  EXPECT_THAT(check({"--listen", "127.0.0.1:8077"}), HasSubstr("127.0.0.1:8077\n"));
  EXPECT_THAT(check({}, {"HANDOFF_STORE="}), HasSubstr("sqlite:other.db on"));
}

TEST_F(Serving, NamesTheVariableThatWasMeant) {
  const auto check = [&](const std::string& variable) {
    return run({"serve", "--check"}, "", {variable});
  };
  const Ended typo = check("HANDOFF_LISTN=127.0.0.1:1");
  EXPECT_EQ(typo.code, 2);
  EXPECT_THAT(typo.err, HasSubstr("HANDOFF_LISTN"));
  EXPECT_THAT(typo.err, HasSubstr("did you mean HANDOFF_LISTEN?"));
  EXPECT_THAT(check("HANDOFF_PAYLOADLIMIT=1").err, HasSubstr("HANDOFF_PAYLOAD_LIMIT"));
  // Of Kubernetes, of clients, of `handoff work`, and of somebody's own.
  for (const auto* each :
       {"HANDOFF_SERVICE_HOST=10.0.0.1", "HANDOFF_SERVICE_PORT=8077", "HANDOFF_PORT=tcp://10.0.0.1",
        "HANDOFF_PORT_8077_TCP_ADDR=10.0.0.1", "HANDOFF_SERVICE_PORT_HTTP=8077",
        "HANDOFF_TOKEN=secret", "HANDOFF_SERVER=http://x", "HANDOFF_TASK_ID=1", "HANDOFF_QUEUE=q",
        "HANDOFF_KIND=k", "HANDOFF_ATTEMPT=1", "HANDOFF_MAX_ATTEMPTS=2", "HANDOFF_GROUP=g",
        "HANDOFF_TRACE=t", "HANDOFF_COLOUR_OF_MY_BIKE=red"}) {
    const Ended ended = check(each);
    EXPECT_EQ(ended.code, 0) << each << ": " << ended.err;
  }
}

TEST_F(Serving, SaysWhatIsWrongWithItsConfiguration) {
  const auto with = [&](const std::string& text) {
    write("c.toml", text);
    return run({"serve", "--check", "--config", path("c.toml")});
  };
  const Ended unknown = with("# mine\nlisen = \"127.0.0.1:1\"\n");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("c.toml:2: unknown key \"lisen\"; did you mean \"listen\"?"));
  EXPECT_THAT(with("threads = 1000\n").err,
              HasSubstr("threads must be a whole number from 0 to 256"));
  EXPECT_THAT(with("payload_limit = 1048577\n").err,
              HasSubstr("payload_limit must be a whole number from 1 to 1048576"));
  EXPECT_THAT(with("grace = \"soon\"\n").err, HasSubstr("grace must be"));
  EXPECT_EQ(with("store = \"oracle:\"\n").code, 2);
  EXPECT_EQ(with("a = [\n").code, 2);
  EXPECT_THAT(with("tls_cert = \"x.pem\"\n").err, HasSubstr("belong together"));
  EXPECT_EQ(run({"serve", "--check", "--config", path("none.toml")}).code, 2);
  EXPECT_THAT(run({"serve", "--listen", "here"}).err, HasSubstr("--listen"));
}

// What serve would not begin with, --check does not call good.
TEST_F(Serving, ChecksWhatItWouldBeginWith) {
  const auto refused = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"serve", "--check"});
    const Ended ended = run(more);
    EXPECT_EQ(ended.code, 2) << ended.out;
    return ended.err;
  };
  const SelfSigned one("check_one");
  const SelfSigned other("check_other");
  EXPECT_THAT(refused({"--tls-cert", one.key, "--tls-key", one.certificate}),
              HasSubstr("cannot use the TLS certificate"));
  EXPECT_THAT(refused({"--tls-cert", one.certificate, "--tls-key", other.key}),
              HasSubstr("TLS key"));
  EXPECT_THAT(refused({"--store", "sqlite:" + path("none/tasks.db")}), HasSubstr(path("none")));
  EXPECT_THAT(refused({"--hosts", "a b"}), HasSubstr("--hosts"));
  EXPECT_THAT(refused({"--hosts", "a.example:80"}), HasSubstr("without ports"));
  EXPECT_THAT(refused({"--listen", "0.0.0.0:1"}), HasSubstr("there are no tokens"));
  EXPECT_FALSE(std::filesystem::exists(path("tasks.db")));  // Nothing was made.
  ASSERT_EQ(run({"token", "create", "--name", "me"}).code, 0);
  const Ended good =
      run({"serve", "--check", "--json", "--listen", "0.0.0.0:1", "--tls-cert", one.certificate,
           "--tls-key", one.key, "--hosts", "a.example, b.example"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_EQ(text_at(json_of(good.out), "listen"), "0.0.0.0:1");
  EXPECT_THAT(good.out, HasSubstr("\"tls\":true"));
}

TEST_F(Serving, SaysThatAPortIsTaken) {
  Server server = serve();
  const Ended second = run({"serve", "--listen", "127.0.0.1:" + std::to_string(server.port())});
  EXPECT_EQ(second.code, 4);
  EXPECT_THAT(second.err, HasSubstr(std::to_string(server.port())));
}

}  // namespace
}  // namespace handoff::tests
