// handoff::tasks::Worker.
#include "../support/tasks/handoff_store.hpp"
#include "../support/tasks/handoff_worker.hpp"
#include "workload.hpp"

namespace {

struct WorkerProcess {
  WorkerProcess(const bench::DiskFolder& folder, std::uint64_t size)
      : tasks(bench::open_tasks(folder)), worker(tasks, size) {}
  void fill(std::uint64_t count) { bench::fill(tasks, count); }
  std::uint64_t process(std::uint64_t) { return worker.worker().run_until_idle().done; }
  static std::string version() { return "this commit"; }

  handoff::tasks::Tasks tasks;
  bench::HandoffWorker worker;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_process<WorkerProcess>(argc, argv); }
