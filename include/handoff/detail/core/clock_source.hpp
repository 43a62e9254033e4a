// The seam behind which time can be replaced: by a manual clock in tests, later by the simulator.
#pragma once

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// A moment somebody waits for on a replaced clock. Lives in the waiter; linked while armed.
struct Timer {
  TimePoint due = TimePoint::max();
  void (*fire)(Timer&) = nullptr;  // Called once due. Must not block and must not call the clock.
  Timer* next = nullptr;
  Timer* previous = nullptr;
  bool armed = false;
};

// A clock that stands in for the real one.
class ClockSource {
 public:
  virtual ~ClockSource() = default;
  virtual TimePoint now() const = 0;
  virtual void arm(Timer& timer) = 0;
  // After disarm() returns, fire() neither runs nor will run.
  virtual void disarm(Timer& timer) = 0;
};

// The clock put in place of the real one; null in production, where waits time out in the kernel.
ClockSource* installed_clock();

// Throws std::logic_error if another one is installed. Null uninstalls.
void install_clock(ClockSource* source);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
