// The waiting operations of locks and the like, each as a coroutine to be begun on a ManualExecutor.
#pragma once

#include <cstddef>
#include <expected>

#include "coro/manual_executor.hpp"
#include "handoff/lazy.hpp"
#include "handoff/sync.hpp"

namespace handoff::tests {

using Result = std::expected<void, Refusal>;
using Call = Begun<Result>;

inline const Result done{};
inline const Result stopped{std::unexpected(Refusal::stopped)};
inline const Result timed_out{std::unexpected(Refusal::timed_out)};

template <typename Primitive>
std::size_t waiting(const Primitive& primitive) {
  return primitive.stats().waiting_consumers;
}

template <typename Source>
Lazy<Result> acquire(Source& source, std::size_t n = 1, Deadline deadline = {}) {
  co_return co_await source.async_acquire(n, deadline);
}

template <typename Source>
Lazy<Result> wait_for(Source& source, Deadline deadline = {}) {
  co_return co_await source.async_wait(deadline);
}

// Keeps what it got until `until` is set, which it awaits.
inline Lazy<Result> hold(Semaphore& semaphore, std::size_t n, Event& until) {
  auto permits = co_await semaphore.async_hold(n);
  if (!permits) co_return std::unexpected(permits.error());
  co_return co_await until.async_wait();
}

template <typename Lock>
Lazy<Result> lock(Lock& mutex, Event& until, Deadline deadline = {}) {
  auto held = co_await mutex.async_lock(deadline);
  if (!held) co_return std::unexpected(held.error());
  (void)co_await until.async_wait();
  co_return Result{};
}

inline Lazy<Result> lock_shared(SharedMutex& mutex, Event& until, Deadline deadline = {}) {
  auto held = co_await mutex.async_lock_shared(deadline);
  if (!held) co_return std::unexpected(held.error());
  (void)co_await until.async_wait();
  co_return Result{};
}

}  // namespace handoff::tests
