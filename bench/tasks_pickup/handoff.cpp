// handoff::tasks::Worker. Also what a process costs that has a store and a worker and nothing to do.
#include <functional>

#include "../support/process_usage.hpp"
#include "../support/resident_memory.hpp"
#include "../support/tasks/handoff_store.hpp"
#include "handoff/tasks/worker.hpp"
#include "workload.hpp"

namespace {

class HandoffPickup {
 public:
  HandoffPickup(const bench::DiskFolder& folder, std::function<void()> begun)
      : tasks_(bench::open_tasks(folder)),
        worker_(tasks_, {.queues = {{"mail", 2}}, .name = "bench"}) {
    worker_.handle("welcome", [begun = std::move(begun)](const handoff::tasks::Json&,
                                                         handoff::tasks::Context&) {
      begun();
      return handoff::tasks::Finish();
    });
    thread_ = std::jthread{[this](const std::stop_token& stop) { worker_.run(stop); }};
  }
  void enqueue() {
    if (auto done = tasks_.enqueue(task_); !done) throw std::runtime_error(done.error().message);
  }
  void stop() {
    thread_.request_stop();
    thread_.join();
  }
  static std::string version() { return "this commit"; }

 private:
  const handoff::tasks::NewTask task_ = bench::new_task();
  handoff::tasks::Tasks tasks_;
  handoff::tasks::Worker worker_;
  std::jthread thread_;
};

int idle(const bench::Arguments& arguments) {
  return bench::report_errors([&] {
    const std::chrono::milliseconds duration{arguments.number("milliseconds", 2000)};
    const bench::DiskFolder folder;
    HandoffPickup contender{folder, [] {}};
    std::this_thread::sleep_for(std::chrono::milliseconds{500});  // Until it is idle.
    const auto before = bench::ProcessUsage::now();
    std::this_thread::sleep_for(duration);
    const auto used = bench::ProcessUsage::now() - before;
    const double seconds = std::chrono::duration<double>(duration).count();
    bench::JsonLine line{HandoffPickup::version()};
    line.add("idle_cpu_ms_per_s", used.cpu_seconds * 1000 / seconds);
    line.add("idle_switches_per_s", static_cast<double>(used.context_switches) / seconds);
    line.add("idle_resident_mib", static_cast<double>(bench::resident_bytes()) / (1 << 20));
    line.print();
    contender.stop();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments{argc, argv};
  if (arguments.number("idle", 2) == 1) return idle(arguments);
  return bench::tasks_pickup<HandoffPickup>(argc, argv);
}
