// handoff::tasks::Tasks::enqueue, of many.
#include "../support/tasks/handoff_store.hpp"
#include "workload.hpp"

namespace {

struct HandoffBulk {
  HandoffBulk(const bench::DiskFolder& folder, std::uint64_t size)
      : tasks(bench::open_tasks(folder)), all(size, bench::new_task()) {}
  void enqueue_batch() { bench::enqueue_all(tasks, all); }
  static std::string version() { return "this commit"; }

  handoff::tasks::Tasks tasks;
  const std::vector<handoff::tasks::NewTask> all;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_bulk<HandoffBulk>(argc, argv); }
