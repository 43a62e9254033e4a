// handoff::WorkerPool, bounded; jobs are submitted and their futures dropped.
#pragma once

#include "handoff.hpp"

namespace bench {

struct HandoffSubmitPool : HandoffPool {
  using HandoffPool::HandoffPool;

  template <typename Job>
  void post(Job job) {
    if (!pool_.submit(std::move(job))) throw std::runtime_error("the pool refused a job");
  }
};

}  // namespace bench
