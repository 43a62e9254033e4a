// handoff::Scope on one handoff::WorkerPool.
#pragma once

#include <handoff/lazy.hpp>
#include <handoff/pool.hpp>
#include <handoff/scope.hpp>
#include <handoff/spawn.hpp>
#include <stdexcept>
#include <utility>

#include "../support/job_counts.hpp"

namespace bench {

inline handoff::Lazy<> count_itself() {
  JobCounts::mine().add_job();
  co_return;
}

inline void spawn_here(handoff::Scope& scope, handoff::Lazy<> lazy) {
  if (!scope.spawn(std::move(lazy))) throw std::runtime_error("the pool refused a coroutine");
}

inline handoff::Lazy<> spawn_and_join_here(std::uint64_t count) {
  handoff::Scope scope;
  for (std::uint64_t i = 0; i < count; ++i) spawn_here(scope, count_itself());
  static_cast<void>(co_await scope.async_join());
}

class HandoffCoroutines {
 public:
  explicit HandoffCoroutines(std::size_t workers)
      : pool_{{.workers = workers, .capacity = 1024, .name = "bench"}} {}

  void spawn_and_join(std::uint64_t count) { run(spawn_and_join_here(count)); }

  static std::string version() { return "this commit"; }

 protected:
  template <typename T>
  T run(handoff::Lazy<T> lazy) {
    auto future = handoff::spawn(pool_, std::move(lazy));
    if (!future) throw std::runtime_error("the pool refused a coroutine");
    return future->get().value();
  }

 private:
  handoff::WorkerPool pool_;
};

}  // namespace bench
