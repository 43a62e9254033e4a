// What the locks of a checked build tell the order checker. See handoff/lock_order.hpp.
//
// Called only where detail::checked_build is true; in other builds these functions do not exist.
#pragma once

#include <source_location>

#include "handoff/detail/core/primitive.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// This thread is about to wait for `lock`, for as long as it takes, with what it holds already.
void about_to_lock(Primitive& lock, std::source_location where);

// This thread holds `lock` now.
void locked(Primitive& lock, std::source_location where);

// This thread is about to give `lock` back.
void about_to_unlock(Primitive& lock);

// The same for a coroutine, which may go on on another thread: the order in which it takes locks is not followed, but rings of
// those who wait for each other are found.
void locked_for(ThreadId owner, Primitive& lock, std::source_location where);
void about_to_unlock_for(ThreadId owner, Primitive& lock);

// `lock` is being destroyed.
void forget_lock(const Primitive& lock);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
