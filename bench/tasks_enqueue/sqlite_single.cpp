// SQLite, a transaction for each row; threads share one connection under a lock, since several would starve each other.
#include <mutex>

#include "../support/tasks/raw_sqlite.hpp"
#include "workload.hpp"

namespace {

struct SingleRows {
  explicit SingleRows(const bench::DiskFolder& folder) : database(folder.file("tasks.db")) {}

  struct Caller {
    explicit Caller(SingleRows& whole) : all(whole) {}
    void enqueue() {
      const std::lock_guard turn{all.lock};
      all.database.insert_all(1);
    }
    SingleRows& all;
  };
  static std::string version() { return bench::RawSqlite::version(); }

  std::mutex lock;
  bench::RawSqlite database;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_enqueue<SingleRows>(argc, argv); }
