// Processes that are killed at random moments, with SIGKILL: what was accepted has an end, and is recorded as done once.
//
// HANDOFF_CRASH_SECONDS: how long; `make crash` sets it.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "handoff/tasks/worker.hpp"
#include "handoff/testing/eventually.hpp"
#include "tasks/processes.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;

// -- The processes --------------------------------------------------------------------------------

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

const Role producer_role("producer", [](const std::string& folder) {
  const LineLog accepted(folder + "/accepted");
  const Tasks tasks = tasks::open("sqlite:" + folder + "/tasks.db").value();
  for (int i = 0;; ++i) {
    std::vector<NewTask> batch(static_cast<std::size_t>(1 + i % 5), {.queue = "q", .kind = "k"});
    batch.front().group = std::to_string(i % 3);
    if (i % 7 == 0) batch.back().delay = 20ms;
    const auto enqueued = tasks.enqueue(batch);
    if (!enqueued) continue;  // Full, or the file was locked for long.
    for (const Enqueued& each : *enqueued) accepted.add(each.id.to_string());
  }
});

const Role worker_role("worker", [](const std::string& folder) {
  const Tasks tasks = tasks::open("sqlite:" + folder + "/tasks.db").value();
  Worker worker{tasks, {.queues = {{"q", 4}}, .lease_for = 1s}};
  worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
  worker.run({});
});

// -- The tests ------------------------------------------------------------------------------------

std::chrono::seconds campaign_time() {
  const char* const seconds = std::getenv("HANDOFF_CRASH_SECONDS");
  return seconds == nullptr ? 3s : std::chrono::seconds(std::atoi(seconds));
}

// Each end of a task, as the file itself saw it: in the transaction that made it.
struct Ends {
  int done = 0;
  int dead = 0;
};

class Crashes : public ::testing::Test {
 protected:
  const Folder folder;
  const std::string path = folder.file("");
  const std::string file = path + "/tasks.db";
  const std::uint32_t seed = static_cast<std::uint32_t>(::getpid());
  std::minstd_rand random{seed};

  std::unique_ptr<Process> start(const char* role) { return std::make_unique<Process>(role, path); }

  void make_store() const {
    const Tasks tasks = tasks::open("sqlite:" + file).value();
    QueueSettings settings;
    settings.capacity = 1000;
    settings.when_full = WhenFull::block;
    settings.block_for = 1s;
    ASSERT_TRUE(tasks.configure("q", settings));
    sqlite::Database database(file, sqlite::Database::Mode::read_write);
    database.run(
        "create table ends(id blob, state integer);"
        "create trigger note_end after update of state on handoff_task when new.state >= 4 and "
        "old.state < 4 begin insert into ends values(new.id, new.state); end;");
  }

  std::unordered_map<TaskId, Ends> ends() const {
    std::unordered_map<TaskId, Ends> all;
    sqlite::Database database(file, sqlite::Database::Mode::read_only);
    sqlite::Query query(database, "select id, state from ends");
    while (query.next()) {
      Ends& each = all[query.id(0)];
      ++(static_cast<TaskState>(query.number(1)) == TaskState::done ? each.done : each.dead);
    }
    return all;
  }

  // Kills one of them after the other, and starts it again. Returns how many.
  int kill_at_random(const std::vector<const char*>& roles) {
    int kills = 0;
    std::vector<std::unique_ptr<Process>> all;
    for (const char* const role : roles) all.push_back(start(role));
    const auto begin = handoff::now();
    auto next_report = begin + 10s;
    while (handoff::now() < begin + campaign_time()) {
      const auto which = random() % roles.size();
      // How long it lives is what is random here.
      const bool lives = all[which]->lives_for(std::chrono::milliseconds(random() % 120));
      EXPECT_TRUE(lives) << roles[which] << " ended by itself";
      if (!lives) break;
      all[which]->kill();
      ++kills;
      all[which] = start(roles[which]);
      if (handoff::now() >= next_report) {
        next_report += 10s;
        fmt::print("{} s: {} kills, {} ends of tasks\n",
                   std::chrono::duration_cast<std::chrono::seconds>(handoff::now() - begin).count(),
                   kills, ends().size());
        std::fflush(stdout);
      }
    }
    return kills;
  }

  // Nobody is left. What they had is taken back at once, as the store is opened.
  void finish_the_rest() const {
    const Tasks tasks = tasks::open("sqlite:" + file).value();
    Worker worker{tasks, {.queues = {{"q", 4}}}};
    worker.handle("k", [](const Json&, Context&) -> Finish { return {}; });
    std::stop_source stop;
    std::jthread running([&] { worker.run(stop.get_token()); });
    testing::eventually([&] { return tasks.queue("q").unfinished() == 0; }, 60s);
    stop.request_stop();
  }
};

TEST_F(Crashes, LoseNothingAndRecordNothingTwice) {
  make_store();
  const int kills = kill_at_random({"producer", "producer", "worker", "worker", "worker"});
  finish_the_rest();

  const auto ended = ends();
  int accepted = 0;
  int lost = 0;
  std::ifstream lines(path + "/accepted");
  for (std::string line; std::getline(lines, line); ++accepted) {
    lost += ended.contains(TaskId::parse(line).value()) ? 0 : 1;
  }
  int done = 0;
  int twice = 0;
  int quarantined =
      0;  // In hand when its worker was killed, three times: that is what is promised.
  for (const auto& [id, each] : ended) {
    done += each.done > 0 ? 1 : 0;
    quarantined += each.dead;
    twice += each.done + each.dead > 1 ? 1 : 0;
  }
  fmt::print("{} kills, {} tasks accepted, {} done, {} quarantined; lost {}, completed twice {}\n",
             kills, accepted, done, quarantined, lost, twice);
  EXPECT_GT(accepted, 0);
  EXPECT_GT(done, 0);
  EXPECT_GT(kills, 0);
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(twice, 0);
}

TEST_F(Crashes, OfAWorkerGiveItsTasksToOthersWithinItsLease) {
  const Tasks tasks = tasks::open("sqlite:" + file).value();
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

}  // namespace
}  // namespace handoff::tests
