// How the two files that replace parts of the library talk to Relacy.
#pragma once

#include <source_location>

#include "handoff/detail/core/thread_info.hpp"
#include "weak_memory/relacy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::weak {

// Whether the caller is one of Relacy's threads, which are fibers of one thread of the system.
inline bool in_execution() { return rl::is_ctx() && rl::ctx().threadx_ != nullptr; }

inline rl::debug_info info_of(const std::source_location& where) {
  return {where.function_name(), where.file_name(), where.line()};
}

// After all that may have let others run: thread_local variables are those of all fibers.
inline void be_this_thread() {
  this_thread_id_cache = static_cast<ThreadId>(rl::ctx().threadx_->index_ + 1);
}

// Before anything of the library is made: forgets what the execution before has left.
void begin_execution();
// After all of it is gone.
void end_execution();

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::weak
