// handoff::WorkerPool, forking and joining from inside a job.
#pragma once

#include <cstddef>
#include <handoff/pool.hpp>
#include <stdexcept>
#include <utility>

#include "contender.hpp"

namespace bench {

class HandoffForkJoin {
 public:
  explicit HandoffForkJoin(std::size_t workers)
      : pool_{{.workers = workers, .capacity = 1024, .name = "bench"}} {}

  template <typename Work>
  void run(Work work) {
    auto done = pool_.submit(std::move(work));
    if (!done || !done->get()) throw std::runtime_error("the pool refused the work");
  }

  template <typename First, typename Second>
  auto fork_join(First first, Second second) {
    return pool_.fork_join(std::move(first), std::move(second));
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::WorkerPool pool_;
};

}  // namespace bench
