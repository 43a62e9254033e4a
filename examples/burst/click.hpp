// A click as the web server's threads get it, and the pace at which clicks come.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

#include "handoff/clock.hpp"
#include "options.hpp"
#include "support/slow_service.hpp"

namespace burst {

struct Click {
  handoff::TimePoint arrived;
  std::unique_ptr<std::byte[]> request;  // Headers, cookies, a session: held until it is answered.
};

// Calls `answer` with each click, evenly over the time of the burst.
template <typename Answer>
void as_they_come(const Options& options, const std::stop_token& stop, Answer answer) {
  example::SlowService network;
  const auto began = handoff::now();
  const auto whole = std::chrono::duration<double>(options.time_of_burst());
  std::uint64_t come = 0;
  while (come < options.clicks && !stop.stop_requested()) {
    const double part = std::min(1.0, (handoff::now() - began) / whole);
    const auto due = static_cast<std::uint64_t>(part * static_cast<double>(options.clicks));
    for (; come < due && !stop.stop_requested(); ++come) {
      answer(Click{.arrived = handoff::now(),
                   .request = std::make_unique<std::byte[]>(options.kibibytes * 1024)});
    }
    network.answers_after(std::chrono::milliseconds(2));
  }
}

}  // namespace burst
