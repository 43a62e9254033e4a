// Runs a coroutine on the calling thread and waits for it: the way from a thread into coroutines.
//
//   int main() { handoff::sync_wait(serve()); }
//   auto total = handoff::sync_wait(sum(numbers), stop);        // what it awaits ends with `stopped` if a stop is requested
//
// The thread runs the coroutine, and sleeps while that is suspended. On a worker of a pool a spare comes in meanwhile.
// What the coroutine throws comes out. Without a token of its own it heeds that of the scope's child that calls it, if one does.
#pragma once

#include <source_location>
#include <stop_token>

#include "handoff/detail/coro/run_loop.hpp"
#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
T sync_wait(Lazy<T> lazy, std::stop_token stop = detail::stop_here(),
            std::source_location where = std::source_location::current()) {
  auto& promise = detail::LazyAccess::promise(lazy);
  detail::LoopTask task(std::move(stop), where);
  task.run_to_end(promise);
  return promise.take();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
