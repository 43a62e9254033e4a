// What a primitive has counted so far: one shape for all of them, so that one exporter fits all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// A snapshot; it may be stale by the time it is read. What means nothing for a primitive stays 0.
//
// For a queue, at rest: puts == takes + size + items evicted by drop_oldest, and every item offered was counted once,
// in puts, in refused or in dropped.
struct Stats {
  std::size_t size = 0;        // Items held; permits in use; 1 for a lock that is held.
  std::size_t capacity = 0;    // Items or permits there may be.
  std::size_t high_water = 0;  // The largest size so far.
  std::uint64_t puts = 0;      // Items accepted; permits released.
  std::uint64_t takes = 0;     // Items taken or drained; permits acquired.
  std::uint64_t refused =
      0;  // Adds refused: full, closed, timed_out or stopped; acquisitions refused.
  std::uint64_t dropped =
      0;  // Items dropped by policy: evicted by drop_oldest, refused by drop_newest.
  std::size_t waiting_producers = 0;
  std::size_t waiting_consumers = 0;  // For locks and the like: all who wait.
  std::uint64_t producer_waits = 0;   // Times a producer had to sleep or was about to.
  std::uint64_t consumer_waits = 0;
  Duration
      producers_blocked{};  // Time spent in those waits that have ended, added up over all waiters.
  Duration consumers_blocked{};
};

// A primitive's stats with what it is called.
struct NamedStats {
  std::string kind;  // "BlockingQueue", "Mutex", ...
  std::string name;  // As given, or "BlockingQueue#7".
  Stats stats;
};

// The stats of every primitive that has a name or has ever been waited for, by name.
std::vector<NamedStats> snapshot();

}  // namespace handoff::inline HANDOFF_FLAVOUR
