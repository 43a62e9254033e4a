// handoff work: a process for each task, and what follows from how it ends.
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

#include "cli/program.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/sanitized.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::eventually;

bool is_alive(pid_t process) { return ::kill(process, 0) == 0; }

class Working : public CliTest {
 protected:
  TaskState state(const std::string& id) const { return task(id).state; }
  void wait_for_file(const std::string& name) const {
    eventually([&] { return std::filesystem::exists(path(name)) && read(name).ends_with('\n'); },
               60s);
  }
  pid_t number_in(const std::string& name) const { return std::stoi(read(name)); }
  // Its program has a child in its group and one in a session of its own, whose numbers are in files, too.
  Background start_family() const {
    return start({"work", "--", "sh", "-c",
                  "sleep 1000 & echo $! > \"$0.near\"; setsid sleep 1000 & echo $! > \"$0.far\"; "
                  "echo $$ > \"$0\"; wait",
                  path("pid")});
  }
};

pid_t parent_of(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  std::string word;
  while (status >> word && word != "PPid:") {
  }
  pid_t parent = 0;
  status >> parent;
  return parent;
}

// What `pkill` and `pkill -f` look for.
std::string names_of(pid_t process) {
  std::string names;
  for (const char* const each : {"/comm", "/cmdline"}) {
    std::ifstream file("/proc/" + std::to_string(process) + each, std::ios::binary);
    names.append(std::istreambuf_iterator<char>(file), {});
  }
  return names;
}

// -- How it ends ----------------------------------------------------------------------------------

TEST_F(Working, ExitZeroIsDoneAndStandardOutputTheResult) {
  const std::string id = enqueue("k", {R"({"a":[1,2]})"});
  const Ended ended = work("cat");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(state(id), TaskState::done);
  EXPECT_EQ(task(id).result, R"({"a":[1,2]})");
}

TEST_F(Working, OtherTextIsStoredAsAString) {
  const std::string id = enqueue("k");
  work("printf 'hello \"you\"\\nall\\n'");
  EXPECT_EQ(task(id).result, R"("hello \"you\"\nall")");
  const std::string silent = enqueue("k");
  work("true");
  EXPECT_EQ(task(silent).result, "null");
  const std::string odd = enqueue("k");
  work("printf 'a\\377\\001b'");
  EXPECT_EQ(state(odd), TaskState::done);
  EXPECT_TRUE(Json::parse(task(odd).result.value()));
}

TEST_F(Working, TheProgramKnowsItsTask) {
  const std::string id =
      enqueue("resize/2", {"--queue", "image", "--group", "g", "--trace",
                           "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"});
  work("echo $HANDOFF_TASK_ID $HANDOFF_QUEUE $HANDOFF_KIND $HANDOFF_ATTEMPT $HANDOFF_TRACE",
       {"--queue", "image"});
  EXPECT_EQ(
      task(id).result,
      "\"" + id + " image resize/2 1 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\"");
}

TEST_F(Working, OddBytesArriveAsTheyAre) {
  const std::string payload = R"("\u0000\u001b[31m\n \"quotes\" $HOME `x` \\ ünïcödé 🦉")";
  const std::string id = enqueue("k", {payload});
  work("cat");
  EXPECT_EQ(task(id).result, payload);
}

TEST_F(Working, Exit75DefersAtNoCost) {
  const std::string id = enqueue("k");
  const Ended ended = work("exit 75", {"--defer-for", "1h"});
  EXPECT_EQ(state(id), TaskState::scheduled);
  EXPECT_EQ(task(id).attempt, 0);
  EXPECT_GT(task(id).run_at - to_time(std::chrono::system_clock::now()), 50min);
  EXPECT_THAT(ended.err, HasSubstr("1 deferred"));
}

TEST_F(Working, AnythingElseFailsWithTheLastLinesOfItsErrors) {
  const std::string id = enqueue("k");
  work("for i in $(seq 100); do echo line $i >&2; done; exit 3");
  const Task failed = task(id);
  EXPECT_EQ(failed.state, TaskState::scheduled);
  EXPECT_EQ(failed.attempt, 1);
  ASSERT_EQ(failed.errors.size(), 1u);
  EXPECT_THAT(failed.errors[0].message, HasSubstr("exited with code 3"));
  EXPECT_THAT(failed.errors[0].message, HasSubstr("line 100"));
  EXPECT_THAT(failed.errors[0].message, Not(HasSubstr("line 90\n")));
  EXPECT_THAT(run({"show", id}).out, HasSubstr("line 42"));
}

TEST_F(Working, ACrashAndAProgramThatIsNotThereFailToo) {
  const std::string id = enqueue("k");
  work("kill -SEGV $$");
  EXPECT_THAT(task(id).errors.at(0).message, HasSubstr("signal 11"));
  const std::string other = enqueue("k");
  EXPECT_EQ(run({"work", "--until-idle", "--", "no-such-program"}).code, 0);
  EXPECT_THAT(task(other).errors.at(0).message, HasSubstr("cannot execute"));
}

TEST_F(Working, ATaskThatTakesTooLongIsKilled) {
  const std::string id = enqueue("k", {"--timeout", "2s"});  // Enough for a shell to begin.
  work("echo $$ > pid; exec sleep 1000", {"--grace", "1s"});
  const Task late = task(id);
  EXPECT_EQ(late.state, TaskState::scheduled);
  EXPECT_THAT(late.errors.at(0).message, HasSubstr("took longer than 2s"));
  const bool has_begun = read("pid").ends_with('\n');  // On a very busy machine it may not have.
  EXPECT_FALSE(has_begun && is_alive(number_in("pid")));
}

TEST_F(Working, ARetriedTaskRunsAgain) {
  const std::string id = enqueue("k");
  work("exit 1");
  EXPECT_EQ(run({"retry", id}).code, 1);  // It is scheduled: nothing to retry.
  ASSERT_EQ(run({"cancel", id}).code, 0);
  ASSERT_EQ(run({"retry", id}).code, 0);
  work("echo $HANDOFF_ATTEMPT");
  EXPECT_EQ(state(id), TaskState::done);
}

// -- Which, and how many --------------------------------------------------------------------------

TEST_F(Working, EachOfManyRunsExactlyOnce) {
  constexpr int count = is_sanitized ? 20 : 100;
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += R"({"queue":"q","kind":"k"})"
             "\n";
  ASSERT_EQ(run({"batch"}, lines).code, 0);
  const Ended ended = work("echo $HANDOFF_TASK_ID >> ran", {"--queue", "q", "-c", "4", "--quiet"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.err, "");
  std::vector<std::string> ran;
  std::istringstream text(read("ran"));
  for (std::string line; std::getline(text, line);) ran.push_back(line);
  EXPECT_EQ(ran.size(), static_cast<std::size_t>(count));
  std::ranges::sort(ran);
  EXPECT_EQ(std::ranges::adjacent_find(ran), ran.end());
  EXPECT_EQ(open().queue("q").count(TaskState::done), count);
}

TEST_F(Working, OnlyTheKindsItIsGiven) {
  const std::string mine = enqueue("mine");
  const std::string other = enqueue("other");
  work("true", {"--kind", "mine", "--defer-for", "1h"});
  EXPECT_EQ(state(mine), TaskState::done);
  EXPECT_EQ(state(other), TaskState::scheduled);
  EXPECT_EQ(task(other).attempt, 0);
}

TEST_F(Working, TellsOfEachAttemptInJson) {
  enqueue("good");
  enqueue("bad");
  const Ended ended = work("test $HANDOFF_KIND = good", {"--json"});
  const auto lines = json_lines(ended.out);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(text_at(lines[0], "outcome"), "done");
  EXPECT_EQ(text_at(lines[1], "outcome"), "failed");
  EXPECT_EQ(text_at(lines[1], "error"), "exited with code 1");
}

TEST_F(Working, IsSeenByOthers) {
  Background worker = start({"work", "--queue", "q", "-c", "3", "--name", "me", "--", "cat"});
  eventually([&] { return run({"workers"}).out.find("me") != std::string::npos; }, 60s);
  const auto lines = json_lines(run({"workers", "--json"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(text_at(lines[0], "queues"), R"([{"name":"q","concurrency":3}])");
  EXPECT_EQ(text_at(lines[0], "kinds"), "[]");
}

// -- How the worker ends --------------------------------------------------------------------------

TEST_F(Working, SigtermIsPassedOnAndWhatIsNotFinishedIsGivenBack) {
  const std::string id = enqueue("k");
  Background worker =
      start({"work", "--", "sh", "-c", "echo $$ > \"$0\"; exec sleep 1000", path("pid")});
  wait_for_file("pid");
  worker.signal(SIGTERM);
  const Ended ended = worker.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("1 given back"));
  EXPECT_FALSE(is_alive(number_in("pid")));
  EXPECT_EQ(state(id), TaskState::ready);
  EXPECT_EQ(task(id).attempt, 0);
}

TEST_F(Working, UntilIdleTooSigtermIsPassedOn) {
  const std::string id = enqueue("k");
  const std::string next = enqueue("k");
  Background worker = start(
      {"work", "--until-idle", "--", "sh", "-c", "echo $$ > \"$0\"; exec sleep 1000", path("pid")});
  wait_for_file("pid");
  worker.signal(SIGTERM);
  const Ended ended = worker.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("1 given back"));
  EXPECT_FALSE(is_alive(number_in("pid")));
  EXPECT_EQ(state(id), TaskState::ready);
  EXPECT_EQ(state(next), TaskState::ready);
}

TEST_F(Working, UntilIdleTooASecondSignalEndsItAtOnce) {
  enqueue("k");
  Background worker = start({"work", "--until-idle", "--grace", "1h", "--", "sh", "-c",
                             "trap 'echo asked > \"$0.asked\"' TERM; echo $$ > \"$0\"; "
                             "while :; do sleep 0.01; done",
                             path("pid")});
  wait_for_file("pid");
  worker.signal(SIGTERM);
  wait_for_file("pid.asked");
  const auto began = std::chrono::steady_clock::now();
  eventually([&] { return std::chrono::steady_clock::now() - began > 150ms; });  // See signals.hpp.
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 128 + SIGTERM);
  const pid_t program = number_in("pid");
  eventually([&] { return !is_alive(program); }, 60s);
}

TEST_F(Working, UntilIdleTooProgramsDieWithTheirWorker) {
  enqueue("k");
  Background worker =
      start({"work", "--until-idle", "--", "sh", "-c",
             "trap '' TERM; echo $$ > \"$0\"; while :; do sleep 0.01; done", path("pid")});
  wait_for_file("pid");
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait().code, 128 + SIGKILL);
  const pid_t program = number_in("pid");
  eventually([&] { return !is_alive(program); }, 60s);
}

TEST_F(Working, ACancelledTaskIsRunAgainOnceItsProgramIsGone) {
  const std::string id = enqueue("k");
  Background worker = start({"work", "--grace", "1h", "--", "sh", "-c",
                             "trap 'test -e \"$0.go\" && exit 1' TERM; echo $$ > \"$0\"; "
                             "while ! test -e \"$0.go\"; do sleep 0.01; done",
                             path("pid")});
  wait_for_file("pid");
  ASSERT_EQ(run({"cancel", id}).code, 0);
  const Ended refused = run({"retry", id});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("has not said that it stopped"));
  EXPECT_TRUE(is_alive(number_in("pid")));
  write("pid.go", "");
  eventually([&] { return run({"retry", id}).code == 0; }, 60s);
  eventually([&] { return state(id) == TaskState::done; }, 60s);
}

TEST_F(Working, WhoFinishesWithinTheGraceIsDone) {
  const std::string id = enqueue("k");
  Background worker = start({"work", "--", "sh", "-c",
                             "trap 'echo 17; exit 0' TERM; echo $$ > \"$0\"; "
                             "while :; do sleep 0.01; done",
                             path("pid")});
  wait_for_file("pid");
  worker.signal(SIGINT);
  EXPECT_EQ(worker.wait().code, 0);
  EXPECT_EQ(state(id), TaskState::done);
  EXPECT_EQ(task(id).result, "17");
}

TEST_F(Working, WhoDoesNotGoIsKilledAfterTheGrace) {
  const std::string id = enqueue("k");
  Background worker =
      start({"work", "--grace", "100ms", "--", "sh", "-c",
             "trap '' TERM; echo $$ > \"$0\"; while :; do sleep 0.01; done", path("pid")});
  wait_for_file("pid");
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 0);
  EXPECT_FALSE(is_alive(number_in("pid")));
  EXPECT_EQ(state(id), TaskState::ready);
}

TEST_F(Working, ASecondSignalEndsItAtOnce) {
  enqueue("k");
  Background worker = start({"work", "--grace", "1h", "--", "sh", "-c",
                             "trap 'echo asked > \"$0.asked\"' TERM; echo $$ > \"$0\"; "
                             "while :; do sleep 0.01; done",
                             path("pid")});
  wait_for_file("pid");
  worker.signal(SIGTERM);
  wait_for_file("pid.asked");
  const auto began = std::chrono::steady_clock::now();
  eventually([&] { return std::chrono::steady_clock::now() - began > 150ms; });  // See signals.hpp.
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 128 + SIGTERM);
  const pid_t program = number_in("pid");
  eventually([&] { return !is_alive(program); }, 60s);
}

TEST_F(Working, KillingTheWorkerKillsItsProgramsAndTheTaskRunsAgain) {
  const std::string id = enqueue("k");
  Background worker =
      start({"work", "--", "sh", "-c",
             "trap '' TERM; echo $$ > \"$0\"; while :; do sleep 0.01; done", path("pid")});
  wait_for_file("pid");
  worker.signal(SIGKILL);
  EXPECT_EQ(worker.wait().code, 128 + SIGKILL);
  const pid_t program = number_in("pid");
  eventually([&] { return !is_alive(program); }, 60s);
  EXPECT_EQ(work("echo again").code, 0);
  EXPECT_EQ(state(id), TaskState::done);
  EXPECT_EQ(task(id).result, "\"again\"");
}

TEST_F(Working, WhoKillsTheWorkerByItsNameLeavesThoseWhoCleanUp) {
  enqueue("k");
  Background worker = start_family();
  wait_for_file("pid");
  const pid_t supervisor = parent_of(number_in("pid"));
  ASSERT_EQ(parent_of(supervisor), worker.id());
  for (const pid_t each : {worker.id(), supervisor}) {
    if (names_of(each).find("handoff") != std::string::npos) ::kill(each, SIGKILL);
  }
  EXPECT_EQ(worker.wait().code, 128 + SIGKILL);
  for (const char* const each : {"pid", "pid.near", "pid.far"}) {
    EXPECT_TRUE(eventually([&] { return !is_alive(number_in(each)); }, 60s)) << each;
  }
}

// They are looked for among all processes, which come and go meanwhile.
TEST_F(Working, WhatSupervisorsLeaveIsGoneWhoeverEndsAtThatTime) {
  constexpr int tasks = 150;
  const NewTask once{.kind = "k", .max_attempts = 1};
  ASSERT_TRUE(open().enqueue(std::vector(tasks, once)));
  const Ended ended =
      work("for i in 1 2 3 4 5; do true & sh -c : & done; kill -9 $PPID; sleep 1000", {"-c", "8"});
  EXPECT_EQ(ended.code, 0) << ended.err;
  const auto dead = open().list({.state = TaskState::dead, .limit = 1000}).value().tasks;
  EXPECT_EQ(dead.size(), tasks);
  for (const Task& each : dead) EXPECT_THAT(each.reason, HasSubstr("signal 9"));
}

TEST_F(Working, WhatAProgramHasStartedIsGoneBeforeItsTaskFailsAlsoIfTheSupervisorIsKilled) {
  const std::string id = enqueue("k");
  Background worker = start_family();
  wait_for_file("pid");
  ::kill(parent_of(number_in("pid")), SIGKILL);
  eventually([&] { return !task(id).errors.empty(); }, 60s);
  for (const char* const each : {"pid", "pid.near", "pid.far"}) {
    EXPECT_FALSE(is_alive(number_in(each))) << each;
  }
  EXPECT_THAT(task(id).errors.at(0).message, HasSubstr("signal 9"));
  worker.signal(SIGTERM);
  EXPECT_EQ(worker.wait().code, 0);
}

TEST_F(Working, ACancelReachesTheProgram) {
  const std::string id = enqueue("k");
  Background worker =
      start({"work", "--", "sh", "-c", "echo $$ > \"$0\"; exec sleep 1000", path("pid")});
  wait_for_file("pid");
  ASSERT_EQ(run({"cancel", id, "--reason", "not wanted"}).code, 0);
  const pid_t program = number_in("pid");
  eventually([&] { return !is_alive(program); }, 60s);
  EXPECT_EQ(task(id).reason, "not wanted");
}

// -- Mistakes -------------------------------------------------------------------------------------

TEST_F(Working, MistakesAreNamed) {
  EXPECT_THAT(run({"work"}).err, HasSubstr("which program?"));
  EXPECT_EQ(run({"work"}).code, 2);
  EXPECT_THAT(run({"work", "-c", "0", "--", "cat"}).err, HasSubstr("--concurrency must be 1 to"));
  EXPECT_THAT(run({"work", "--", "./missing.sh"}).err,
              HasSubstr("\"./missing.sh\" cannot be executed"));
  EXPECT_EQ(run({"work", "--queue", "a b", "--", "cat"}).code, 2);
  EXPECT_EQ(run({"work", "--kind", "a b", "--", "cat"}).code, 2);
}

}  // namespace
}  // namespace handoff::tests
