// The power fails at any moment, and the disk has what was synced and some of the rest. kill -9 cannot show that: what a process has written stays in the kernel.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <random>
#include <set>
#include <string>
#include <vector>

#include "support/sanitized.hpp"
#include "tasks/power_cut_vfs.hpp"
#include "tasks/stores.hpp"

namespace handoff::tests {
namespace {

using namespace std::chrono_literals;
using namespace tasks;
using sqlite::SqliteStore;

constexpr unsigned seeds = is_sanitized ? 15 : 120;
constexpr int cuts_a_seed = 4;

// A store, what it was told, and what it has answered. Goes through some power cuts.
class Life {
 public:
  Life(unsigned seed, bool is_fast) : random_(seed * 7919 + 1), is_fast_(is_fast) {}

  void work_until_the_power_fails() {
    PowerCutVfs disk;
    disk.cut_after(1 + static_cast<std::int64_t>(random_() % 500));
    while (!disk.is_cut()) {
      try {
        SqliteStore store(options(disk.name()));
        // Sometimes it is closed, which writes everything back.
        for (auto left = random_() % 60; left > 0; --left) do_something(store, disk);
      } catch (const sqlite::Failure&) {
        ASSERT_TRUE(disk.is_cut());
      }
    }
    const std::string next = folder_.file(std::to_string(++restarts_));
    constexpr std::array<double, 5> luck{0, 0.1, 0.5, 0.9, 1};
    disk.restart_in(next,
                    {.keeps = luck[random_() % luck.size()],
                     .sector = random_() % 2 == 0 ? std::size_t{512} : std::size_t{4096}},
                    random_);
    claimed_.clear();
  }

  // What was answered is there. How many tasks, or ends of tasks, are not.
  int look_what_is_left() {
    int missing = 0;
    const PowerCutVfs disk;  // Which is not cut: its syncs cost nothing.
    {
      SqliteStore store(options(disk.name()));
      store.read([&](Transaction& transaction) {
        for (const TaskId& id : std::set(accepted_)) {
          const auto task = transaction.get(id);
          const bool was_done = done_.contains(id);
          if (!task || (was_done && task->state != TaskState::done)) {
            ++missing;
            done_.erase(id);
            if (!task) accepted_.erase(id);
          }
        }
      });
      counts_are_true();
    }
    return missing;
  }

  std::size_t accepted() const { return accepted_.size(); }
  std::size_t done() const { return done_.size(); }

 private:
  sqlite::SqliteOptions options(const std::string& vfs) const {
    const std::string here = folder_.file(std::to_string(restarts_));
    std::filesystem::create_directories(here);
    return {.path = here + "/tasks.db",
            .is_fast = is_fast_,
            .clock = &clock_,
            .database = {.vfs = vfs, .busy_for = 10s}};
  }

  void do_something(SqliteStore& store, const PowerCutVfs& disk) {
    switch (random_() % 8) {
      case 0:
      case 1:
      case 2: return insert(store);
      case 3:
      case 4: return claim(store);
      case 5:
      case 6: return finish(store);
      default: return checkpoint(disk);
    }
  }

  void insert(SqliteStore& store) {
    std::vector<NewTask> batch;
    for (auto left = 1 + random_() % 5; left > 0; --left) {
      const bool is_large = random_() % 8 == 0;
      batch.push_back(
          {.queue = "q",
           .kind = "k",
           .payload = '"' + std::string(is_large ? 9'000 : random_() % 300, 'x') + '"'});
    }
    std::vector<Enqueued> added;
    store.transact([&](Transaction& each) { added = each.insert(batch).value(); });
    for (const Enqueued& each : added) accepted_.insert(each.id);
  }

  void claim(SqliteStore& store) {
    ClaimResult result;
    store.transact([&](Transaction& each) {
      result = each.claim({.queue = "q", .most = 3, .lease_for = {}, .worker = "w"});
    });
    for (const Claimed& each : result.tasks) {
      EXPECT_FALSE(done_.contains(each.id)) << "a task that was done is run once more";
      claimed_.push_back(each);
    }
  }

  void finish(SqliteStore& store) {
    if (claimed_.empty()) return;
    const Claimed task = claimed_.back();
    claimed_.pop_back();
    const bool succeeds = random_() % 4 != 0;
    const Outcome outcome{.id = task.id,
                          .lease = task.lease,
                          .kind = succeeds ? Outcome::Kind::done : Outcome::Kind::released,
                          .text = "null"};
    Recorded recorded{};
    store.transact([&](Transaction& each) { recorded = each.finish({&outcome, 1}).front(); });
    if (recorded != Recorded::yes || !succeeds) return;
    EXPECT_TRUE(done_.insert(task.id).second) << "a task was done twice";
  }

  // By a connection of its own, as it may happen at any time.
  void checkpoint(const PowerCutVfs& disk) {
    sqlite3* connection = nullptr;
    const auto path = options("").path;
    sqlite3_open_v2(path.c_str(), &connection, SQLITE_OPEN_READWRITE, disk.name().c_str());
    sqlite3_exec(
        connection,
        random_() % 2 == 0 ? "pragma wal_checkpoint(passive)" : "pragma wal_checkpoint(truncate)",
        nullptr, nullptr, nullptr);
    sqlite3_close(connection);
  }

  // The numbers that are kept are those that can be counted, and all of the file is sound.
  void counts_are_true() const {
    sqlite::Database database(options("").path, sqlite::Database::Mode::read_only);
    sqlite::Query check(database, "pragma integrity_check");
    ASSERT_TRUE(check.next());
    EXPECT_EQ(check.text(0), "ok");
    sqlite::Query kept(database,
                       "select coalesce(sum(ready), 0), coalesce(sum(running), 0), "
                       "coalesce(sum(done), 0) from handoff_queue");
    sqlite::Query counted(database,
                          "select count(*) filter (where state = 2), count(*) filter (where state "
                          "= 3), count(*) filter (where state = 4) from handoff_task");
    ASSERT_TRUE(kept.next());
    ASSERT_TRUE(counted.next());
    for (const int state : {0, 1, 2}) EXPECT_EQ(kept.number(state), counted.number(state));
  }

  const Folder folder_;
  ManualTaskClock clock_;
  std::minstd_rand random_;
  const bool is_fast_;
  int restarts_ = 0;
  std::set<TaskId> accepted_;
  std::set<TaskId> done_;
  std::vector<Claimed> claimed_;
};

struct Totals {
  std::size_t accepted = 0;
  std::size_t done = 0;
  int missing = 0;
  int cuts = 0;
};

Totals live_through_power_cuts(bool is_fast) {
  Totals totals;
  for (unsigned seed = 0; seed < seeds && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Life life(seed, is_fast);
    for (int i = 0; i < cuts_a_seed; ++i) {
      life.work_until_the_power_fails();
      totals.missing += life.look_what_is_left();
      ++totals.cuts;
    }
    totals.accepted += life.accepted();
    totals.done += life.done();
  }
  fmt::print("{} power cuts, {} tasks accepted, {} done; missing {}\n", totals.cuts,
             totals.accepted, totals.done, totals.missing);
  return totals;
}

TEST(PowerCuts, LoseNothingThatWasAnswered) {
  const Totals totals = live_through_power_cuts(false);
  EXPECT_GT(totals.accepted, seeds);
  EXPECT_GT(totals.done, seeds);
  EXPECT_EQ(totals.missing, 0);
}

TEST(PowerCuts, LoseOnlyTheLastMomentsOfAFastStoreAndNeverDamageIt) {
  // Also shows that a missing sync would be found above.
  EXPECT_GT(live_through_power_cuts(true).missing, 0);
}

}  // namespace
}  // namespace handoff::tests
