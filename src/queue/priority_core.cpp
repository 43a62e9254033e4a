#include "handoff/detail/queue/priority_core.hpp"

#include <fmt/core.h>

#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

Duration checked_ageing(Duration ageing) {
  if (ageing >= Duration::zero()) return ageing;
  throw std::invalid_argument(
      fmt::format("ageing must not be negative, got {} ns", ageing.count()));
}

}  // namespace

PriorityCore::PriorityCore(const PriorityQueueOptions& options, std::size_t item_size)
    : OrderedCore(
          "PriorityBlockingQueue",
          {.capacity = options.capacity, .name = options.name, .when_full = options.when_full},
          item_size),
      ageing_(checked_ageing(options.ageing)),
      victims_(when_full_ == WhenFull::drop_oldest ? capacity_ : 0) {}

void PriorityCore::report_waits(std::vector<WaitInfo>& waits) const {
  report_producers(waits);
  consumers_.report(waits);
}

void PriorityCore::accept_locked(Section& section, std::size_t slot, std::int64_t order) {
  if (when_full_ == WhenFull::drop_oldest) {
    victims_.push(slot, {.major = -order, .sequence = next_sequence_locked()});
  }
  add_locked(slot, rank_locked(order));
  section.wake_one(consumers_);
}

void PriorityCore::forget_locked(Section&, std::size_t slot) {
  if (when_full_ == WhenFull::drop_oldest) victims_.erase(slot);
}

std::optional<std::size_t> PriorityCore::victim_locked(std::int64_t order) const {
  const auto& lowest = victims_.front();
  if (-order < lowest.rank.major) return std::nullopt;
  return lowest.slot;
}

Rank PriorityCore::rank_locked(std::int64_t order) const {
  const auto sequence = next_sequence_locked();
  if (ageing_ == Duration::zero()) return {.major = order, .sequence = sequence};
  const auto arrived = now().time_since_epoch();
  return {.major = order + arrived / ageing_,
          .minor = (arrived % ageing_).count(),
          .sequence = sequence};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
