// In place of src/core/futex.cpp and spin.cpp: sleeping is Relacy's business, and nobody spins.
//
// Sleeping and waking order nothing here: what the sleeper sees afterwards it must have got from an atomic.
#include <algorithm>
#include <vector>

#include "handoff/detail/core/futex.hpp"
#include "handoff/detail/core/spin.hpp"
#include "weak_memory/relacy_here.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

struct Sleeper {
  const void* word;
  rl::thread_id_t thread;
};
std::vector<Sleeper> sleepers;

// Relacy keeps account of memory, and takes what outlives an execution for a leak. The library has caches and registries.
struct Allocations : rl::context {
  static int& off(rl::context& context) { return context.*&Allocations::disable_alloc_; }
};

template <typename Bits>
bool wait(atomic<Bits>& word, Bits expected, bool is_timed) {
  auto& context = rl::ctx();
  const auto info = weak::info_of(std::source_location::current());
  if (word.is_plain()) {
    if (word.newest() == expected) context.yield(1, info);
    weak::be_this_thread();
    return true;
  }
  context.sched();
  weak::be_this_thread();
  if (word.newest() != expected) return true;
  const rl::thread_id_t self = context.threadx_->index_;
  sleepers.push_back({.word = &word, .thread = self});
  // Mostly not for no reason: that would make good for a lost wake-up.
  const bool may_wake_for_no_reason = rl::rand(8) == 0;
  const auto reason = context.park_current_thread(is_timed, may_wake_for_no_reason, false, info);
  weak::be_this_thread();
  std::erase_if(sleepers, [&](const Sleeper& each) { return each.thread == self; });
  return reason != rl::unpark_reason_timeout;
}

}  // namespace

bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, TimePoint deadline) {
  return wait(word, expected, deadline != TimePoint::max());
}

void futex_wait(atomic<std::uint64_t>& word, std::uint64_t expected) {
  wait(word, expected, false);
}

void futex_wake_one(const void* word) {
  auto& context = rl::ctx();
  context.sched();
  weak::be_this_thread();
  const auto first = std::ranges::find(sleepers, word, &Sleeper::word);
  if (first == sleepers.end()) return;
  const rl::thread_id_t thread = first->thread;
  sleepers.erase(first);
  context.unpark_thread(thread, false, weak::info_of(std::source_location::current()));
}

void futex_wake_one(const atomic<std::uint64_t>& word) {
  futex_wake_one(static_cast<const void*>(&word));
}

bool spinning_pays() { return false; }

void spin_for(Duration) {}

namespace weak {

void begin_atomics();
void end_atomics();

void begin_execution() {
  if (int& off = Allocations::off(rl::ctx()); off == 0) off = 1;
  sleepers.clear();
  begin_atomics();
  be_this_thread();
}

void end_execution() { end_atomics(); }

}  // namespace weak

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
