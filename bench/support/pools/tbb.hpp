// oneTBB: a task_arena of worker threads, a task_group to wait for its jobs. It has no bound.
#pragma once

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>
#include <oneapi/tbb/version.h>

#include <utility>

#include "contender.hpp"

namespace bench {

// An arena in which only TBB's own threads work, as many as asked for: TBB counts the main thread as one more.
class TbbWorkers {
 public:
  explicit TbbWorkers(std::size_t workers)
      : limit_{oneapi::tbb::global_control::max_allowed_parallelism, workers + 1},
        arena_{static_cast<int>(workers), /*reserved_for_masters=*/0} {
    arena_.initialize();
  }

  oneapi::tbb::task_arena& arena() { return arena_; }

 private:
  oneapi::tbb::global_control limit_;
  oneapi::tbb::task_arena arena_;
};

class TbbPool {
 public:
  TbbPool(std::size_t workers, std::size_t /*capacity*/) : workers_{workers} {}
  ~TbbPool() noexcept = default;  // A task_group's may throw, but only if nobody has waited for it.

  template <typename Job>
  void post(Job job) {
    workers_.arena().enqueue(group_.defer(std::move(job)));
  }

  template <typename Job>
  void spawn(Job job) {
    group_.run(std::move(job));
  }

  void finish() {
    workers_.arena().execute([this] { group_.wait(); });
  }

  static std::string version() { return TBB_VERSION_STRING; }

 private:
  TbbWorkers workers_;
  oneapi::tbb::task_group group_;
};

}  // namespace bench
