// The OS threads that carry simulated ones. They are kept for the next, and all on one core: only one of them runs at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

class SimThread;

// Sleeps in the kernel until the word is 1, and makes it 0.
void take_baton(std::atomic<std::uint32_t>& baton);
void give_baton(std::atomic<std::uint32_t>& baton);

// Gives the thread an OS thread, which waits for the baton. Throws std::system_error if there is none to be had.
void carry(std::shared_ptr<SimThread> thread);

// The one that the calling OS thread carries; null if none.
SimThread* carried_here();

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
