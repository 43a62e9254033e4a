#include "handoff/detail/queue/queue_core.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

std::size_t checked_capacity(std::size_t capacity, std::size_t bytes_per_item) {
  const auto most =
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / bytes_per_item;
  if (capacity >= 1 && capacity <= most) return capacity;
  throw std::invalid_argument(
      fmt::format("queue capacity must be from 1 to {} items of {} bytes, got {}", most,
                  bytes_per_item, capacity));
}

QueueCore::QueueCore(const QueueOptions& options, std::size_t item_size)
    : Primitive("BlockingQueue", options.name),
      capacity_(checked_capacity(options.capacity, item_size)),
      when_full_(options.when_full),
      producers_(*this),
      consumers_(*this),
      drops_(*this) {}

void QueueCore::close() {
  const sim::Operation here(*this, "close");
  const auto tail = tail_.lock();
  const bool first = !closed_.exchange(true, seq_cst);  // Pairs with has_item_locked().
  tail_.unlock(tail);
  if (!first) return;
  consumers_.rouse_all();
  producers_.rouse_all();
  drops_.flush();
}

std::size_t QueueCore::size() const {
  // The head first: the difference is then never negative, though it may count items put since.
  const auto head = head_.index();
  return std::min<std::size_t>(static_cast<std::size_t>(tail_.index() - head), capacity_);
}

Stats QueueCore::stats() const {
  const auto producers = producers_.totals();
  const auto consumers = consumers_.totals();
  const auto evicted = evicted_.load(relaxed);  // Counters only, here and below.
  const auto head = head_.index();
  return {.size = size(),
          .capacity = capacity_,
          .high_water = static_cast<std::size_t>(high_water_.load(relaxed)),
          .puts = tail_.index(),
          .takes = head - std::min(evicted, head),
          .refused = refused_.load(relaxed),
          .dropped = drops_.total(),
          .waiting_producers = producers.waiting,
          .waiting_consumers = consumers.waiting,
          .producer_waits = producers.waits,
          .consumer_waits = consumers.waits,
          .producers_blocked = producers.blocked,
          .consumers_blocked = consumers.blocked};
}

void QueueCore::report_waits(std::vector<WaitInfo>& waits) const {
  producers_.report(waits);
  consumers_.report(waits);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
