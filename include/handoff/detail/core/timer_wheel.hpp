// Who wants to be told when: an ordered set of moments in which arming and cancelling cost the same however many there
// are. No threads, no clock, no allocation: the entries live in their owners' memory.
//
// Time is cut into ticks of 2^20 ns, about a millisecond. What is due in the current tick or before it is kept in a
// heap, in exact order; what comes later is kept in a wheel of eight levels with 64 slots each. A slot of level 0 is
// one tick long, a slot of a level above as long as the whole level below it, so that eight levels hold all the time
// there is. As time reaches a slot its entries move down, at last into the heap; bitmaps say which slots hold any,
// so that a jump over years costs no more than a jump to the next tick.
//
// Invariants:
// - An entry in the heap has tick <= base_; an entry in a slot has tick > base_. (While a slot is open, its entries
//   are on their way from the one to the other.)
// - The level of an entry is that of the highest group of six bits in which its tick differs from base_, and its slot
//   there is that group. So all of a level comes before all of the next one, and a level never wraps around; and
//   base_ may move on, up to the start of the first slot in use, without moving anybody.
// - slot.earliest <= the due time of each of its entries, and is that of the first one unless the slot is marked stale.
//
// Nothing depends on how base_ lies to the real time. One that is behind costs an entry a few more moves on its way
// down; one that is ahead makes the heap larger than it need be. The order is exact in both cases.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// A moment somebody wants to be told of. Lives in its owner's memory, and must stay there while it is armed.
struct TimerEntry {
  using Fire = void (*)(TimerEntry&) noexcept;

  TimerEntry() = default;
  explicit TimerEntry(Fire on_fire) : fire(on_fire) {}
  ~TimerEntry();
  TimerEntry(const TimerEntry&) = delete;
  TimerEntry& operator=(const TimerEntry&) = delete;

  // Called once it is due, by the thread of the service, without its lock. Must be short: other timers wait.
  Fire fire = nullptr;

 private:
  friend class TimerHeap;
  friend class TimerWheel;
  static constexpr std::uint16_t nowhere = UINT16_MAX;

  TimePoint due_{};
  std::uint64_t sequence_ = 0;  // Orders those due at the same moment.
  // In the heap: its tree. In a slot: left is the one before, right the one after.
  TimerEntry* parent_ = nullptr;
  TimerEntry* left_ = nullptr;
  TimerEntry* right_ = nullptr;
  std::uint16_t place_ = nowhere;  // The number of its slot, or TimerWheel::in_heap.
};

// The entries in order of due time, then of arming. A complete binary tree whose links lie in the entries, so that
// it never allocates and no operation takes more than O(log n).
class TimerHeap {
 public:
  bool is_empty() const { return root_ == nullptr; }
  TimerEntry& front() const { return *root_; }
  void push(TimerEntry& entry);
  void erase(TimerEntry& entry);

 private:
  static bool precedes(const TimerEntry& one, const TimerEntry& other);
  static void adopt_children(TimerEntry& parent);
  TimerEntry*& link_to(const TimerEntry& entry);
  TimerEntry& parent_of(std::size_t position) const;
  void replace(TimerEntry& entry, TimerEntry& by);
  void rise(TimerEntry& child);
  void sift_up(TimerEntry& entry);
  void sift_down(TimerEntry& entry);

  TimerEntry* root_ = nullptr;
  std::size_t size_ = 0;
};

class TimerWheel {
 public:
  // How many entries one call moves or looks at, so that a lock around it is held for some microseconds at most.
  static constexpr int batch = 128;

  TimerWheel() = default;
  TimerWheel(const TimerWheel&) = delete;
  TimerWheel& operator=(const TimerWheel&) = delete;

  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }

  // Where time stands, backwards too. Only while it is empty.
  void restart(TimePoint now);

  // The entry must not be armed.
  void arm(TimerEntry& entry, TimePoint due);
  // False if the entry is not armed.
  bool cancel(TimerEntry& entry);

  // Brings what may be due at `now` into exact order, a batch at a time. False if it has to be called again before
  // anything else than arm() and cancel().
  [[nodiscard]] bool advance(TimePoint now);
  // After advance(now): takes off the first entry if it is due, or else returns null. The next one may need an
  // advance() again.
  TimerEntry* take_due(TimePoint now);
  // After take_due() has returned null: when the first entry is due; TimePoint::max() if there is none. Too early only
  // if the first of a slot with more than a batch of entries was cancelled; the entries move on at that moment, so
  // that it is too early once.
  TimePoint next_due();

 private:
  using Tick = std::uint64_t;
  static constexpr int tick_bits = 20;
  static constexpr int level_bits = 6;
  static constexpr std::size_t slots_per_level = 1U << level_bits;
  static constexpr std::size_t levels = 8;
  static_assert(tick_bits + level_bits * static_cast<int>(levels) >= 64, "all of time must fit");

  static constexpr std::uint16_t in_heap = levels * slots_per_level;
  static constexpr std::size_t no_slot = SIZE_MAX;

  struct Slot {
    TimerEntry* first = nullptr;
    TimePoint earliest{};  // Means nothing while the slot is empty.
  };

  static Tick tick_of(TimePoint time);
  std::size_t first_slot() const;
  Tick start_of(std::size_t slot) const;
  void place(TimerEntry& entry);
  void push(std::size_t number, TimerEntry& entry);
  void unlink(TimerEntry& entry);
  void refresh_earliest(std::size_t number);

  Tick base_ = 0;
  std::size_t size_ = 0;
  std::uint64_t last_sequence_ = 0;
  std::size_t open_ = no_slot;  // The slot whose entries are moving down.
  TimerHeap near_;
  std::array<std::uint64_t, levels> occupied_{};  // One bit a slot.
  std::array<std::uint64_t, levels> stale_{};
  std::array<Slot, levels * slots_per_level> slots_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
