// Commands about tasks that are there: ls, show, watch, explain, retry, cancel, dead.
#include <fmt/format.h>
#include <signal.h>

#include "cli/program.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::eventually;

class TaskCommands : public CliTest {};

// -- ls and show ----------------------------------------------------------------------------------

TEST_F(TaskCommands, LsHasATableOfTheNewest) {
  const std::string first = enqueue("k", {R"({"a":1})"});
  const std::string second = enqueue("other", {"--queue", "q", "--delay", "1h"});
  const Ended ended = run({"ls"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, HasSubstr("ID "));
  EXPECT_LT(ended.out.find(second), ended.out.find(first));
  EXPECT_THAT(ended.out, HasSubstr("scheduled"));
}

TEST_F(TaskCommands, LsFilters) {
  const std::string id = enqueue("k", {"--queue", "q", "--group", "g"});
  enqueue("other");
  for (const std::vector<std::string>& filter : std::vector<std::vector<std::string>>{
           {"--queue", "q"}, {"--kind", "k"}, {"--group", "g"}, {"-q", "q", "--state", "ready"}}) {
    std::vector<std::string> arguments{"ls", "--json"};
    arguments.insert(arguments.end(), filter.begin(), filter.end());
    const auto lines = json_lines(run(arguments).out);
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(text_at(lines[0], "id"), id);
  }
  const Ended none = run({"ls", "--state", "dead"});
  EXPECT_EQ(none.code, 0);
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(run({"ls", "--state", "ded"}).err, HasSubstr("did you mean \"dead\"?"));
  EXPECT_EQ(run({"ls", "--limit", "0"}).code, 2);
}

TEST_F(TaskCommands, LsGoesOnWhereItEnded) {
  for (int i = 0; i < 3; ++i) enqueue("k");
  const Ended first = run({"ls", "--json", "--limit", "2"});
  EXPECT_EQ(json_lines(first.out).size(), 2u);
  const auto at = first.err.find("--cursor ");
  ASSERT_NE(at, std::string::npos);
  const std::string cursor = first.err.substr(at + 9, first.err.find(' ', at + 9) - at - 9);
  const Ended second = run({"ls", "--json", "--limit", "2", "--cursor", cursor});
  EXPECT_EQ(json_lines(second.out).size(), 1u);
  EXPECT_THAT(second.err, Not(HasSubstr("--cursor")));
}

TEST_F(TaskCommands, ShowHasAllOfIt) {
  const std::string id = enqueue("k", {R"({"a": 1})", "--group", "g", "--unique-key", "u"});
  work("echo something broke >&2; exit 7");
  const std::string out = run({"show", id}).out;
  for (const std::string part : {id.c_str(), "default", "scheduled", "1 of 20", "{\"a\":1}", "g",
                                 "u", "something broke", "exited with code 7"}) {
    EXPECT_THAT(out, HasSubstr(part));
  }
  const auto json = json_of(run({"show", id, "--json"}).out);
  EXPECT_EQ(text_at(json, "state"), "scheduled");
  EXPECT_EQ(json.root().member("errors")->size(), 1u);
  EXPECT_EQ(json.root().member("log")->size(), 1u);
  EXPECT_EQ(text_at(json, "group"), "g");
}

// -- watch ----------------------------------------------------------------------------------------

TEST_F(TaskCommands, WatchFollowsATaskToItsEnd) {
  const std::string id = enqueue("k");
  Background watcher = start({"watch", id});
  eventually([&] { return watcher.err().find("ready") != std::string::npos; }, 60s);
  work("echo 5");
  const Ended ended = watcher.wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, "5\n");
}

TEST_F(TaskCommands, WatchFailsWithItsTask) {
  const std::string id = enqueue("k", {"--max-attempts", "1"});
  work("exit 1");
  EXPECT_EQ(run({"watch", id}).code, 1);
  const Ended json = run({"watch", id, "--json"});
  EXPECT_EQ(json.code, 1);
  EXPECT_EQ(text_at(json_lines(json.out).back(), "state"), "dead");
}

// -- explain --------------------------------------------------------------------------------------

TEST_F(TaskCommands, ExplainSaysWhyItIsNotRunning) {
  const std::string id = enqueue("k");
  EXPECT_THAT(run({"explain", id}).out, HasSubstr("no_worker"));
  const auto json = json_of(run({"explain", id, "--json"}).out);
  EXPECT_EQ(text_at(json, "code"), "no_worker");
  run({"pause", "default"});
  EXPECT_THAT(run({"explain", id}).out, HasSubstr("paused"));
}

// -- retry, cancel, dead --------------------------------------------------------------------------

TEST_F(TaskCommands, CancelAndRetryChangeThoseThatCanBe) {
  const std::string one = enqueue("k");
  const std::string two = enqueue("k");
  Ended ended = run({"cancel", one, two, "--reason", "why not"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, one + "\n" + two + "\n");
  EXPECT_EQ(task(one).reason, "why not");
  ended = run({"cancel", one});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr(one));
  ended = run({"retry", one, "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c", two, "--json"});
  EXPECT_EQ(ended.code, 3);
  ASSERT_EQ(json_lines(ended.out).size(), 2u);
  EXPECT_EQ(text_at(json_lines(ended.out)[0], "was"), "cancelled");
  EXPECT_EQ(task(two).state, TaskState::ready);
}

TEST_F(TaskCommands, AllThatAFilterMeansCanBeChanged) {
  for (int i = 0; i < 3; ++i) enqueue("a", {"--queue", "q", "--max-attempts", "1"});
  enqueue("b", {"--queue", "q", "--delay", "1h"});
  work("exit 1", {"--queue", "q"});
  EXPECT_EQ(run({"retry", "--all", "--queue", "q", "--dry-run"}).out, "3\n");
  EXPECT_EQ(run({"dead"}).code, 0);
  EXPECT_EQ(run({"retry", "--all", "--queue", "q", "--kind", "a"}).out, "3\n");
  EXPECT_EQ(text_at(json_of(run({"cancel", "--all", "--queue", "q", "--json"}).out), "count"), "4");
  EXPECT_EQ(run({"cancel", "--all", "--yes"}).out, "0\n");
}

TEST_F(TaskCommands, CancellingThoseOfAllQueuesAsksOrNeedsYes) {
  enqueue("k", {"--queue", "one"});
  enqueue("k", {"--queue", "two"});
  const Ended unsure = run({"cancel", "--all"});
  EXPECT_EQ(unsure.code, 2);
  EXPECT_THAT(unsure.err, HasSubstr("--yes"));
  EXPECT_EQ(run({"cancel", "--all", "--state", "ready"}).code, 2);
  EXPECT_EQ(run({"cancel", "--all", "--dry-run"}).out, "2\n");
  EXPECT_EQ(run({"cancel", "--all", "--queue", "one"}).out, "1\n");
  EXPECT_EQ(run({"cancel", "--all", "-y"}).out, "1\n");
}

TEST_F(TaskCommands, ChangesWantToKnowWhich) {
  enqueue("k");
  EXPECT_EQ(run({"cancel"}).code, 2);
  EXPECT_THAT(run({"retry"}).err, HasSubstr("which tasks?"));
  EXPECT_THAT(run({"cancel", "--queue", "q"}).err, HasSubstr("--all"));
  EXPECT_THAT(run({"cancel", "--all", "018fe1a2-6c10-7a3b-9c1d-0f2e4d5a6b7c"}).err,
              HasSubstr("not both"));
}

TEST_F(TaskCommands, DeadOnesAreCountedByTheirReason) {
  EXPECT_EQ(run({"dead", "--store", store}).code, 4);
  for (int i = 0; i < 2; ++i) enqueue("k", {"--max-attempts", "1"});
  work("echo no disk >&2; exit 1");
  EXPECT_THAT(run({"dead"}).out, HasSubstr("no disk"));
  const auto lines = json_lines(run({"dead", "--json", "--queue", "default"}).out);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(text_at(lines[0], "count"), "2");
}

}  // namespace
}  // namespace handoff::tests
