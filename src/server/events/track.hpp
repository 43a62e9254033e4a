// What has happened in each of the last 900 seconds: of one queue, or of all.
//
// Seconds in which nothing came are filled in when somebody counts or looks: nobody has to wake up for them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "handoff/tasks/state.hpp"
#include "server/events/durations.hpp"

namespace handoff::server {

struct QueueTotals {
  std::uint64_t in = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;    // Attempts.
  std::uint64_t rejected = 0;  // There was no room.
};

using StateCounts = std::array<std::int64_t, tasks::task_states>;

struct Moment {
  static constexpr std::uint8_t no_waits = 255;

  std::uint32_t in = 0;
  std::uint32_t done = 0;
  std::uint32_t failed = 0;
  std::uint32_t rejected = 0;
  std::array<std::uint32_t, tasks::task_states> counts{};  // Tasks by state, at its end.
  std::uint8_t wait_p50 = no_waits;                        // Buckets of Durations, of those that
  std::uint8_t wait_p99 = no_waits;                        // began to run in that second.

  std::uint64_t depth() const {  // Tasks that are not finished.
    return std::uint64_t{counts[0]} + counts[1] + counts[2] + counts[3];
  }
};

class Track {
 public:
  static constexpr std::int64_t seconds = 900;

  explicit Track(std::int64_t second) : first_(second), second_(second), ring_(seconds) {}

  // From now on it is that second; earlier ones are what they are.
  void turn(std::int64_t second);
  Moment& current() { return at(second_); }
  void add_wait(std::chrono::milliseconds time) { waits_.add(time); }
  void set_counts(const StateCounts& counts);

  struct Part {
    std::int64_t first = 0;  // The second of the first moment.
    std::vector<Moment> moments;
  };
  // The last so many seconds that are over, as far as it knows them.
  Part last(std::int64_t most);

 private:
  Moment& at(std::int64_t second) { return ring_[static_cast<std::size_t>(second % seconds)]; }

  std::int64_t first_;
  std::int64_t second_;
  Durations waits_;  // Of this second.
  std::vector<Moment> ring_;
};

}  // namespace handoff::server
