// Who a thread is: a small number, and the name that waits() shows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Waiter;

// Numbers are never reused within a process, so a stale one names nobody rather than somebody else.
using ThreadId = std::uint32_t;

inline constexpr ThreadId no_thread = 0;

inline thread_local constinit ThreadId this_thread_id_cache = no_thread;

ThreadId assign_this_thread_id();

inline ThreadId this_thread_id() {
  if (this_thread_id_cache != no_thread) [[likely]]
    return this_thread_id_cache;
  return assign_this_thread_id();
}

// A number for a coroutine that owns a lock, as a thread does under its own.
inline constexpr ThreadId first_coroutine_id = ThreadId{1} << 31;
ThreadId next_coroutine_id();

// The name given with name_this_thread(), else the system's name for the thread and its number. A thread
// that has ended or never met the library is "thread N".
std::string thread_name(ThreadId id);
// For that name only: the system does not learn of it.
void rename_this_thread(std::string_view name);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
