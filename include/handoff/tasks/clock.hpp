// The two times that tasks know: that of day, by which they are scheduled, and that since the machine was started, by which leases and timeouts end, since
// nobody sets it. Tests have one that they move themselves: see testing.hpp.
#pragma once

#include <chrono>
#include <functional>

#include "handoff/detail/core/config.hpp"
#include "handoff/tasks/time.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class TaskClock {
 public:
  virtual Time now() const = 0;
  virtual std::chrono::milliseconds since_boot() const = 0;

  // One that stands still until somebody moves it tells so those who have to look then; from anywhere, and until they unsubscribe.
  virtual bool moves_by_itself() const { return true; }
  virtual void subscribe(const void* /*who*/, std::function<void()> /*moved*/) const {}
  // Afterwards nobody calls it.
  virtual void unsubscribe(const void* /*who*/) const {}

  // The machine's.
  static const TaskClock& real();

 protected:
  ~TaskClock() = default;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
