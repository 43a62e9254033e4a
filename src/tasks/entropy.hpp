// Random numbers nobody can guess, from the kernel: for ids, lease tokens and jitter.
#pragma once

#include <cstdint>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// 64 random bits. A few nanoseconds: each thread fetches some more than it needs. A forked child never gets what its parent gets, however it
// was forked. Throws std::system_error if the kernel has none, which no kernel since 3.17 does.
std::uint64_t random_bits();

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
