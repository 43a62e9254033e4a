// Several coroutines at once, as one.
//
//   auto [user, orders] = co_await handoff::when_all(load_user(id), load_orders(id));
//   auto first = co_await handoff::when_any(from_cache(key), from_store(key));      // the losers are stopped
//   auto page = co_await handoff::with_timeout(2s, fetch(url));                     // std::expected
//   co_await handoff::sleep_for(100ms);
//
//   when_all(a, b, ...), when_all(vector)             all results; the first error stops the others and is thrown
//   collect(vector)                                   all results and errors; nobody is stopped
//   when_any(a, b, ...), when_any(vector)             the first to end, by a result or by an error; the others are stopped
//   first_success(a, b, ...), first_success(vector)   the first result; throws the last error if there is none
//   with_timeout(time, a)                             asked to stop after the time
//   shield(time, a)                                   not asked to stop until the time after its awaiter was
//
// They run where their awaiter runs: on a pool at the same time. However it ends, the co_await is over only when all of them have
// ended, so nothing outlives it: one that is slow to heed its stop_token delays the others. The awaiter's stop is theirs too.
#pragma once

#include <chrono>
#include <cstddef>
#include <exception>
#include <expected>
#include <optional>
#include <source_location>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/coro/group.hpp"
#include "handoff/lazy.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// -- All ------------------------------------------------------------------------------------------

// A tuple of the results, std::monostate for void.
template <typename... T>
Lazy<std::tuple<detail::Kept<T>...>> when_all(Lazy<T>... lazies) {
  detail::Group group(detail::GroupRule::all);
  std::tuple<detail::GroupChild<T>...> children{
      detail::GroupChildArguments<T>{group, std::move(lazies)}...};
  co_await group.run(children);
  group.rethrow_first_error();
  co_return std::apply(
      [](auto&... child) { return std::tuple<detail::Kept<T>...>(child.take()...); }, children);
}

template <typename T>
Lazy<std::vector<detail::Kept<T>>> when_all(std::vector<Lazy<T>> lazies) {
  detail::Group group(detail::GroupRule::all);
  detail::GroupChildren<T> children(group, std::move(lazies));
  co_await group.run(children);
  group.rethrow_first_error();
  std::vector<detail::Kept<T>> results;
  results.reserve(children.size());
  for (auto& child : children) results.push_back(child.take());
  co_return results;
}

// Each result, or what it threw.
template <typename T>
Lazy<std::vector<std::expected<detail::Kept<T>, std::exception_ptr>>> collect(
    std::vector<Lazy<T>> lazies) {
  detail::Group group(detail::GroupRule::collect);
  detail::GroupChildren<T> children(group, std::move(lazies));
  co_await group.run(children);
  std::vector<std::expected<detail::Kept<T>, std::exception_ptr>> results;
  results.reserve(children.size());
  for (auto& child : children) {
    if (child.error()) {
      results.push_back(std::unexpected(child.error()));
    } else {
      results.push_back(child.take());
    }
  }
  co_return results;
}

// -- The first ------------------------------------------------------------------------------------

// The result of the first of several, and which it was.
template <typename T>
struct First {
  std::size_t index;
  T result;
};

template <typename T>
Lazy<First<detail::Kept<T>>> when_any(std::vector<Lazy<T>> lazies) {
  detail::Group group(detail::GroupRule::first_end);
  detail::GroupChildren<T> children(group, std::move(lazies));
  co_await group.run(children);
  auto& winner = children[group.winner()];
  if (winner.error()) std::rethrow_exception(winner.error());
  co_return First<detail::Kept<T>>{.index = group.winner(), .result = winner.take()};
}

// A variant of the results, std::monostate for void; its index() says which it was.
template <typename... T>
Lazy<std::variant<detail::Kept<T>...>> when_any(Lazy<T>... lazies) {
  detail::Group group(detail::GroupRule::first_end);
  std::tuple<detail::GroupChild<T>...> children{
      detail::GroupChildArguments<T>{group, std::move(lazies)}...};
  co_await group.run(children);
  co_return detail::take_winner<std::variant<detail::Kept<T>...>>(children, group.winner());
}

template <typename T>
Lazy<First<detail::Kept<T>>> first_success(std::vector<Lazy<T>> lazies) {
  detail::Group group(detail::GroupRule::first_success);
  detail::GroupChildren<T> children(group, std::move(lazies));
  co_await group.run(children);
  if (!group.has_winner()) group.rethrow_last_error();
  auto& winner = children[group.winner()];
  co_return First<detail::Kept<T>>{.index = group.winner(), .result = winner.take()};
}

template <typename... T>
Lazy<std::variant<detail::Kept<T>...>> first_success(Lazy<T>... lazies) {
  detail::Group group(detail::GroupRule::first_success);
  std::tuple<detail::GroupChild<T>...> children{
      detail::GroupChildArguments<T>{group, std::move(lazies)}...};
  co_await group.run(children);
  if (!group.has_winner()) group.rethrow_last_error();
  co_return detail::take_winner<std::variant<detail::Kept<T>...>>(children, group.winner());
}

// -- Time -----------------------------------------------------------------------------------------

// co_await gives std::expected<void, Refusal>: refused with `stopped`.
[[nodiscard]] inline detail::Awaitable<detail::Sleep> sleep_until(
    Deadline time, std::source_location where = std::source_location::current()) {
  return detail::Awaitable<detail::Sleep>(detail::WaitSite{"sleep", where}, time, time);
}
template <typename Rep, typename Period>
[[nodiscard]] detail::Awaitable<detail::Sleep> sleep_for(
    std::chrono::duration<Rep, Period> time,
    std::source_location where = std::source_location::current()) {
  return sleep_until(within(time), where);
}

// Asks it to stop after the time, and waits until it has ended. A Lazy of std::expected<T, Refusal>: what it gives, except
// that `stopped` is `timed_out` if that is why. Any other: its value if it ended in time, `timed_out` otherwise.
template <typename Rep, typename Period, typename T>
Lazy<detail::TimedResult<T>> with_timeout(std::chrono::duration<Rep, Period> time, Lazy<T> lazy) {
  detail::Group group(detail::GroupRule::all);
  std::tuple<detail::GroupChild<T>> child{detail::GroupChildArguments<T>{group, std::move(lazy)}};
  group.stop_at(within(time));
  co_await group.run(child);
  group.rethrow_first_error();
  co_return detail::timed_result<T>(std::get<0>(child), group.has_timed_out());
}

// Goes on although its awaiter is asked to stop, but not for longer than the time from then on.
template <typename Rep, typename Period, typename T>
Lazy<T> shield(std::chrono::duration<Rep, Period> time, Lazy<T> lazy) {
  detail::Group group(detail::GroupRule::all);
  std::tuple<detail::GroupChild<T>> child{detail::GroupChildArguments<T>{group, std::move(lazy)}};
  group.outlast_stop_by(detail::saturated(time));
  co_await group.run(child);
  group.rethrow_first_error();
  if constexpr (!std::is_void_v<T>) co_return std::get<0>(child).take();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
