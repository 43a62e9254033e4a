// Several callables at once on a pool, as one, for a thread that waits: what when.hpp is for coroutines.
//
//   auto both = handoff::all(pool, [&] { return load_user(id); }, [&] { return load_orders(id); });
//   auto answer = handoff::race(pool, ask_first, ask_second, ask_third);           // the losers are asked to stop
//   auto mirror = handoff::first_success(pool, from_disk, from_net);               // an error only if all fail
//
//   all              std::expected of a tuple of all results; the first error stops the others and is thrown
//   race             std::expected of First: the first to end, by its result or by what it threw
//   first_success    std::expected of First: the first result; throws the last error if there is none
//
// A callable may take a std::stop_token: it is requested when the result no longer counts, and by an interrupting shutdown of
// the pool. All of them have ended when the call returns: nothing runs on. Refused as the pool refuses, and then none of them has run.
#pragma once

#include <expected>
#include <functional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/job.hpp"
#include "handoff/pool.hpp"
#include "handoff/refusal.hpp"
#include "handoff/spawn.hpp"
#include "handoff/when.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

namespace detail {

// Calls it as part of a task, on whatever thread runs that.
template <typename F>
Lazy<JobResult<F>> as_lazy(F f) {
  const std::stop_token stop = co_await current_stop();
  co_return call_job(f, stop);
}

template <typename T>
std::expected<T, Refusal> run_on(WorkerPool& pool, Lazy<T> lazy) {
  auto future = spawn(pool, std::move(lazy));
  if (!future) return std::unexpected(future.error());
  return future->get();
}

template <typename... F>
using CommonResult = std::common_type_t<Kept<JobResult<F>>...>;

template <typename R, typename F>
Lazy<R> as_lazy_of(F f) {
  const std::stop_token stop = co_await current_stop();
  if constexpr (std::is_void_v<JobResult<F>>) {
    call_job(f, stop);
    co_return R();
  } else {
    co_return call_job(f, stop);
  }
}

template <typename... F>
std::vector<Lazy<CommonResult<F...>>> as_lazies(F&&... f) {
  using Result = CommonResult<F...>;
  std::vector<Lazy<Result>> lazies;
  lazies.reserve(sizeof...(F));
  (lazies.push_back(as_lazy_of<Result, std::decay_t<F>>(std::forward<F>(f))), ...);
  return lazies;
}

}  // namespace detail

template <JobFunction... F>
std::expected<std::tuple<detail::Kept<detail::JobResult<F>>...>, Refusal> all(WorkerPool& pool,
                                                                              F&&... f) {
  return detail::run_on(pool, when_all(detail::as_lazy<std::decay_t<F>>(std::forward<F>(f))...));
}

template <JobFunction... F>
std::expected<First<detail::CommonResult<F...>>, Refusal> race(WorkerPool& pool, F&&... f) {
  return detail::run_on(pool, when_any(detail::as_lazies(std::forward<F>(f)...)));
}

template <JobFunction... F>
std::expected<First<detail::CommonResult<F...>>, Refusal> first_success(WorkerPool& pool,
                                                                        F&&... f) {
  return detail::run_on(pool, first_success(detail::as_lazies(std::forward<F>(f)...)));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
