// Two coroutines on a handoff::WorkerPool of one worker, between two handoff::Semaphores; and an awaited handoff::Lazy.
#include <handoff/lazy.hpp>
#include <handoff/pool.hpp>
#include <handoff/scope.hpp>
#include <handoff/semaphore.hpp>
#include <handoff/spawn.hpp>
#include <stdexcept>
#include <utility>

#include "workload.hpp"

namespace {

handoff::Lazy<> take_half(bench::Turns& turns, int who, handoff::Semaphore& mine,
                          handoff::Semaphore& others) {
  for (std::uint64_t i = 0; i < turns.each(); ++i) {
    if (!co_await mine.async_acquire()) co_return;
    turns.take(who);
    others.release();
  }
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
    handoff::Semaphore first{{.permits = 1, .max = 2}};
    handoff::Semaphore second{{.permits = 0, .max = 2}};
    handoff::Scope scope;
    spawn_into(scope, take_half(turns, 0, first, second));
    spawn_into(scope, take_half(turns, 1, second, first));
    static_cast<void>(scope.join());
  }

  std::uint64_t call(std::uint64_t count) {
    auto sum = handoff::spawn(pool_, add_up(count));
    if (!sum) throw std::runtime_error("the pool refused a coroutine");
    return sum->get().value();
  }

  static std::string version() { return "this commit"; }

 private:
  void spawn_into(handoff::Scope& scope, handoff::Lazy<> lazy) {
    if (!scope.spawn(pool_, std::move(lazy))) {
      throw std::runtime_error("the pool refused a coroutine");
    }
  }

  handoff::WorkerPool pool_{{.workers = 1, .capacity = 16, .name = "bench"}};
};

}  // namespace

int main(int argc, char** argv) { return bench::coroutine_switch<HandoffSwitching>(argc, argv); }
