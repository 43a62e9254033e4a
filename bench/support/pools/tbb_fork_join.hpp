// The two ways of oneTBB to fork and join inside an arena.
#pragma once

#include <oneapi/tbb/parallel_invoke.h>

#include <cstdint>

#include "tbb.hpp"

namespace bench {

class TbbForkJoin {
 public:
  explicit TbbForkJoin(std::size_t workers) : workers_{workers} {}

  template <typename Work>
  void run(Work work) {
    workers_.arena().execute(work);  // The caller becomes one of the arena's workers.
  }

  static std::string version() { return TBB_VERSION_STRING; }

 private:
  TbbWorkers workers_;
};

struct TbbTaskGroup : TbbForkJoin {
  using TbbForkJoin::TbbForkJoin;

  template <typename Forked, typename Kept>
  std::pair<std::uint64_t, std::uint64_t> fork_join(Forked forked, Kept kept) {
    std::pair<std::uint64_t, std::uint64_t> results;
    oneapi::tbb::task_group group;
    group.run([&] { results.first = forked(); });
    results.second = kept();
    group.wait();
    return results;
  }
};

struct TbbParallelInvoke : TbbForkJoin {
  using TbbForkJoin::TbbForkJoin;

  template <typename Forked, typename Kept>
  std::pair<std::uint64_t, std::uint64_t> fork_join(Forked forked, Kept kept) {
    std::pair<std::uint64_t, std::uint64_t> results;
    oneapi::tbb::parallel_invoke([&] { results.first = forked(); },
                                 [&] { results.second = kept(); });
    return results;
  }
};

}  // namespace bench
