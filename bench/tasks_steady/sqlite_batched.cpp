// SQLite by hand: both threads share one connection under a lock, and a worker with nothing to do waits for the next batch.
#include <condition_variable>
#include <mutex>

#include "../support/tasks/raw_sqlite.hpp"
#include "workload.hpp"

namespace {

struct RawSteady {
  RawSteady(const bench::DiskFolder& folder, std::uint64_t size)
      : database(folder.file("tasks.db")), batch(size) {}
  void produce(std::uint64_t count) {
    for (std::uint64_t made = 0; made < count; made += batch) {
      {
        const std::lock_guard turn{lock};
        database.insert_all(batch);
        ready += batch;
      }
      has_more.notify_one();
    }
  }
  std::uint64_t consume(std::uint64_t count) {
    std::uint64_t done = 0;
    std::vector<bench::RawSqlite::Claimed> claimed;
    while (done < count || !claimed.empty()) {
      std::unique_lock turn{lock};
      has_more.wait(turn, [&] { return ready > 0 || !claimed.empty(); });
      claimed = database.finish_and_claim(claimed, batch);
      ready -= claimed.size();
      done += claimed.size();
    }
    return done;
  }
  static std::string version() { return bench::RawSqlite::version(); }

  std::mutex lock;
  std::condition_variable has_more;
  std::uint64_t ready = 0;  // Guarded by lock.
  bench::RawSqlite database;
  const std::uint64_t batch;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_steady<RawSteady>(argc, argv); }
