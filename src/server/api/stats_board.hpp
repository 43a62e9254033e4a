// How all queues are doing, looked at about once a second for all who want to know.
//
//   const auto board = stats.board(api);                  // at most 0.9 s old
//   StatsReader reader;
//   reader.next(*board)                                   // of the queues, those that have changed since it was last asked
//
// Thread safety: StatsBoards any, a reader is one's own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/queue.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::server {

struct ApiContext;

// Never changed once it is made.
struct StatsBoard {
  struct Row {
    std::string queue;
    std::string text;           // JSON.
    std::uint64_t version = 0;  // Of the first board that had it so.
  };
  std::uint64_t version = 0;
  tasks::Time at{};
  std::string totals;     // The members of a JSON object, without braces.
  std::vector<Row> rows;  // In the order of their names.
};

class StatsBoards {
 public:
  // Looks at the store, unless somebody has done so less than most of a second ago.
  std::shared_ptr<const StatsBoard> board(ApiContext& api);

 private:
  static constexpr Duration good_for = std::chrono::milliseconds(900);
  Mutex lock_{{.name = "how queues are doing"}};
  // Guarded by lock_.
  std::shared_ptr<const StatsBoard> board_;
  std::optional<TimePoint> made_at_;
};

// Goes round by name, so that all have their turn if more have changed than it may tell at a time.
class StatsReader {
 public:
  static constexpr std::size_t most = 100;

  // JSON, with commas between.
  std::string next(const StatsBoard& board);

 private:
  std::uint64_t seen_ = 0;   // Of rows up to this version it has told all.
  std::uint64_t round_ = 0;  // The board with which this round began.
  std::string last_;         // Of this round.
};

// One queue as event streams tell it.
std::string stats_text(ApiContext& api, const tasks::QueueLook& look);

}  // namespace handoff::server
