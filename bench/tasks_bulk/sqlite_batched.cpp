// SQLite, so many rows in a transaction.
#include "../support/tasks/raw_sqlite.hpp"
#include "workload.hpp"

namespace {

struct RawBulk {
  RawBulk(const bench::DiskFolder& folder, std::uint64_t size)
      : database(folder.file("tasks.db")), batch(size) {}
  void enqueue_batch() { database.insert_all(batch); }
  static std::string version() { return bench::RawSqlite::version(); }

  bench::RawSqlite database;
  const std::uint64_t batch;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_bulk<RawBulk>(argc, argv); }
