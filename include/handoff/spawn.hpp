// Runs a coroutine on the workers of a pool.
//
//   auto total = handoff::spawn(pool, sum(numbers));         // std::expected<Future<int>, Refusal>
//   if (!total) return busy();
//   auto result = co_await *total;                           // or total->get() from a thread
//
// - From outside it waits in the pool's queue like a job, by the pool's policy when that is full. Spawned by a coroutine or job
//   of the same pool it needs no room there: it is refused only past options.coroutines, or once the pool has ended.
// - A refused Lazy is untouched, still the caller's.
// - Once begun it is resumed on the pool's workers whatever the queue holds, and holds no worker while it waits.
// - Its stop_token is the pool's: an interrupting shutdown requests it, and waits until all coroutines have ended.
// - Dropping the future is fine: the coroutine runs all the same. If it should not outlive its parent, use a Scope.
#pragma once

#include <expected>
#include <memory>
#include <source_location>
#include <utility>

#include "handoff/detail/coro/spawned.hpp"
#include "handoff/future.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
[[nodiscard]] std::expected<Future<T>, Refusal> spawn(
    WorkerPool& pool, Lazy<T>&& lazy, const Wait& wait = {},
    std::source_location where = std::source_location::current()) {
  auto& core = detail::PoolAccess::core(pool);
  static_cast<void>(detail::LazyAccess::promise(lazy));  // Throws now if it was moved from.
  detail::SpawnedTask<T>* task = nullptr;
  const auto make = [&]() -> detail::PoolTask& {
    return *(task = new detail::SpawnedTask<T>(core, std::move(lazy), where));
  };
  if (auto refusal = detail::hand_in(core, make, wait, where)) return std::unexpected(*refusal);
  return Future<T>(task);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
