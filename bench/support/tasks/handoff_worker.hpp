// A handoff::tasks::Worker with `batch` tasks in hand at a time, and two threads that run their handlers.
#pragma once

#include <atomic>
#include <cstdint>

#include "handoff/pool.hpp"
#include "handoff/tasks/worker.hpp"

namespace bench {

class HandoffWorker {
 public:
  HandoffWorker(const handoff::tasks::Tasks& tasks, std::uint64_t batch)
      : pool_{{.workers = 2, .capacity = batch, .name = "bench"}},
        worker_{tasks,
                {.queues = {{"mail", static_cast<int>(batch)}},
                 .name = "bench",
                 .lease_for = {},
                 .pool = &pool_}} {
    worker_.handle("welcome", [this](const handoff::tasks::Json&, handoff::tasks::Context&) {
      handled_.fetch_add(1, std::memory_order_relaxed);
      return handoff::tasks::Finish();
    });
  }

  handoff::tasks::Worker& worker() { return worker_; }
  std::uint64_t handled() const { return handled_.load(); }

 private:
  std::atomic<std::uint64_t> handled_ = 0;
  handoff::WorkerPool pool_;
  handoff::tasks::Worker worker_;
};

}  // namespace bench
