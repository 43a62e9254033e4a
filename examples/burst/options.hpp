// What burst can be told.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "handoff/clock.hpp"

namespace burst {

struct Options {
  std::uint64_t clicks = 50'000;   // How many come.
  double seconds = 0.5;            // How long they take to come.
  std::uint64_t capacity = 1'000;  // How many may wait.
  std::uint64_t workers = 8;
  std::uint64_t rate = 100;     // How many all workers together do in a second.
  std::uint64_t kibibytes = 4;  // What a click holds in memory while it waits.
  std::uint64_t mebibytes =
      256;               // What the queue without a limit may hold, for the machine's sake.
  double patience = 13;  // Seconds after which what still waits is handed back.

  handoff::Duration time_of_burst() const {
    return std::chrono::duration_cast<handoff::Duration>(std::chrono::duration<double>(seconds));
  }
  handoff::Duration time_per_click() const {
    return handoff::Duration(std::chrono::seconds(1)) * static_cast<std::int64_t>(workers) /
           static_cast<std::int64_t>(rate);
  }
};

}  // namespace burst
