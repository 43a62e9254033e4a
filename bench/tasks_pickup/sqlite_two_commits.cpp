// The least it can take: one thread inserts a row and then claims it, each in a synced commit of its own. Nobody is woken.
#include <functional>

#include "../support/tasks/raw_sqlite.hpp"
#include "workload.hpp"

namespace {

class TwoCommits {
 public:
  TwoCommits(const bench::DiskFolder& folder, std::function<void()> begun)
      : database_(folder.file("tasks.db")), begun_(std::move(begun)) {}
  void enqueue() {
    database_.insert_all(1);
    claimed_ = database_.finish_and_claim(claimed_, 1);
    begun_();
  }
  void stop() {}
  static std::string version() { return bench::RawSqlite::version(); }

 private:
  bench::RawSqlite database_;
  std::function<void()> begun_;
  std::vector<bench::RawSqlite::Claimed> claimed_;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_pickup<TwoCommits>(argc, argv); }
