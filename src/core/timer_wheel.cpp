#include "handoff/detail/core/timer_wheel.hpp"

#include <algorithm>
#include <bit>

#include "handoff/detail/core/assert.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Its neighbours would point into freed memory.
TimerEntry::~TimerEntry() { HANDOFF_ASSERT(place_ == nowhere); }

// -- The heap -------------------------------------------------------------------------------------

bool TimerHeap::precedes(const TimerEntry& one, const TimerEntry& other) {
  return one.due_ != other.due_ ? one.due_ < other.due_ : one.sequence_ < other.sequence_;
}

void TimerHeap::adopt_children(TimerEntry& parent) {
  if (parent.left_ != nullptr) parent.left_->parent_ = &parent;
  if (parent.right_ != nullptr) parent.right_->parent_ = &parent;
}

TimerEntry*& TimerHeap::link_to(const TimerEntry& entry) {
  if (entry.parent_ == nullptr) return root_;
  return entry.parent_->left_ == &entry ? entry.parent_->left_ : entry.parent_->right_;
}

// Positions count from 1, row by row: below the highest bit, each bit of a position says right or left.
TimerEntry& TimerHeap::parent_of(std::size_t position) const {
  TimerEntry* entry = root_;
  for (int bit = static_cast<int>(std::bit_width(position)) - 2; bit > 0; --bit) {
    entry = ((position >> bit) & 1) != 0 ? entry->right_ : entry->left_;
  }
  return *entry;
}

void TimerHeap::push(TimerEntry& entry) {
  entry.left_ = entry.right_ = entry.parent_ = nullptr;
  const auto position = ++size_;
  if (position == 1) {
    root_ = &entry;
    return;
  }
  TimerEntry& parent = parent_of(position);
  entry.parent_ = &parent;
  (position % 2 != 0 ? parent.right_ : parent.left_) = &entry;
  sift_up(entry);
}

void TimerHeap::erase(TimerEntry& entry) {
  const auto position = size_--;
  if (position == 1) {
    root_ = nullptr;
    return;
  }
  TimerEntry& parent = parent_of(position);
  TimerEntry*& link = position % 2 != 0 ? parent.right_ : parent.left_;
  TimerEntry& last = *link;
  link = nullptr;
  if (&last == &entry) return;
  replace(entry, last);
  // What stood last may belong above or below the gap; at most one of the two moves it.
  sift_up(last);
  sift_down(last);
}

void TimerHeap::replace(TimerEntry& entry, TimerEntry& by) {
  link_to(entry) = &by;
  by.parent_ = entry.parent_;
  by.left_ = entry.left_;
  by.right_ = entry.right_;
  adopt_children(by);
}

// The child and its parent change places.
void TimerHeap::rise(TimerEntry& child) {
  TimerEntry& parent = *child.parent_;
  const bool was_left = parent.left_ == &child;
  TimerEntry* const sibling = was_left ? parent.right_ : parent.left_;
  link_to(parent) = &child;
  child.parent_ = parent.parent_;
  parent.left_ = child.left_;
  parent.right_ = child.right_;
  adopt_children(parent);
  child.left_ = was_left ? &parent : sibling;
  child.right_ = was_left ? sibling : &parent;
  adopt_children(child);
}

void TimerHeap::sift_up(TimerEntry& entry) {
  while (entry.parent_ != nullptr && precedes(entry, *entry.parent_)) rise(entry);
}

void TimerHeap::sift_down(TimerEntry& entry) {
  while (entry.left_ != nullptr) {
    TimerEntry* child = entry.left_;
    if (entry.right_ != nullptr && precedes(*entry.right_, *child)) child = entry.right_;
    if (precedes(entry, *child)) return;
    rise(*child);
  }
}

// -- The wheel ------------------------------------------------------------------------------------

TimerWheel::Tick TimerWheel::tick_of(TimePoint time) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;  // Flipped, negative times come first.
  return (static_cast<std::uint64_t>(time.time_since_epoch().count()) ^ sign) >> tick_bits;
}

void TimerWheel::restart(TimePoint now) {
  HANDOFF_ASSERT(is_empty());
  base_ = tick_of(now);
  open_ = no_slot;
}

void TimerWheel::arm(TimerEntry& entry, TimePoint due) {
  HANDOFF_ASSERT(entry.place_ == TimerEntry::nowhere);
  entry.due_ = due;
  entry.sequence_ = ++last_sequence_;
  place(entry);
  ++size_;
}

bool TimerWheel::cancel(TimerEntry& entry) {
  if (entry.place_ == TimerEntry::nowhere) return false;
  if (entry.place_ == in_heap) {
    near_.erase(entry);
  } else {
    unlink(entry);
  }
  entry.place_ = TimerEntry::nowhere;
  --size_;
  return true;
}

bool TimerWheel::advance(TimePoint now) {
  const Tick limit = tick_of(now);
  int left = batch;
  while (true) {
    if (open_ == no_slot) {
      const auto next = first_slot();
      if (next == no_slot || start_of(next) > limit) {
        base_ = std::max(base_, limit);
        return true;
      }
      // One slot at a time: the heap stays small, and nobody waits long for the lock.
      if (!near_.is_empty() && near_.front().due_ <= now) return true;
      base_ = start_of(next);
      open_ = next;
    }
    while (TimerEntry* const entry = slots_[open_].first) {
      if (left-- == 0) return false;
      unlink(*entry);
      place(*entry);
    }
    open_ = no_slot;
  }
}

TimerEntry* TimerWheel::take_due(TimePoint now) {
  HANDOFF_ASSERT(open_ == no_slot);
  if (near_.is_empty() || near_.front().due_ > now) return nullptr;
  TimerEntry& entry = near_.front();
  near_.erase(entry);
  entry.place_ = TimerEntry::nowhere;
  --size_;
  return &entry;
}

TimePoint TimerWheel::next_due() {
  HANDOFF_ASSERT(open_ == no_slot);
  if (!near_.is_empty()) return near_.front().due_;
  const auto first = first_slot();
  if (first == no_slot) return TimePoint::max();
  refresh_earliest(first);
  return slots_[first].earliest;
}

std::size_t TimerWheel::first_slot() const {
  for (std::size_t level = 0; level < levels; ++level) {
    if (occupied_[level] == 0) continue;
    return level * slots_per_level + static_cast<std::size_t>(std::countr_zero(occupied_[level]));
  }
  return no_slot;
}

// Of a slot that is not open.
TimerWheel::Tick TimerWheel::start_of(std::size_t slot) const {
  const auto shift = slot / slots_per_level * level_bits;
  const Tick above = base_ >> (shift + level_bits) << (shift + level_bits);
  return above | Tick{slot % slots_per_level} << shift;
}

void TimerWheel::place(TimerEntry& entry) {
  const Tick tick = tick_of(entry.due_);
  if (tick <= base_) {
    entry.place_ = in_heap;
    near_.push(entry);
    return;
  }
  const auto level = static_cast<std::size_t>((std::bit_width(tick ^ base_) - 1) / level_bits);
  push(level * slots_per_level + (tick >> level * level_bits) % slots_per_level, entry);
}

void TimerWheel::push(std::size_t number, TimerEntry& entry) {
  Slot& slot = slots_[number];
  const auto level = number / slots_per_level;
  const auto bit = std::uint64_t{1} << number % slots_per_level;
  if (slot.first == nullptr || entry.due_ <= slot.earliest) {
    slot.earliest = entry.due_;
    stale_[level] &= ~bit;
  }
  occupied_[level] |= bit;
  entry.place_ = static_cast<std::uint16_t>(number);
  entry.left_ = nullptr;
  entry.right_ = slot.first;
  if (slot.first != nullptr) slot.first->left_ = &entry;
  slot.first = &entry;
}

void TimerWheel::unlink(TimerEntry& entry) {
  Slot& slot = slots_[entry.place_];
  const auto level = entry.place_ / slots_per_level;
  const auto bit = std::uint64_t{1} << entry.place_ % slots_per_level;
  (entry.left_ == nullptr ? slot.first : entry.left_->right_) = entry.right_;
  if (entry.right_ != nullptr) entry.right_->left_ = entry.left_;
  if (entry.due_ == slot.earliest) stale_[level] |= bit;
  if (slot.first == nullptr) occupied_[level] &= ~bit;
}

void TimerWheel::refresh_earliest(std::size_t number) {
  Slot& slot = slots_[number];
  auto& stale = stale_[number / slots_per_level];
  const auto bit = std::uint64_t{1} << number % slots_per_level;
  if ((stale & bit) == 0) return;
  auto earliest = TimePoint::max();
  int left = batch;
  for (const TimerEntry* entry = slot.first; entry != nullptr; entry = entry->right_) {
    if (left-- == 0) return;  // What it says is too early, but never too late.
    earliest = std::min(earliest, entry->due_);
  }
  slot.earliest = earliest;
  stale &= ~bit;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
