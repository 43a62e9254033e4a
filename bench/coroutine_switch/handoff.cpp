// Two coroutines that yield on a handoff::WorkerPool of one worker; and an awaited handoff::Lazy.
#include <handoff/lazy.hpp>
#include <handoff/pool.hpp>
#include <handoff/scope.hpp>
#include <handoff/spawn.hpp>
#include <stdexcept>
#include <utility>

#include "workload.hpp"

namespace {

handoff::Lazy<> take_half(bench::Turns& turns, int who) {
  for (std::uint64_t i = 0; i < turns.each(); ++i) {
    turns.take(who);
    co_await handoff::yield();
  }
}

// On the worker, so that neither begins before both are there.
handoff::Lazy<> take_all(bench::Turns& turns) {
  handoff::Scope scope;
  for (const int who : {0, 1}) {
    if (!scope.spawn(take_half(turns, who))) {
      throw std::runtime_error("the pool refused a coroutine");
    }
  }
  static_cast<void>(co_await scope.async_join());
}

handoff::Lazy<std::uint64_t> give(std::uint64_t number) { co_return number; }

handoff::Lazy<std::uint64_t> add_up(std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t number = 1; number <= count; ++number) sum += co_await give(number);
  co_return sum;
}

class HandoffSwitching {
 public:
  void take_turns(bench::Turns& turns) {
    auto all = handoff::spawn(pool_, take_all(turns));
    if (!all) throw std::runtime_error("the pool refused a coroutine");
    static_cast<void>(all->get());
  }

  std::uint64_t call(std::uint64_t count) {
    auto sum = handoff::spawn(pool_, add_up(count));
    if (!sum) throw std::runtime_error("the pool refused a coroutine");
    return sum->get().value();
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::WorkerPool pool_{{.workers = 1, .capacity = 16, .name = "bench"}};
};

}  // namespace

int main(int argc, char** argv) { return bench::coroutine_switch<HandoffSwitching>(argc, argv); }
