// handoff::tasks: bulk enqueue and a Worker, on one store.
#include <chrono>
#include <thread>

#include "../support/tasks/handoff_store.hpp"
#include "../support/tasks/handoff_worker.hpp"
#include "workload.hpp"

namespace {

struct HandoffSteady {
  HandoffSteady(const bench::DiskFolder& folder, std::uint64_t size)
      : tasks(bench::open_tasks(folder)), worker(tasks, size), all(size, bench::new_task()) {}
  void produce(std::uint64_t count) {
    for (std::uint64_t made = 0; made < count; made += all.size()) bench::enqueue_all(tasks, all);
  }
  // All are done once that is committed: looked for a thousand times a second.
  std::uint64_t consume(std::uint64_t count) {
    std::stop_source stop;
    std::jthread ends{[&] {
      const auto all_done = static_cast<std::int64_t>(count);
      while (tasks.queue("mail").count(handoff::tasks::TaskState::done) < all_done) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      stop.request_stop();
    }};
    const std::uint64_t done = worker.worker().run(stop.get_token()).done;
    ends.join();
    return done;
  }
  static std::string version() { return "this commit"; }

  handoff::tasks::Tasks tasks;
  bench::HandoffWorker worker;
  const std::vector<handoff::tasks::NewTask> all;
};

}  // namespace

int main(int argc, char** argv) { return bench::tasks_steady<HandoffSteady>(argc, argv); }
