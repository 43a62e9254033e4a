// A handoff::tasks::Worker and two threads that run its handlers. It has two batches in hand: one that is run and one that is recorded, so that about `batch` are in each commit.
#pragma once

#include <atomic>
#include <cstdint>

#include "handoff/pool.hpp"
#include "handoff/tasks/worker.hpp"

namespace bench {

class HandoffWorker {
 public:
  HandoffWorker(const handoff::tasks::Tasks& tasks, std::uint64_t batch)
      : pool_{{.workers = 2, .capacity = 2 * batch, .name = "bench"}},
        worker_{tasks,
                {.queues = {{"mail", static_cast<int>(2 * batch)}},
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
