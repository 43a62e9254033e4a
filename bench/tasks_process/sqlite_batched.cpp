// SQLite by hand: a batch is finished and the next claimed in one transaction.
#include "../support/tasks/raw_sqlite.hpp"
#include "workload.hpp"

namespace {

struct RawProcess {
  RawProcess(const bench::DiskFolder& folder, std::uint64_t size)
      : database(folder.file("tasks.db")), batch(size) {}
  void fill(std::uint64_t count) {
    for (std::uint64_t left = count; left > 0;) {
      const std::uint64_t some = left < 1000 ? left : 1000;
      database.insert_all(some);
      left -= some;
    }
  }
  std::uint64_t process(std::uint64_t) {
    std::uint64_t done = 0;
    std::vector<bench::RawSqlite::Claimed> claimed;
    do {
      claimed = database.finish_and_claim(claimed, batch);
      done += claimed.size();
    } while (!claimed.empty());
    return done;
  }
  static std::string version() { return bench::RawSqlite::version(); }

  bench::RawSqlite database;
  const std::uint64_t batch;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_process<RawProcess>(argc, argv); }
