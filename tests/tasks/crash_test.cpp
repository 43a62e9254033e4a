// Processes that are killed at random moments, with SIGKILL: what was accepted is done in the end, and is recorded as done once.
//
// HANDOFF_CRASH_SECONDS: how long; `make crash` sets it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "handoff/tasks/worker.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

// -- What this program is when it is started with "--be" ------------------------------------------

// One write for a line: what is there is whole, also of one who was killed.
class LineLog {
 public:
  explicit LineLog(const std::string& path)
      : file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {}
  void add(const std::string& line) const {
    const std::string text = line + "\n";
    if (::write(file_, text.data(), text.size()) != std::ssize(text)) ::_exit(3);
  }

 private:
  const int file_;
};

[[noreturn]] void produce(const std::string& folder) {
  const LineLog accepted(folder + "/accepted");
  const auto tasks = tasks::open("sqlite:" + folder + "/tasks.db");
  if (!tasks) ::_exit(4);
  for (int i = 0;; ++i) {
    std::vector<NewTask> batch(static_cast<std::size_t>(1 + i % 5), {.queue = "q", .kind = "k"});
    batch.front().group = std::to_string(i % 3);
    const auto enqueued = tasks->enqueue(batch);
    if (!enqueued) continue;  // Full, or the file was locked for long.
    for (const Enqueued& each : *enqueued) accepted.add(each.id.to_string());
  }
}

[[noreturn]] void work(const std::string& folder) {
  const LineLog done(folder + "/done");
  const auto tasks = tasks::open("sqlite:" + folder + "/tasks.db");
  if (!tasks) ::_exit(4);
  auto watch = tasks->watch({.capacity = 10'000});
  const std::jthread records([&](const std::stop_token& stop) {
    while (const auto event = watch.take({.deadline = {}, .stop = stop})) {
      if (event->state == TaskState::done) done.add(event->id.to_string());
    }
  });
  Worker worker{*tasks, {.queues = {{"q", 4}}, .lease_for = 1s}};
  worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
  worker.run({});
  ::_exit(5);
}

[[gnu::constructor]] void become(int count, char** arguments, char**) {
  if (count != 4 || std::strcmp(arguments[1], "--be") != 0) return;
  const std::string role = arguments[2];
  if (role == "producer") produce(arguments[3]);
  if (role == "worker") work(arguments[3]);
}

// -- The tests ------------------------------------------------------------------------------------

class Process {
 public:
  Process(const char* role, const std::string& folder) {
    pid_ = ::fork();
    if (pid_ == 0) {
      ::execl("/proc/self/exe", "test", "--be", role, folder.c_str(), nullptr);
      ::_exit(1);
    }
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process() { kill(); }

  // The status it ended with.
  int kill() {
    if (pid_ < 0) return 0;
    ::kill(pid_, SIGKILL);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
};

std::multiset<std::string> lines_of(const std::string& path) {
  std::multiset<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

std::chrono::milliseconds campaign_time() {
  const char* const seconds = std::getenv("HANDOFF_CRASH_SECONDS");
  return seconds == nullptr ? 3s : std::chrono::seconds(std::atoi(seconds));
}

class Crashes : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string path = folder.file("");
  std::minstd_rand random{static_cast<std::uint32_t>(::getpid())};

  std::unique_ptr<Process> start(const char* role) { return std::make_unique<Process>(role, path); }
};

TEST_F(Crashes, LoseNothingAndRecordNothingTwice) {
  RecordProperty("seconds", static_cast<int>(campaign_time().count() / 1000));
  int kills = 0;
  {
    const std::vector<const char*> roles{"producer", "worker", "worker"};
    std::vector<std::unique_ptr<Process>> all;
    for (const char* const role : roles) all.push_back(start(role));
    for (const auto end = handoff::now() + campaign_time(); handoff::now() < end;) {
      // How long it lives is what is random here.
      ::usleep(static_cast<useconds_t>(random() % 120'000));
      const auto which = random() % roles.size();
      const int status = all[which]->kill();
      ASSERT_TRUE(WIFSIGNALED(status))
          << roles[which] << " ended by itself with " << WEXITSTATUS(status);
      ++kills;
      all[which] = start(roles[which]);
    }
  }
  // Nobody is left. What they had is taken back at once, as the store is opened.
  const Tasks tasks = tasks::open("sqlite:" + path + "/tasks.db").value();
  const LineLog done(path + "/done");
  auto watch = tasks.watch({.capacity = 1'000'000});
  Worker worker{tasks, {.queues = {{"q", 4}}}};
  worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
  worker.run_until_idle();
  while (const auto event = watch.poll()) {
    ASSERT_EQ(event->missed, 0u);
    if (event->state == TaskState::done) done.add(event->id.to_string());
  }

  const auto accepted = lines_of(path + "/accepted");
  int lost = 0;
  int quarantined = 0;
  for (const std::string& id : accepted) {
    const auto task = tasks.get(TaskId::parse(id).value());
    lost += !task || !is_finished(task->state) ? 1 : 0;
    // One that was in hand when its worker was killed, three times: that is what is promised.
    quarantined += task && task->state == TaskState::dead ? 1 : 0;
  }
  int twice = 0;
  const auto recorded = lines_of(path + "/done");
  for (const std::string& id : std::set<std::string>(recorded.begin(), recorded.end())) {
    twice += recorded.count(id) > 1 ? 1 : 0;
  }
  fmt::print(
      "{} kills, {} tasks accepted, {} recorded as done; lost {}, done twice {}, quarantined {}\n",
      kills, accepted.size(), recorded.size(), lost, twice, quarantined);
  EXPECT_GT(accepted.size(), 0u);
  EXPECT_GT(kills, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(twice, 0);
  EXPECT_EQ(tasks.queue("q").unfinished(), 0);
}

TEST_F(Crashes, OfAWorkerGiveItsTasksToOthersWithinItsLease) {
  const Tasks tasks = tasks::open("sqlite:" + path + "/tasks.db").value();
  std::vector<TaskId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(tasks.enqueue({.queue = "q", .kind = "k"}).value().id);
  start("worker")->kill();  // Early, or late: whatever it has is ours again.
  auto second = start("worker");
  for (const TaskId& id : ids) {
    const auto task = tasks.wait(id, 60s);
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->state, TaskState::done);
  }
}

TEST_F(Crashes, AreNotNeededForOneProcessToHearOfAnother) {
  const Tasks tasks = tasks::open("sqlite:" + path + "/tasks.db").value();
  auto worker = start("worker");
  for (int i = 0; i < 10; ++i) {
    const auto id = tasks.enqueue({.queue = "q", .kind = "k"}).value().id;
    const auto task = tasks.wait(id, 60s);
    ASSERT_TRUE(task) << task.error().message;
    EXPECT_EQ(task->state, TaskState::done);
  }
}

}  // namespace
}  // namespace handoff::tests
