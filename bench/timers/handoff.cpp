// handoff::WorkerPool: after and cancel.
#include <handoff/pool.hpp>
#include <utility>

#include "../support/job_counts.hpp"
#include "workload.hpp"

namespace {

class HandoffTimers {
 public:
  HandoffTimers(std::size_t workers, std::size_t count)
      : pool_{{.workers = workers, .capacity = 1024, .name = "bench"}} {
    timers_.reserve(count);
  }

  void arm(std::chrono::milliseconds due) {
    auto timer = pool_.after(due, [] { bench::JobCounts::mine().add_job(); });
    if (!timer) throw std::runtime_error("the pool refused a timer");
    timers_.push_back(std::move(*timer));
  }

  bool cancel(std::size_t index) { return timers_[index].cancel(); }

  std::uint64_t finish() {
    pool_.shutdown(handoff::finish_within(std::chrono::seconds{30}));
    return bench::JobCounts::total().jobs;
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::WorkerPool pool_;
  std::vector<handoff::Timer> timers_;
};

}  // namespace

int main(int argc, char** argv) { return bench::timers<HandoffTimers>(argc, argv); }
