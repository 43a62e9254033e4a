// For users of Boost.Asio: all that a Lazy can await, in an asio::awaitable. Needs Boost 1.81; nothing else of Handoff includes it.
//
//   boost::asio::awaitable<void> ship(handoff::BlockingQueue<Order>& orders) {
//     while (auto order = co_await handoff::in_asio(orders.async_take())) co_await send(*order);
//   }
//
//   co_await in_asio(queue.async_take())                       any async_ operation, or a Future
//   co_await in_asio(report(shop))                             a Lazy
//   in_asio(report(shop), bind_executor(io, use_future))       any other completion token: callbacks, as_tuple, ...
//   in_asio([&] { return queue.async_take(); }, token)         the same for an async_ operation: it must be made where it stays
//
// - Runs on the executor of the awaiting coroutine, else of the handler; that has work until the end, so run() does not return.
// - What a Lazy throws comes out of the co_await; handlers are called with (std::exception_ptr, T), or (std::exception_ptr).
// - Asio's cancellation, of any type, requests the stop_token: an operation ends with `stopped`, a Lazy returns what it likes. If
//   the item had been taken it is given all the same. Mind who gets it: a || b throws away what the loser returns. So write
//   async_take(within(1s)) rather than || with a timer, or use the item in the coroutine that took it.
// - If the io_context is destroyed first, the operations are stopped and awaited, and their handlers destroyed.
//
// Thread safety: as for Asio's own operations: a cancellation signal is emitted on the executor (a strand, if several threads run it).
#pragma once

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <source_location>
#include <type_traits>
#include <utility>

#include "handoff/detail/asio/asio_operation.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// `what` is a Lazy, something to co_await in a Lazy, or a function that returns one of these, which is kept until the end. An
// async_ operation itself cannot be moved: its in_asio() must be awaited in the same expression.
template <typename What, typename Token = boost::asio::use_awaitable_t<>>
auto in_asio(What&& what, Token&& token = Token(),
             std::source_location where = std::source_location::current()) {
  auto lazy = detail::as_lazy<What>(std::forward<What>(what));
  using T = typename decltype(lazy)::Value;
  using Result = decltype(boost::asio::async_initiate<Token, detail::AsioSignature<T>>(
      detail::StartInAsio(), token, std::move(lazy), where));
  static_assert(
      !detail::is_borrowed<What> || detail::IsAsioAwaitable<Result>::value,
      "the operation would be gone before it is done: write in_asio([&] { return ...; }, token)");
  static_assert(
      detail::HasEmptyValue<T> || detail::AsioAwaitableOf<Result, T>,
      "beside an exception the handler needs a value, and there is none: return a std::optional");
  return boost::asio::async_initiate<Token, detail::AsioSignature<T>>(detail::StartInAsio(), token,
                                                                      std::move(lazy), where);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
