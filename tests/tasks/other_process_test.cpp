// Several processes with one file: they open it at once, hear of each other, take over from those that die, and cost nothing while nothing happens.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <thread>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "support/sanitized.hpp"
#include "tasks/processes.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

// Opens the file when it is told to, and hands in a task.
const Role opener_role("opener", [](const std::string& path) {
  say("here");
  listen();
  const auto tasks = tasks::open("sqlite:" + path);
  if (!tasks) return say(tasks.error().message);
  const auto task = tasks->enqueue({.queue = "q", .kind = "k"});
  say(task ? "open" : task.error().message);
  listen();
});

// Takes a task and never ends it.
const Role holder_role("holder", [](const std::string& path) {
  const Tasks tasks = tasks::open("sqlite:" + path).value();
  Worker worker{tasks, {.queues = {{"q", 1}}, .lease_for = 1h}};
  worker.handle("k", [](const Json&, Context& context) -> Finish {
    say(context.id().to_string());
    Event never;
    static_cast<void>(never.wait());
    return {};
  });
  worker.run({});
});

// Ends them at once.
const Role quick_worker_role("quick worker", [](const std::string& path) {
  const Tasks tasks = tasks::open("sqlite:" + path, {.fast = true}).value();
  Worker worker{tasks, {.queues = {{"q", 4}}}};
  worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
  std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
  say("here");
  listen();
});

class OtherProcesses : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string path = folder.file("tasks.db");

  Tasks open() const { return tasks::open("sqlite:" + path).value(); }
};

TEST_F(OtherProcesses, MayAllOpenANewFileAtOnce) {
  constexpr int rounds = is_sanitized ? 2 : 10;
  for (int round = 0; round < rounds; ++round) {
    const std::string file = path + std::to_string(round);
    std::vector<std::unique_ptr<Process>> all;
    for (int i = 0; i < 8; ++i) all.push_back(std::make_unique<Process>("opener", file));
    for (const auto& each : all) ASSERT_EQ(each->hear(), "here");
    for (const auto& each : all) each->tell("go");
    for (const auto& each : all) EXPECT_EQ(each->hear(), "open");
    EXPECT_EQ(tasks::open("sqlite:" + file)->queue("q").count(TaskState::ready), 8);
  }
}

TEST_F(OtherProcesses, HearOfATaskWithinMilliseconds) {
  // Nobody syncs: how long that takes is the disk's affair.
  const Tasks tasks = tasks::open("sqlite:" + path, {.fast = true}).value();
  Process worker("quick worker", path);
  ASSERT_EQ(worker.hear(), "here");
  auto fastest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 20; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const auto id = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
    const auto task = tasks.wait(id, 60s);
    ASSERT_TRUE(task) << task.error().message;
    fastest = std::min(fastest, std::chrono::steady_clock::now() - began);
  }
  // There and back. On a machine that is busy some take longer.
  EXPECT_LT(fastest, is_sanitized ? 200ms : 50ms);
}

TEST_F(OtherProcesses, TakeOverFromOneThatIsKilledLongBeforeItsLeaseEnds) {
  const Tasks tasks = open();
  auto holder = std::make_unique<Process>("holder", path);
  const auto id = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
  ASSERT_EQ(holder->hear(), id.to_string());
  ASSERT_EQ(tasks.get(id)->state, TaskState::running);

  Worker worker{tasks, {.queues = {{"q", 1}}}};
  worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
  std::jthread running([&](const std::stop_token& stop) { worker.run(stop); });
  const auto other = tasks.enqueue({.queue = "q", .kind = "other"}).value().id;
  testing::eventually([&] { return tasks.get(other)->attempt == 1; }, 60s);
  EXPECT_EQ(tasks.get(id)->state, TaskState::running);  // As long as it lives.
  holder->kill();
  const auto task = tasks.wait(id, 60s);
  ASSERT_TRUE(task) << task.error().message;
  EXPECT_EQ(task->state, TaskState::done);
  EXPECT_EQ(task->crashes, 1);
}

TEST_F(OtherProcesses, KeepTheirOwnTasksWhenAnotherIsKilled) {
  const Tasks tasks = open();
  Process first("holder", path);
  const auto kept = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
  ASSERT_EQ(first.hear(), kept.to_string());
  Process second("holder", path);
  const auto left = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
  ASSERT_EQ(second.hear(), left.to_string());
  second.kill();
  testing::eventually([&] { return tasks.get(left)->state == TaskState::ready; }, 60s);
  EXPECT_EQ(tasks.get(left)->crashes, 1);
  EXPECT_EQ(tasks.get(kept)->state, TaskState::running);
  EXPECT_EQ(tasks.get(kept)->crashes, 0);
}

// How often the threads of a process have gone to sleep: who does nothing has not.
long sleeps_of(const Process& process) {
  long all = 0;
  const auto tasks = fmt::format("/proc/{}/task", process.id());
  for (const auto& each : std::filesystem::directory_iterator(tasks)) {
    std::ifstream status(each.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("voluntary_ctxt_switches:")) {
        all += std::stol(line.substr(line.find(':') + 1));
      }
    }
  }
  return all;
}

TEST_F(OtherProcesses, DoNotWakeEachOtherForNothing) {
  Process first("quick worker", path);
  Process second("quick worker", path);
  ASSERT_EQ(first.hear(), "here");
  ASSERT_EQ(second.hear(), "here");
  {
    const Tasks tasks = open();
    const auto id = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
    ASSERT_TRUE(tasks.wait(id, 60s));
  }
  // ThreadSanitizer has a thread that wakes ten times a second.
  constexpr long allowed = is_sanitized ? 30 : 0;
  const auto sleeps_in_a_second = [&] {
    const long before = sleeps_of(first) + sleeps_of(second);
    EXPECT_TRUE(first.lives_for(1s));
    return sleeps_of(first) + sleeps_of(second) - before;
  };
  // Who sets the clock wakes everybody, rightly: a second in which that happens tells nothing.
  const auto is_quiet = [&] {
    const auto ahead = [] {
      return std::chrono::system_clock::now().time_since_epoch() -
             std::chrono::steady_clock::now().time_since_epoch();
    };
    const auto before = ahead();
    const long sleeps = sleeps_in_a_second();
    const bool was_set = std::chrono::abs(ahead() - before) > 50ms;
    return !was_set && sleeps <= allowed;
  };
  EXPECT_TRUE(testing::eventually(is_quiet, 30s));
}

}  // namespace
}  // namespace handoff::tests
