// The one timer service of the process: one thread that sleeps until the first timer is due, whatever their number.
//
//   struct Timeout : TimerEntry { ... };
//   TimerService::shared().arm(timeout, handoff::now() + 30s);    // calls timeout.fire(timeout) then
//   TimerService::shared().cancel_and_wait(timeout);              // afterwards it may be destroyed
//
// A timer never fires early; timers fire in order of due time, then of arming. The thread gets up when the first timer
// is due, when one is armed that comes before the first, and at no other time. (A first timer that was cancelled may
// still cost the one wake-up it was to cause.) fire() may arm its own entry again, arm and cancel others, and
// destroy its entry.
//
// Time is handoff::now(). A clock may be put in its place, or taken away, whenever nothing is armed: from the moment
// the last timer is cancelled or fires, the service does not touch the clock.
// Thread safety: any member, any thread, also while the program ends: the service is never destroyed.
// Visibility: all a thread did before arm() is seen by fire(), and all of fire() by who was told by cancel_and_wait().
// After a fork() the child has the timers too; they are served there once it arms one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class TimerService final : public Primitive {
 public:
  // Its thread starts with the first timer.
  static TimerService& shared();

  // Its thread is there afterwards: arm() does not throw then. Throws std::system_error if it cannot be started.
  void start();
  // The entry must not be armed. Throws std::system_error, and arms nothing, if the thread cannot be started.
  void arm(TimerEntry& entry, TimePoint due);
  // True if the timer was armed and will not fire. False if it was not armed, has fired, or is firing now.
  bool cancel(TimerEntry& entry);
  // The same, but if the timer is firing now, waits until fire() has returned; if fire() arms it again meanwhile, that
  // is cancelled too. Does not wait when called by the thread of the service, that is, from inside a fire().
  bool cancel_and_wait(TimerEntry& entry);

  std::size_t armed() const;
  // How often the thread has got up so far.
  std::uint64_t wakeups() const;

  // size: timers armed. puts: timers armed so far. takes: timers fired. consumer_waits: sleeps of the thread.
  Stats stats() const override;
  // The thread is shown while it waits for a timer, not while there is none.
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  // Ends the thread's sleep when the time comes on a replaced clock.
  struct Alarm : Timer {
    Waiter* waiter = nullptr;
  };
  // One that waits in cancel_and_wait() until the timer that is firing is done.
  struct Bystander {
    ThreadWaiter waiter;
    TimePoint since;
    bool cancelled = false;
    Bystander* next = nullptr;
  };

  TimerService();
  ~TimerService();
  void end();  // Of a simulated run.

  void start_locked();
  void run();
  TimerEntry* take_due_locked();
  void fire_locked(TimerEntry& entry);
  void sleep_locked();
  void set_alarm_locked(Waiter& sleeper);
  void stop_alarm_locked();
  bool must_wake_locked(TimePoint due, bool was_empty) const;
  bool cancel_locked(TimerEntry& entry);
  bool wait_for_firing(Bystander& bystander);
  WaitInfo describe(const Waiter& waiter, TimePoint since) const;
  void watch_for_fork();
  void forget_thread_locked();

  mutable SmallLock lock_;
  // Guarded by lock_.
  TimerWheel wheel_;
  ThreadId thread_ = no_thread;  // Known once it runs.
  bool has_thread_ = false;
  TimerEntry* firing_ = nullptr;  // Compared by address only: fire() may have destroyed it.
  Bystander* bystanders_ = nullptr;
  Waiter* sleeper_ = nullptr;     // The thread's wait, until somebody wakes it.
  TimePoint wake_at_{};           // When the sleeper gets up by itself; max() for never.
  TimePoint since_{};             // When it went to sleep; known if it waits for a timer.
  ClockSource* clock_ = nullptr;  // The replaced clock on which alarm_ is set.
  Alarm alarm_;
  std::uint64_t wakeups_ = 0;
  std::uint64_t armings_ = 0;
  std::uint64_t firings_ = 0;
  bool is_ending_ = false;
  Thread simulated_thread_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
