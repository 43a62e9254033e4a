// handoff::WorkerPool, bounded; jobs are posted.
#pragma once

#include <chrono>
#include <handoff/pool.hpp>
#include <stdexcept>
#include <utility>

#include "contender.hpp"

namespace bench {

class HandoffPool {
 public:
  HandoffPool(std::size_t workers, std::size_t capacity)
      : pool_{{.workers = workers, .capacity = capacity, .name = "bench"}} {}

  template <typename Job>
  void post(Job job) {
    if (!pool_.post(std::move(job))) throw std::runtime_error("the pool refused a job");
  }

  // A job never waits for room in its own pool: it is refused instead, and here it then does the work itself.
  template <typename Job>
  void spawn(Job job) {
    if (!pool_.post(job)) job();
  }

  // Jobs that run may still spawn others.
  void finish() {
    if (!pool_.shutdown(handoff::finish_within(std::chrono::seconds{30})).is_complete()) {
      throw std::runtime_error("the pool did not finish within 30 s");
    }
  }

  static std::string version() { return "this commit"; }

 protected:
  handoff::WorkerPool pool_;
};

}  // namespace bench
