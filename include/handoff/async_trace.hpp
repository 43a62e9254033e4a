// Through whom an exception came: the chain of coroutines that awaited each other when it was thrown.
//
//   handoff::keep_async_traces(true);                        // on request: off to begin with
//   try {
//     handoff::sync_wait(serve());
//   } catch (const std::exception& error) {
//     log("{}, awaited at {}", error.what(), handoff::to_string(handoff::async_trace(std::current_exception())));
//   }                                                        // "awaited at stock.cpp:31 (load), shop.cpp:12 (serve), main.cpp:9 (main)"
//
// waits() shows the same chain for a coroutine that waits (WaitInfo::awaited_by).
//
// Noted once, when the exception leaves the innermost coroutine; it stays with the exception however often that is rethrown, through
// when_all, a Future or a Scope too. Kept for the last 256 exceptions, which are kept alive with it.
// Thread safety: any function, any thread.
#pragma once

#include <exception>
#include <source_location>
#include <string>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// From now on. Turned off, it forgets what it has.
void keep_async_traces(bool on);

// The co_await each of them was at, the innermost first, last where the task was spawned. Empty if it is not known.
std::vector<std::source_location> async_trace(const std::exception_ptr& error);

// "stock.cpp:31 (load), shop.cpp:12 (serve)"
std::string to_string(const std::vector<std::source_location>& trace);

}  // namespace handoff::inline HANDOFF_FLAVOUR
