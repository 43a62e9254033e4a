// A wait taken apart into steps, so that a thread and a coroutine can take the same ones.
//
// Every operation that can wait is written once, as Steps. A thread takes them in a loop and sleeps in between
// (take_steps); a coroutine takes them until the wait is over or it has to be suspended, and its executor goes on when the
// waiter is claimed (Awaitable).
#pragma once

#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Steps {
 public:
  // Stands in line, arms the waiter, and looks once more. True if the operation is finished, done or refused.
  virtual bool begin(Waiter& waiter) = 0;

  // The waiter was claimed with this outcome, or its stop or deadline has come. True if the operation is finished;
  // otherwise it stands in line still, and the waiter is preparing again.
  virtual bool go_on(Waiter& waiter, WaitState outcome) = 0;

  // After `true`, or an exception, from either of them the waiter stands on no list: nobody can claim it any more.
 protected:
  ~Steps() = default;
};

// Takes the steps on this thread, which sleeps in between.
inline void take_steps(ThreadWaiter& waiter, Steps& steps) {
  if (steps.begin(waiter)) return;
  while (true) {
    WaitState outcome;
    if (!waiter.is_over(outcome)) outcome = waiter.park();
    if (steps.go_on(waiter, outcome)) return;
  }
}

// For a coroutine, after begin() or a go_on() that was not the last. True: it is suspended, and nothing of it may be
// touched any more. False: finished.
inline bool suspend_between_steps(Waiter& waiter, Steps& steps) {
  while (true) {
    WaitState outcome;
    if (!waiter.is_over(outcome)) {
      if (waiter.commit_to_suspend()) return true;
      outcome = waiter.state();
    }
    if (steps.go_on(waiter, outcome)) return false;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
