// The highest rate at which jobs have been offered to a pool, over a tenth of a second or longer.
//
// Nobody measures on the way in: whoever looks at the clock anyway (a worker that claims jobs or goes to sleep, a producer
// that is refused) brings the count along. So a peak between two looks is averaged with what is around it, never invented.
#pragma once

#include <algorithm>
#include <cstdint>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ArrivalMeter {
 public:
  void note(TimePoint at, std::uint64_t offered) {
    if (at.time_since_epoch().count() < next_.load(relaxed)) return;  // A hint: see below.
    if (!lock_.try_lock()) return;                                    // Somebody else does it.
    if (since_ == TimePoint()) {
      since_ = at;
      offered_ = offered;
    } else if (at - since_ >= window && offered >= offered_) {
      const double seconds = std::chrono::duration<double>(at - since_).count();
      peak_ = std::max(peak_, static_cast<double>(offered - offered_) / seconds);
      since_ = at;
      offered_ = offered;
    }
    next_.store((since_ + window).time_since_epoch().count(), relaxed);
    lock_.unlock();
  }
  double peak() const {
    SmallGuard guard(lock_);
    return peak_;
  }

 private:
  static constexpr Duration window = std::chrono::milliseconds(100);

  // Written under lock_. A hint: who comes too early or too late finds out under the lock.
  atomic<Duration::rep> next_{Duration::min().count()};
  mutable SmallLock lock_;
  // Guarded by lock_.
  TimePoint since_{};
  std::uint64_t offered_ = 0;
  double peak_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
