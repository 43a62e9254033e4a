// The two times that tasks know: that of day, by which they are scheduled, and that since the machine was started, by which leases end, since
// nobody sets it.
#pragma once

#include <chrono>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class TaskClock {
 public:
  virtual Time now() const = 0;
  virtual std::chrono::milliseconds since_boot() const = 0;

  // The machine's.
  static const TaskClock& real();

 protected:
  ~TaskClock() = default;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
