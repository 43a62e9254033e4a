// For self-tests: a stop that comes in the middle, however fast the machine is.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <stop_token>

#include "handoff/stats.hpp"
#include "slow_service.hpp"

namespace example {

// Requests a stop as soon as a worker of the program's pool has taken a job, which may still wait for the pool's rate, and
// this many others wait, and `fact` is true too; after a minute anyway.
template <std::predicate Fact>
void stop_when_busy(std::stop_source& source, std::size_t waiting, Fact fact) {
  using namespace std::chrono_literals;
  SlowService pause;
  for (const auto end = handoff::now() + 1min; handoff::now() < end; pause.answers_after(1ms)) {
    for (const auto& each : handoff::snapshot()) {
      if (each.kind != "WorkerPool" || each.stats.takes == 0) continue;
      if (each.stats.size >= waiting && fact()) {
        source.request_stop();
        return;
      }
    }
  }
  source.request_stop();
}
inline void stop_when_busy(std::stop_source& source, std::size_t waiting) {
  stop_when_busy(source, waiting, [] { return true; });
}

}  // namespace example
