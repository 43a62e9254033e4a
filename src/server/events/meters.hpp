// How queues are doing: rates over the last minute, how long tasks waited and ran, and the last 15 minutes, second by second.
//
// Fed by each commit of this process. What another process does with the same file is in the counts of the store, not here.
// Thread safety: any member, any thread.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/queue.hpp"
#include "server/events/durations.hpp"
#include "server/events/track.hpp"
#include "tasks/store.hpp"

namespace handoff::server {

class Meters {
 public:
  static constexpr int seconds = 60;
  static constexpr std::size_t most_queues = 10'000;  // Past them nobody counts.
  // Queues whose last 15 minutes are kept: the first that were used, and those that were last asked for. 40 KiB each.
  static constexpr std::size_t most_tracks = 64;

  void add(const tasks::Changes& changes);
  void reject(std::string_view queue, std::uint64_t tasks);
  // What the store says: what this process was not told of is put right.
  void set_counts(std::span<const tasks::QueueLook> queues);

  struct Look {
    QueueTotals totals;                // Since the start.
    QueueTotals last_minute;           // Or since the start, if that is less; `span` says.
    double span = 1;                   // Seconds.
    std::uint64_t busiest_second = 0;  // So many came in one, in that minute; refused ones too.
    Durations waits;                   // Of all time.
    Durations runs;
  };
  Look look(std::string_view queue);
  Look look_at_sum();  // Of all queues.
  std::map<std::string, Look, std::less<>> look_at_all();

  // The last so many seconds that are over, counted from the start. A queue that was not kept is from now on.
  Track::Part history(std::string_view queue, std::chrono::seconds most);
  Track::Part history_of_sum(std::chrono::seconds most);

  struct Commits {
    std::uint64_t commits = 0;
    std::uint64_t changes = 0;
  };
  Commits commits();

 private:
  struct Kept {
    explicit Kept(std::int64_t second) : track(second) {}
    Track track;
    std::optional<std::int64_t> asked_at;
  };
  struct Meter {
    QueueTotals totals;
    std::array<QueueTotals, seconds> by_second{};
    std::int64_t second = 0;  // The last one that was counted in.
    Durations waits;
    Durations runs;
    StateCounts counts{};
    std::unique_ptr<Kept> kept;
  };
  std::int64_t second() const;
  Meter* meter_locked(std::string_view queue);
  void keep_locked(Meter& meter, std::int64_t second);
  void make_room_locked();
  void count_locked(Meter& meter, std::uint64_t QueueTotals::* what, std::uint32_t Moment::* moment,
                    std::uint64_t number);
  void change_locked(Meter& meter, const tasks::StateChange& change);
  void set_counts_locked(Meter& meter, const StateCounts& counts);
  void turn_locked(Meter& meter);
  Look look_locked(Meter& meter);

  const TimePoint began_ = now();
  Mutex lock_{{.name = "meters of queues"}};
  // Guarded by lock_.
  std::map<std::string, Meter, std::less<>> meters_;
  Meter sum_;
  std::size_t tracks_ = 0;
  Commits commits_;
};

}  // namespace handoff::server
