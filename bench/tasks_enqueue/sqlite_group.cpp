// SQLite with group commit by hand: who finds nobody at it inserts the rows of all who wait, and wakes them.
#include <condition_variable>
#include <mutex>

#include "../support/tasks/raw_sqlite.hpp"
#include "workload.hpp"

namespace {

struct GroupCommit {
  explicit GroupCommit(const bench::DiskFolder& folder) : database(folder.file("tasks.db")) {}

  struct Caller {
    explicit Caller(GroupCommit& whole) : all(whole) {}
    void enqueue() { all.enqueue(); }
    GroupCommit& all;
  };
  static std::string version() { return bench::RawSqlite::version(); }

  void enqueue() {
    std::unique_lock turn{lock};
    const std::uint64_t mine = ++asked;
    committed_more.wait(turn, [&] { return committed >= mine || !has_leader; });
    if (committed >= mine) return;
    has_leader = true;
    const std::uint64_t all = asked;
    const std::uint64_t count = all - committed;
    turn.unlock();
    database.insert_all(count);
    turn.lock();
    committed = all;
    has_leader = false;
    turn.unlock();
    committed_more.notify_all();
  }

  std::mutex lock;
  std::condition_variable committed_more;
  std::uint64_t asked = 0;
  std::uint64_t committed = 0;
  bool has_leader = false;
  bench::RawSqlite database;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_enqueue<GroupCommit>(argc, argv); }
