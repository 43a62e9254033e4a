// A channel between threads and coroutines, as in Go: it buffers a few items, or none, and then sender and receiver meet.
//
//   handoff::Channel<Result> results{0};                            // a rendezvous: nothing is buffered
//   handoff::Channel<Order> orders{{.capacity = 16, .name = "orders"}};
//   if (!orders.send(std::move(order))) return;                     // refused only once closed
//   while (auto order = orders.receive()) ship(*order);             // ends when closed and drained
//
//              waits        now or refused     within a time        awaits                  one case of a select
//   send       send         try_send           send(item, 100ms)    async_send(item)        on_send(item, handler)
//   receive    receive      try_receive        receive(100ms)       async_receive()         on_receive(handler)
//
// Waiting forms also take a Wait: send(item, {.deadline = ..., .stop = ...}). For select see select.hpp.
//
// What you can rely on:
// - Capacity n: the first n items are buffered, a sender past them waits. Capacity 0: send() returns when a receiver has the item, and
//   try_send() succeeds only if one is waiting. All memory is allocated by the constructor.
// - A refused item is untouched and still the caller's, also if its sender waited. Every item accepted is received once, given back by
//   drain(), or destroyed with the channel. A receive that is refused has left the channel as it was.
// - close() refuses senders from then on, those who wait included. What is buffered can still be received; then receiving reports
//   `closed`.
// - Strictly first come, first served, items, senders and receivers alike: nobody overtakes those who wait.
// - An item whose move constructor throws does no harm. On its way into the buffer nothing has happened, and its sender gets the
//   exception; on its way to a receiver the receiver gets it, and the item counts as received.
// - Who has sent or received may destroy the channel, if nobody else is going to use it. Idle waiters use no CPU.
//
// Which one, a channel or a queue (queue.hpp)? A channel for few items at a time, for handing over, for select and between coroutines.
// A queue if threads move many items through a large buffer, or if it should drop some when it is full.
//
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a sender did before send() is seen by the receiver of that item. Capacity 0: and all the receiver did before receive()
// is seen by the sender after send().
// T must be movable. Its move constructor and destructor run under a short lock of the channel: they must not use that channel.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <expected>
#include <iterator>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/detail/channel/channel_core.hpp"
#include "handoff/detail/channel/handover.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/queue/slots.hpp"
#include "handoff/detail/queue/take_iterator.hpp"
#include "handoff/refusal.hpp"
#include "handoff/stats.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
class Channel final : private detail::ChannelCore {
  class SendOperation;
  class ReceiveOperation;
  template <typename Item, typename F>
  class SendClause;
  template <typename F>
  class ReceiveClause;
  template <typename Item, typename F>
  class SendCase;
  template <typename F>
  class ReceiveCase;

 public:
  using Result = std::expected<T, Refusal>;
  using Sent = std::expected<void, Refusal>;

  // Both throw std::invalid_argument if the capacity is too large for memory to be addressed.
  explicit Channel(std::size_t capacity) : Channel(ChannelOptions{.capacity = capacity}) {}
  explicit Channel(ChannelOptions options);
  // Destroys the items that are left. Nobody may be using the channel any more.
  ~Channel();

  // -- Send --------------------------------------------------------------------------------------

  // Waits for a receiver, or for room in the buffer. Refused with `closed`, `timed_out` or `stopped`.
  [[nodiscard]] Sent send(T&& item, const Wait& wait = {},
                          std::source_location where = std::source_location::current());

  // Waits for this long. Refused with `timed_out` or `closed`.
  template <typename Rep, typename Period>
  [[nodiscard]] Sent send(T&& item, std::chrono::duration<Rep, Period> patience,
                          std::source_location where = std::source_location::current()) {
    return send(std::move(item), Wait{.deadline = within(patience), .stop = {}}, where);
  }

  // Never waits. Refused with `full` or `closed`; a channel of capacity 0 is full unless a receiver waits.
  [[nodiscard]] Sent try_send(T&& item);

  // The same for an item to be copied: the copy is made before the channel is touched.
  [[nodiscard]] Sent send(const T& item, const Wait& wait = {},
                          std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return send(T(item), wait, where);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] Sent send(const T& item, std::chrono::duration<Rep, Period> patience,
                          std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return send(T(item), patience, where);
  }
  [[nodiscard]] Sent try_send(const T& item)
    requires std::copy_constructible<T>
  {
    return try_send(T(item));
  }

  // -- Receive -----------------------------------------------------------------------------------

  // Waits for an item. Refused with `closed` (and drained), `timed_out` or `stopped`.
  [[nodiscard]] Result receive(const Wait& wait = {},
                               std::source_location where = std::source_location::current());

  // Waits for this long. Refused with `timed_out` or `closed`.
  template <typename Rep, typename Period>
  [[nodiscard]] Result receive(std::chrono::duration<Rep, Period> patience,
                               std::source_location where = std::source_location::current()) {
    return receive(Wait{.deadline = within(patience), .stop = {}}, where);
  }

  // Never waits. Refused with `empty` or `closed`.
  [[nodiscard]] Result try_receive();

  // Hands over all that can be received now, without waiting: from the buffer, then from those who wait to send.
  std::vector<T> drain()
    requires std::is_nothrow_move_constructible_v<T>;
  // The same, one by one; for types whose move may throw. Returns how many.
  template <typename Sink>
  std::size_t drain(Sink sink);

  // for (Order& order : orders) ship(order);     ends when closed and drained.
  using Iterator = detail::TakeIterator<Channel, T>;
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() { return {}; }

  // -- The same for coroutines -------------------------------------------------------------------
  // Inside a Lazy they end with `stopped` when the task is asked to stop.

  using AsyncSend = detail::Awaitable<SendOperation>;
  using AsyncReceive = detail::Awaitable<ReceiveOperation>;

  // co_await gives a Sent. The item must outlive the co_await: name it, or write it in the same expression.
  [[nodiscard]] AsyncSend async_send(T&& item, Deadline deadline = {},
                                     std::source_location where = std::source_location::current()) {
    return AsyncSend(detail::WaitSite{"send", where}, deadline, *this, item);
  }
  // co_await gives a Result.
  [[nodiscard]] AsyncReceive async_receive(
      Deadline deadline = {}, std::source_location where = std::source_location::current()) {
    return AsyncReceive(detail::WaitSite{"receive", where}, deadline, *this);
  }

  // -- For select --------------------------------------------------------------------------------

  // Sends `item` if this case is the one that happens, and then calls handler() or handler(Sent). The item is touched only then; it
  // must outlive the select. Closed: handler(Sent) is told; if it cannot be, the select itself reports `closed`.
  template <detail::HandlesResult<void> F>
  [[nodiscard]] auto on_send(T&& item, F handler,
                             std::source_location where = std::source_location::current()) {
    return SendClause<T&, F>(*this, item, std::move(handler), where);
  }
  // The same with a copy, which is made at once.
  template <detail::HandlesResult<void> F>
  [[nodiscard]] auto on_send(const T& item, F handler,
                             std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return SendClause<T, F>(*this, item, std::move(handler), where);
  }
  // Receives an item if this case is the one that happens, and then calls handler(T) or handler(Result). Closed: handler(Result) is
  // told; if it cannot be, the select itself reports `closed`.
  template <detail::HandlesResult<T> F>
  [[nodiscard]] auto on_receive(F handler,
                                std::source_location where = std::source_location::current()) {
    return ReceiveClause<F>(*this, std::move(handler), where);
  }

  // -- Close and look ----------------------------------------------------------------------------

  // Refuses senders from now on and wakes everybody who waits. Closing again does nothing.
  using ChannelCore::close;
  using ChannelCore::is_closed;
  using ChannelCore::capacity;
  using ChannelCore::size;   // Items buffered. May be stale by the time it returns.
  using ChannelCore::stats;  // A snapshot. puts: items sent. takes: items received.

 private:
  using Tried = detail::Tried;
  using Wakes = detail::Wakes;
  using Parcel = detail::Parcel<T>;
  using Landing = detail::Landing<T>;
  friend Iterator;

  // All with the lock held.
  [[gnu::always_inline]] Tried send_locked(T& item, Wakes& wakes);
  [[gnu::always_inline]] Tried receive_locked(Landing& landing, Wakes& wakes);
  [[gnu::noinline]] bool send_to_waiting_locked(T& item, Wakes& wakes);
  [[gnu::noinline]] bool receive_from_waiting_locked(Landing& landing, Wakes& wakes);
  [[gnu::noinline]] void fill_from_waiting_locked(Wakes& wakes);

  [[gnu::noinline]] Sent send_waiting(T& item, const Wait& wait, std::source_location where);
  [[gnu::noinline]] Result receive_waiting(const Wait& wait, std::source_location where);
  Result take() { return receive(); }  // For the iterator.

  const detail::Slots<T> slots_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR

#include "handoff/detail/channel/channel.ipp"
