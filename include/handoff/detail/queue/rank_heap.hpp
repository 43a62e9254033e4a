// Which slot comes first: slot numbers in the order of their ranks.
//
// Only ranks and numbers move here, and moving those cannot throw: an item stays in its slot from the moment it is
// accepted until it leaves, so an item whose move constructor throws cannot leave a heap half sifted.
//
// Invariants:
// - entries_ holds every slot number once. The first size_ entries are a heap; the rest are the free slots.
// - entries_[position_[slot]].slot == slot.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// The smaller one comes first. `sequence` is unique, so that equals come first in, first out.
struct Rank {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::uint64_t sequence = 0;
  friend auto operator<=>(const Rank&, const Rank&) = default;
};

class RankHeap {
 public:
  struct Entry {
    Rank rank;
    std::size_t slot;
  };

  // All memory is allocated here.
  explicit RankHeap(std::size_t capacity);

  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }
  bool is_full() const { return size_ == entries_.size(); }

  const Entry& front() const { return entries_.front(); }
  std::size_t free_slot() const { return entries_[size_].slot; }

  void push(std::size_t slot, const Rank& rank) noexcept;
  void erase(std::size_t slot) noexcept;

 private:
  void exchange(std::size_t one, std::size_t other) noexcept;
  void sift_up(std::size_t position) noexcept;
  void sift_down(std::size_t position) noexcept;

  std::vector<Entry> entries_;
  std::vector<std::size_t> position_;
  std::size_t size_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
