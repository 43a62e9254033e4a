// The atomics and threads that library code uses. Plain aliases; the simulated flavour swaps them, which is
// why nothing outside core names the std types.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "handoff/detail/core/config.hpp"
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
#include "handoff/detail/core/simulated_atomic.hpp"
#include "handoff/detail/core/simulated_thread.hpp"
#elif defined(HANDOFF_WEAK_MEMORY) && HANDOFF_WEAK_MEMORY
#include "weak_memory/weak_atomic.hpp"
#endif

namespace handoff::inline HANDOFF_FLAVOUR::detail {

#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
template <typename T>
using atomic = sim::Atomic<T>;

using Thread = sim::Thread;
#elif defined(HANDOFF_WEAK_MEMORY) && HANDOFF_WEAK_MEMORY
template <typename T>
using atomic = weak::Atomic<T>;

using Thread = std::jthread;
#else
template <typename T>
using atomic = std::atomic<T>;

using Thread = std::jthread;
#endif

// Memory orders under short names: every use below seq_cst names its partner in a comment.
inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

// What two threads write separately is kept this far apart. A constant rather than the compiler's
// interference size, which may differ between translation units.
inline constexpr std::size_t cache_line = 64;

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
