// How fast queues go, from looks at their counts: what has come and what has ended between two of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/tasks/queue.hpp"

namespace handoff::cli {

class QueueRates {
 public:
  struct Rate {
    double in = 0;  // Tasks a second.
    double done = 0;
    double failed = 0;            // Dead.
    std::vector<double> history;  // Of `done`, the last of them last.
  };

  // One more look.
  void add(const std::vector<tasks::QueueLook>& queues, TimePoint at);
  bool has_rates() const { return looks_ > 1; }
  Rate of(const std::string& queue) const;
  Rate all() const { return of({}); }  // Of all queues together.

 private:
  struct Counts {
    std::int64_t all = 0;
    std::int64_t done = 0;
    std::int64_t dead = 0;
  };
  void add(const std::string& name, const Counts& counts, double seconds);

  std::map<std::string, Counts> last_;
  std::map<std::string, Rate> rates_;
  TimePoint last_at_{};
  std::size_t looks_ = 0;
};

}  // namespace handoff::cli
