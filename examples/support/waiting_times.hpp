// Who waited how long.
//
//   times.add(handoff::now() - click.arrived);      // any thread
//   times.of(0.5)                                   // half of them waited no longer than this
//   times.of(1)                                     // the longest
#pragma once

#include <algorithm>
#include <cstddef>
#include <mutex>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/mutex.hpp"

namespace example {

class WaitingTimes {
 public:
  void add(handoff::Duration time) {
    const std::scoped_lock lock(mutex_);
    times_.push_back(time);
  }

  // Zero if there are none.
  handoff::Duration of(double part) {
    const std::scoped_lock lock(mutex_);
    if (times_.empty()) return {};
    std::ranges::sort(times_);
    const auto last = static_cast<double>(times_.size() - 1);
    return times_[static_cast<std::size_t>(part * last + 0.5)];
  }

 private:
  handoff::Mutex mutex_{{.name = "waiting times"}};
  std::vector<handoff::Duration> times_;  // Guarded by mutex_.
};

}  // namespace example
