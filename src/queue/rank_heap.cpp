#include "handoff/detail/queue/rank_heap.hpp"

#include <utility>

#include "handoff/detail/core/assert.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

RankHeap::RankHeap(std::size_t capacity) : entries_(capacity), position_(capacity) {
  for (std::size_t slot = 0; slot < capacity; ++slot) {
    entries_[slot].slot = slot;
    position_[slot] = slot;
  }
}

void RankHeap::push(std::size_t slot, const Rank& rank) noexcept {
  HANDOFF_ASSERT(position_[slot] >= size_);
  exchange(position_[slot], size_);
  entries_[size_].rank = rank;
  sift_up(size_++);
}

void RankHeap::erase(std::size_t slot) noexcept {
  const auto position = position_[slot];
  HANDOFF_ASSERT(position < size_);
  exchange(position, --size_);
  if (position == size_) return;
  // What stood last may belong above or below the gap; at most one of the two moves it.
  sift_up(position);
  sift_down(position);
}

void RankHeap::exchange(std::size_t one, std::size_t other) noexcept {
  std::swap(entries_[one], entries_[other]);
  position_[entries_[one].slot] = one;
  position_[entries_[other].slot] = other;
}

void RankHeap::sift_up(std::size_t position) noexcept {
  while (position > 0) {
    const auto parent = (position - 1) / 2;
    if (entries_[parent].rank < entries_[position].rank) return;
    exchange(parent, position);
    position = parent;
  }
}

void RankHeap::sift_down(std::size_t position) noexcept {
  while (true) {
    auto child = 2 * position + 1;
    if (child >= size_) return;
    if (child + 1 < size_ && entries_[child + 1].rank < entries_[child].rank) ++child;
    if (entries_[position].rank < entries_[child].rank) return;
    exchange(position, child);
    position = child;
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
