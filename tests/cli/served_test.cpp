// The commands against a server: what the other files here say of a store in a file holds over HTTP, too. And what is only so there.
#include <signal.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "cli/server_process.hpp"
#include "handoff/tasks/worker.hpp"
#include "support/port.hpp"
#include "tasks/running_worker.hpp"

namespace handoff::tests {

// `store` is the URL of a server that has the file.
class ServedCliTest : public CliTest {
 protected:
  ServedCliTest() : file(store), server(file, folder, {"--listen", address}) {
    store = "http://" + address;
  }
  void SetUp() override {
    static const std::map<std::string, std::string> not_for_servers{
        {"DoctorSaysWhatIsWrong", "it looks at the file"},
        {"DoctorWarnsIfOthersMayReadTheFile", "it looks at the file"},
        {"DoctorLooksAtTheConfigurationOfTheServer", "that is on the server's machine"},
        {"DeadOnesAreCountedByTheirReason", "it begins with a file that is not there"},
        {"PrintsTheIdOfAStoredTask", "a server writes payloads anew, without blanks"},
        {"ReadsPayloadsFromFilesAndStandardInput", "a server writes payloads anew, without blanks"},
        {"IsSeenByOthers", "a server has a worker of its own, which delivers"},
        {"KillingTheWorkerKillsItsProgramsAndTheTaskRunsAgain", "it takes as long as a lease"},
        {"ASecondSignalEndsItAtOnce", "it takes as long as a lease"},
    };
    const auto why =
        not_for_servers.find(::testing::UnitTest::GetInstance()->current_test_info()->name());
    if (why != not_for_servers.end()) GTEST_SKIP() << why->second;
  }
  const std::string file;
  const Port port;  // Nobody else listens there while the server does not.
  const std::string address = "127.0.0.1:" + std::to_string(port.number());
  Server server;
};

}  // namespace handoff::tests

#define CliTest ServedCliTest
#define TaskCommands ServedTaskCommands
#include "cli/tasks_test.cpp"
#define Enqueueing ServedEnqueueing
#define Batches ServedBatches
#include "cli/enqueue_test.cpp"
#define QueueCommands ServedQueueCommands
#include "cli/queues_test.cpp"
#define Working ServedWorking
#include "cli/work_test.cpp"
#undef CliTest

namespace handoff::tests {
namespace {

class Served : public ServedCliTest {};

TEST_F(Served, CommandsOfTheStoreStayWhereItIs) {
  EXPECT_EQ(run({"serve", "--check", "--store", store}).code, 2);
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"token", "ls"}, {"token", "create", "--name", "x"}, {"token", "revoke", "x"}}) {
    const Ended ended = run(command);
    EXPECT_EQ(ended.code, 2) << command[0];
    EXPECT_THAT(ended.err, HasSubstr("where the store is"));
  }
}

// HANDOFF_STORE names a server: for the commands that ask one.
TEST_F(Served, ServeLeavesAStoreOfOthersAlone) {
  const Ended usual = run({"serve", "--check"});
  EXPECT_EQ(usual.code, 0) << usual.err;
  EXPECT_THAT(usual.out, HasSubstr("sqlite:handoff.db on"));
  EXPECT_THAT(usual.err, HasSubstr("HANDOFF_STORE is " + store));
  const Ended given = run({"serve", "--check", "--store", file});
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out, HasSubstr(file + " on"));
  EXPECT_EQ(given.err, "");
  for (const auto& command : std::vector<std::vector<std::string>>{
           {"serve", "--help"}, {"token", "create", "--help"}, {"token", "ls", "--help"}}) {
    EXPECT_THAT(run(command).out, ::testing::Not(HasSubstr("http://<host>"))) << command[0];
  }
}

TEST_F(Served, AServerThatIsNotThereIsNamedWithWhatToDo) {
  server.stop();
  for (const char* const command : {"ls", "queues", "top", "doctor"}) {
    const Ended ended = run({command});
    EXPECT_EQ(ended.code, std::string_view(command) == "doctor" ? 1 : 4) << command;
    EXPECT_THAT(ended.err + ended.out, HasSubstr(store)) << command;
    EXPECT_THAT(ended.err + ended.out, HasSubstr("handoff serve")) << command;
  }
  EXPECT_EQ(run({"enqueue", "k"}).code, 4);
}

TEST_F(Served, TokensComeFromAFileOrTheEnvironment) {
  const auto make = [&](const std::string& name, const std::string& role) {
    std::string token =
        run({"token", "create", "--name", name, "--role", role, "--store", file}).out;
    token.pop_back();
    return token;
  };
  const std::string produce = make("shop", "produce");
  write("admin", make("me", "admin") + "\n");
  eventually([&] { return run({"queues"}).code == 4; }, 60s);  // Counts within a second.
  EXPECT_THAT(run({"queues"}).err, HasSubstr("HANDOFF_TOKEN"));
  EXPECT_EQ(run({"enqueue", "k"}, "", {"HANDOFF_TOKEN=" + produce}).code, 0);
  const Ended refused = run({"pause", "default"}, "", {"HANDOFF_TOKEN=" + produce});
  EXPECT_EQ(refused.code, 4);
  EXPECT_THAT(refused.err, HasSubstr("role admin"));
  const Ended works = run({"work", "--", "true"}, "", {"HANDOFF_TOKEN=" + produce});
  EXPECT_EQ(works.code, 4);
  EXPECT_THAT(works.err, HasSubstr("role work"));
  const std::string worker = make("me2", "work");
  eventually([&] {  // It counts within a second.
    return run({"work", "--until-idle", "--", "true"}, "", {"HANDOFF_TOKEN=" + worker}).code == 0;
  });
  EXPECT_EQ(run({"pause", "default", "--token-file", path("admin")}).code, 0);
  EXPECT_EQ(run({"--token-file", path("admin"), "resume", "default"}).code, 0);
  EXPECT_EQ(run({"resume", "default"}, "", {"HANDOFF_TOKEN_FILE=" + path("admin")}).code, 0);
  EXPECT_EQ(run({"queues", "--token-file", path("none")}).code, 2);
}

TEST_F(Served, TheAuditLogNamesWhoWasRefused) {
  std::string shop = run({"token", "create", "--name", "shop", "--store", file}).out;
  shop.pop_back();
  eventually([&] { return run({"pause", "q"}, "", {"HANDOFF_TOKEN=" + shop}).code == 4; }, 60s);
  eventually([&] { return server.log().find(R"("token":"shop")") != std::string::npos; });
}

TEST_F(Served, ProgramsDieWithAWorkerThatIsKilled) {
  enqueue("k");
  Background worker =
      start({"work", "--", "sh", "-c",
             "trap '' TERM; echo $$ > \"$0\"; while :; do sleep 0.01; done", path("pid")});
  eventually([&] { return std::filesystem::exists(path("pid")) && read("pid").ends_with('\n'); },
             60s);
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait().code, 128 + SIGKILL);
  const pid_t program = std::stoi(read("pid"));
  eventually([&] { return ::kill(program, 0) != 0; }, 60s);
}

// Producers, a worker, and a server that is killed again and again: all that was accepted is done, once, and there is nothing else.
TEST_F(Served, LosesNothingAndDoublesNothingWhenItIsKilled) {
  constexpr int kills = 4;
  const Tasks client = tasks::open(store, {.patience = 100s}).value();
  std::mutex lock;
  std::vector<TaskId> accepted;
  std::atomic<int> runs = 0;
  std::optional<Server> again;
  {
    // What a claim had got when the server was killed comes back with the end of its lease.
    Worker worker{client, {.queues = {{"q", 4}}, .lease_for = 2s}};
    worker.handle_any([&](const Json&, Context&) { ++runs; });
    Running running(worker);
    {
      std::vector<std::jthread> producers;
      for (int i = 0; i < 3; ++i) {
        producers.emplace_back([&](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            const auto made = client.enqueue({.queue = "q", .kind = "k"});
            ASSERT_TRUE(made) << made.error().message;
            EXPECT_FALSE(made->is_duplicate);
            const std::lock_guard hold(lock);
            accepted.push_back(made->id);
          }
        });
      }
      for (int i = 0; i < kills; ++i) {
        const int before = runs;
        eventually([&] { return runs > before + 20; }, 60s);
        if (again) {
          again->kill();
        } else {
          server.kill();
        }
        again.emplace(file, folder, std::vector<std::string>{"--listen", address});
      }
      const int before = runs;
      eventually([&] { return runs > before + 20; }, 60s);
    }
    eventually([&] { return client.queue("q").unfinished() == 0; }, 100s);
    running.stop();
  }
  again->stop();
  const Tasks here = tasks::open(file).value();
  EXPECT_EQ(std::set(accepted.begin(), accepted.end()).size(), accepted.size());
  for (const TaskId& each : accepted) {
    const auto task = here.get(each);
    ASSERT_TRUE(task) << each.to_string();
    EXPECT_EQ(task->state, TaskState::done);
  }
  EXPECT_EQ(here.queue("q").count(TaskState::done), std::ssize(accepted));
}

}  // namespace
}  // namespace handoff::tests
