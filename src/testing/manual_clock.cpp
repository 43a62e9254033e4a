// The clock itself outlives every ManualClock: a thread that has just asked which clock is installed may be about to ask that
// one for the time while the test that made it is over.
#include "handoff/testing/manual_clock.hpp"

#include <fmt/core.h>

#include <chrono>
#include <stdexcept>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

namespace {

class Hands final : public detail::ClockSource {
 public:
  void begin() {
    detail::SmallGuard guard(lock_);
    if (detail::installed_clock() == nullptr) {
      now_.store(std::chrono::steady_clock::now().time_since_epoch().count());
    }
    detail::install_clock(this);  // Throws if it or another is installed.
    is_installed_ = true;
  }

  void end() {
    detail::SmallGuard guard(lock_);
    detail::install_clock(nullptr);
    is_installed_ = false;
    // Somebody still waits by this clock, and would wait for ever.
    HANDOFF_ASSERT(armed_ == 0);
  }

  TimePoint now() const override { return TimePoint(Duration(now_.load())); }

  void advance(Duration step) {
    detail::SmallGuard guard(lock_);
    const TimePoint at = TimePoint(Duration(now_.fetch_add(step.count()) + step.count()));
    for (detail::Timer* timer = front_; timer != nullptr;) {
      detail::Timer& each = *timer;
      timer = each.next;
      if (each.due > at) continue;
      unlink_locked(each);
      each.fire(each);
    }
  }

  std::size_t waiting() const {
    detail::SmallGuard guard(lock_);
    return armed_;
  }

  void arm(detail::Timer& timer) override {
    detail::SmallGuard guard(lock_);
    // advance() came between the caller's look at the time and this; or the end, and nobody will ever move these hands.
    if (timer.due <= now() || !is_installed_) {
      timer.fire(timer);
      return;
    }
    timer.previous = nullptr;
    timer.next = front_;
    if (front_ != nullptr) front_->previous = &timer;
    front_ = &timer;
    timer.armed = true;
    ++armed_;
  }

  void disarm(detail::Timer& timer) override {
    detail::SmallGuard guard(lock_);
    if (timer.armed) unlink_locked(timer);
  }

 private:
  void unlink_locked(detail::Timer& timer) {
    (timer.previous == nullptr ? front_ : timer.previous->next) = timer.next;
    if (timer.next != nullptr) timer.next->previous = timer.previous;
    timer.armed = false;
    --armed_;
  }

  detail::atomic<Duration::rep> now_{0};
  mutable detail::SmallLock lock_;
  // Guarded by lock_. Timers fire under it, so that disarm() waits for one that is firing.
  bool is_installed_ = false;
  detail::Timer* front_ = nullptr;
  std::size_t armed_ = 0;
};

Hands& hands() {
  static auto& one = *new Hands;  // Never destroyed: threads may outlive the end of main().
  return one;
}

}  // namespace

ManualClock::ManualClock() { hands().begin(); }

ManualClock::~ManualClock() { hands().end(); }

TimePoint ManualClock::now() const { return hands().now(); }

void ManualClock::advance(Duration step) {
  if (step < Duration::zero()) {
    throw std::invalid_argument(fmt::format("time cannot go back, got {} ns", step.count()));
  }
  hands().advance(step);
}

std::size_t ManualClock::waiting() const { return hands().waiting(); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
