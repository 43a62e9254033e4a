#include "handoff/pool.hpp"

#include <fmt/core.h>

#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR {

std::expected<Timer, Refusal> WorkerPool::arm(Job job, TimePoint due) {
  const auto node = core_->timers().arm(std::move(job), due, Duration::zero(), Overrun::skip);
  if (!node) return std::unexpected(node.error());
  return Timer(*node);
}

std::expected<Timer, Refusal> WorkerPool::arm_every(Job job, Duration period,
                                                    EveryOptions options) {
  if (period <= Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("the period of every() must be positive, got {} ns", period.count()));
  }
  const auto first = options.at_once ? now() : within(period).when();
  const auto node = core_->timers().arm(std::move(job), first, period, options.overrun);
  if (!node) return std::unexpected(node.error());
  return Timer(*node);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
