// For self-tests: a stop that comes in the middle, however fast the machine is.
#pragma once

#include <chrono>
#include <cstddef>
#include <stop_token>

#include "handoff/stats.hpp"
#include "slow_service.hpp"

namespace example {

// Requests a stop as soon as the program's pool has begun a job and this many others wait; after a minute anyway.
inline void stop_when_busy(std::stop_source& source, std::size_t waiting) {
  using namespace std::chrono_literals;
  SlowService pause;
  for (const auto end = handoff::now() + 1min; handoff::now() < end; pause.answers_after(1ms)) {
    for (const auto& each : handoff::snapshot()) {
      if (each.kind != "WorkerPool" || each.stats.takes == 0) continue;
      if (each.stats.size >= waiting) {
        source.request_stop();
        return;
      }
    }
  }
  source.request_stop();
}

}  // namespace example
