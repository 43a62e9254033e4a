// handoff::tasks::Tasks::enqueue.
#include "../support/tasks/handoff_store.hpp"
#include "workload.hpp"

namespace {

struct HandoffEnqueue {
  explicit HandoffEnqueue(const bench::DiskFolder& folder) : tasks(bench::open_tasks(folder)) {}

  struct Caller {
    explicit Caller(HandoffEnqueue& all) : tasks(all.tasks) {}
    void enqueue() {
      if (auto done = tasks.enqueue(task); !done) throw std::runtime_error(done.error().message);
    }
    handoff::tasks::Tasks tasks;
    const handoff::tasks::NewTask task = bench::new_task();
  };
  static std::string version() { return "this commit"; }

  handoff::tasks::Tasks tasks;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_enqueue<HandoffEnqueue>(argc, argv); }
