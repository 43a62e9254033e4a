// The one place where a thread sleeps: wait on a word until it changes, wake those who wait on it.
//
// Linux: the futex system call. Elsewhere, or with HANDOFF_PORTABLE_PARK: a fixed table of mutexes
// and condition variables found by hashing the word's address, so that a wake-up never touches
// memory of the waiter, which may be gone by then.
#pragma once

#include <cstdint>

#include "handoff/clock.hpp"
#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Sleeps while `word` holds `expected`, at the longest until `deadline` on the real clock. Returns
// false once the deadline has passed; true otherwise, also for no reason: callers look again.
bool futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, TimePoint deadline);

// The same for the low half of a 64-bit word, without a deadline.
void futex_wait(atomic<std::uint64_t>& word, std::uint64_t expected);

// Wakes one sleeper of the word at this address. The word itself is not read: it may be gone.
void futex_wake_one(const void* word);
void futex_wake_one(const atomic<std::uint64_t>& word);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
