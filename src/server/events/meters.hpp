// How queues are doing: rates over the last minute, and how long tasks waited and ran.
//
// Fed by each commit of this process. What another process does with the same file is in the counts of the store, not here.
// Thread safety: any member, any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"
#include "tasks/store.hpp"

namespace handoff::server {

// How many durations were below which bound: powers of two milliseconds.
struct Durations {
  static constexpr std::size_t buckets = 28;  // The last one has all from 19 hours on.

  std::array<std::uint64_t, buckets> counts{};
  std::uint64_t total = 0;
  double sum_seconds = 0;

  void add(std::chrono::milliseconds duration);
  // The bound of a bucket; the last one has none.
  static std::chrono::milliseconds bound(std::size_t bucket) {
    return std::chrono::milliseconds(std::int64_t{1} << bucket);
  }
  // Below which that part of them were, to a power of two. Nothing if there are none.
  std::optional<std::chrono::milliseconds> quantile(double part) const;
};

struct QueueTotals {
  std::uint64_t in = 0;
  std::uint64_t done = 0;
  std::uint64_t failed = 0;    // Attempts.
  std::uint64_t rejected = 0;  // There was no room.
};

class Meters {
 public:
  static constexpr int seconds = 60;
  static constexpr std::size_t most_queues = 10'000;  // Past them nobody counts.

  void add(const tasks::Changes& changes);
  void reject(std::string_view queue, std::uint64_t tasks);

  struct Look {
    QueueTotals totals;                // Since the start.
    QueueTotals last_minute;           // Or since the start, if that is less; `span` says.
    double span = 1;                   // Seconds.
    std::uint64_t busiest_second = 0;  // So many came in one, in that minute; refused ones too.
    Durations waits;                   // Of all time.
    Durations runs;
  };
  Look look(std::string_view queue);
  std::map<std::string, Look, std::less<>> look_at_all();

  struct Commits {
    std::uint64_t commits = 0;
    std::uint64_t changes = 0;
  };
  Commits commits();

 private:
  struct Meter {
    QueueTotals totals;
    std::array<QueueTotals, seconds> by_second{};
    std::int64_t second = 0;  // The last one that was counted in.
    Durations waits;
    Durations runs;
  };
  Meter* meter_locked(std::string_view queue);
  void count_locked(Meter& meter, std::uint64_t QueueTotals::* what, std::uint64_t number);
  void turn_locked(Meter& meter);
  Look look_locked(Meter& meter);

  const TimePoint began_ = now();
  Mutex lock_{{.name = "meters of queues"}};
  // Guarded by lock_.
  std::map<std::string, Meter, std::less<>> meters_;
  Commits commits_;
};

}  // namespace handoff::server
