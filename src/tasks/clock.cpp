#include "handoff/tasks/clock.hpp"

#include <ctime>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {
class RealClock final : public TaskClock {
 public:
  Time now() const override { return to_time(std::chrono::system_clock::now()); }
  std::chrono::milliseconds since_boot() const override {
    timespec time{};
    // Stands still while the machine sleeps: all who hold leases sleep with it.
    clock_gettime(CLOCK_MONOTONIC, &time);
    return std::chrono::duration_cast<std::chrono::milliseconds>(
        std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
  }
};
}  // namespace

const TaskClock& TaskClock::real() {
  static const RealClock clock;
  return clock;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
