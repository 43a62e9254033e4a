// A clock that stands still until a test moves it: time-outs without sleeping, and without luck.
//
//   handoff::testing::ManualClock clock;
//   auto answer = std::async([&] { return orders.poll(100ms); });
//   eventually([&] { return clock.waiting() == 1; });     // it waits, and its deadline is known
//   clock.advance(100ms);
//   EXPECT_EQ(answer.get(), std::unexpected(Refusal::timed_out));
//
// It is the library's clock for as long as it lives: make it before, and destroy it after, every wait of the test.
// One may live at a time. Thread safety: any member, any thread.
#pragma once

#include <cstddef>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/core/small_lock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

class ManualClock final : private detail::ClockSource {
 public:
  // Starts at the real clock's time. Throws std::logic_error if another one lives.
  ManualClock();
  ~ManualClock() override;
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  TimePoint now() const override;

  // Moves time on, and ends every wait whose deadline is reached; when it returns they are on their way.
  // Throws std::invalid_argument if `step` is negative: time does not run backwards.
  void advance(Duration step);

  // How many waits will end by their deadline: each is asleep or about to be.
  std::size_t waiting() const;

 private:
  void arm(detail::Timer& timer) override;
  void disarm(detail::Timer& timer) override;
  void unlink_locked(detail::Timer& timer);

  detail::atomic<Duration::rep> now_;
  mutable detail::SmallLock lock_;
  // Guarded by lock_. Timers fire under it, so that disarm() waits for one that is firing.
  detail::Timer* front_ = nullptr;
  std::size_t armed_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
