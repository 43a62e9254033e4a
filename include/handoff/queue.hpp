// A bounded first-in, first-out queue between threads.
//
//   handoff::BlockingQueue<Order> orders{{.capacity = 1024, .name = "orders"}};
//   if (!orders.put(std::move(order))) return;           // producer: refused only once closed
//   while (auto order = orders.take()) ship(*order);     // consumer: ends when closed and drained
//
//              waits              now or refused    within a time         by policy when full
//   add one    put(item)          offer(item)       offer(item, 100ms)    push(item)
//   add many   put_all(items)
//   take one   take()             poll()            poll(100ms)
//   take many  take_some(max)     drain()
//   co_await   async_put(item)                      async_offer(item, 100ms)
//              async_take()                         async_poll(100ms)
//
// Waiting forms also take a Wait: put(item, {.deadline = ..., .stop = ...}).
//
// What you can rely on:
// - Bounded: never more than `capacity` items, any number from 1 on, not rounded up. All memory for them is
//   allocated by the constructor.
// - A refused item is untouched and still the caller's. Every item accepted is taken once, given
//   back by drain(), handed to on_drop, or destroyed with the queue.
// - close() refuses adding from then on; taking drains what is left, then reports `closed`. A put
//   that got in before close() is delivered, even if its thread was descheduled half-way: close() and
//   the other producers then wait for it.
// - First in, first out, and linearizable, the forms that do not wait included: poll() says `empty` only if at
//   some moment during the call no item was there, offer() says `full` only if there was no room.
// - Waiters are woken first come, first served. A running thread may overtake a sleeping one, but
//   no sleeper is overtaken more than 1,048,576 times or loses more than 4 of the turns it was
//   woken for: then the next operation, of any form, serves it first.
// - An item whose move constructor throws does no harm: on the way in nothing has happened; on
//   the way out the taker gets the exception, and the item counts as taken.
// - Idle waiters use no CPU.
//
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a producer did before adding an item is seen by the consumer that takes it.
// T must be movable. Its move constructor and destructor run under a short lock of the queue: they must not use
// that queue themselves.
#pragma once

#include <concepts>
#include <cstddef>
#include <exception>
#include <expected>
#include <functional>
#include <iterator>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/queue/async_turns.hpp"
#include "handoff/detail/queue/queue_core.hpp"
#include "handoff/detail/queue/slots.hpp"
#include "handoff/detail/queue/take_iterator.hpp"
#include "handoff/refusal.hpp"
#include "handoff/stats.hpp"
#include "handoff/wait.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
class BlockingQueue final : private detail::QueueCore {
  class PutTurn;
  class TakeTurn;

 public:
  // Called, without a lock, with each item that push() drops: under drop_oldest the evicted one, which the hook may move
  // from; under drop_newest the refused one, which is still the caller's. What it throws reaches the caller of push().
  using OnDrop = std::function<void(T& item)>;
  using Result = std::expected<T, Refusal>;
  using Added = std::expected<void, Refusal>;

  // Throws std::invalid_argument if options.capacity is 0 or too large for memory to be addressed.
  explicit BlockingQueue(QueueOptions options, OnDrop on_drop = {});
  // Destroys the items that are left. Nobody may be using the queue any more.
  ~BlockingQueue();

  // -- Add ---------------------------------------------------------------------------------------

  // Waits while the queue is full. Refused with `closed`, `timed_out` or `stopped`.
  [[nodiscard]] Added put(T&& item, const Wait& wait = {},
                          std::source_location where = std::source_location::current());

  // Never waits. Refused with `full` or `closed`.
  [[nodiscard]] Added offer(T&& item);

  // Waits for room for this long. Refused with `timed_out` or `closed`.
  template <typename Rep, typename Period>
  [[nodiscard]] Added offer(T&& item, std::chrono::duration<Rep, Period> patience,
                            std::source_location where = std::source_location::current()) {
    return put(std::move(item), {.deadline = within(patience)}, where);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] Added offer(const T& item, std::chrono::duration<Rep, Period> patience,
                            std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return put(T(item), {.deadline = within(patience)}, where);
  }

  // Does what options.when_full says. Not [[nodiscard]]: under the dropping policies the result may be ignored.
  Added push(T&& item, const Wait& wait = {},
             std::source_location where = std::source_location::current());

  // Waits until all are in, in order and moved from. See PutAll for what happens otherwise.
  [[nodiscard]] PutAll put_all(std::span<T> items, const Wait& wait = {},
                               std::source_location where = std::source_location::current());

  // The same for an item to be copied: the copy is made before the queue is touched.
  [[nodiscard]] Added put(const T& item, const Wait& wait = {},
                          std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return put(T(item), wait, where);
  }
  [[nodiscard]] Added offer(const T& item)
    requires std::copy_constructible<T>
  {
    return offer(T(item));
  }
  Added push(const T& item, const Wait& wait = {},
             std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return push(T(item), wait, where);
  }

  // -- Take --------------------------------------------------------------------------------------

  // Waits while the queue is empty. Refused with `closed` (and drained), `timed_out` or `stopped`.
  [[nodiscard]] Result take(const Wait& wait = {},
                            std::source_location where = std::source_location::current());

  // Never waits. Refused with `empty` or `closed`.
  [[nodiscard]] Result poll();

  // Waits for an item for this long. Refused with `timed_out` or `closed`.
  template <typename Rep, typename Period>
  [[nodiscard]] Result poll(std::chrono::duration<Rep, Period> patience,
                            std::source_location where = std::source_location::current()) {
    return take({.deadline = within(patience)}, where);
  }

  // Waits for one item and takes what else is there, up to `max`, oldest first. One at a time if T's move may throw:
  // an exception could not say what became of the others.
  [[nodiscard]] std::expected<std::vector<T>, Refusal> take_some(
      std::size_t max, const Wait& wait = {},
      std::source_location where = std::source_location::current());

  // Hands over all that is there now, without waiting.
  std::vector<T> drain()
    requires std::is_nothrow_move_constructible_v<T>;
  // The same, one by one; for types whose move may throw. Returns how many.
  template <typename Sink>
  std::size_t drain(Sink sink);

  // -- The same for coroutines -------------------------------------------------------------------
  // Inside a Lazy they end with `stopped` when the task is asked to stop. A put that was refused has left the item where it
  // was, a take that was refused has left the queue as it was.

  using AsyncPut = detail::Awaitable<detail::TurnOperation<PutTurn>>;
  using AsyncTake = detail::Awaitable<detail::TurnOperation<TakeTurn>>;

  // co_await gives an Added. The item must outlive the co_await: name it, or write it in the same expression.
  [[nodiscard]] AsyncPut async_put(T&& item, Deadline deadline = {},
                                   std::source_location where = std::source_location::current()) {
    return AsyncPut(detail::WaitSite{"put", where}, deadline, *this, item);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] AsyncPut async_offer(T&& item, std::chrono::duration<Rep, Period> patience,
                                     std::source_location where = std::source_location::current()) {
    return async_put(std::move(item), within(patience), where);
  }
  // co_await gives a Result.
  [[nodiscard]] AsyncTake async_take(Deadline deadline = {},
                                     std::source_location where = std::source_location::current()) {
    return AsyncTake(detail::WaitSite{"take", where}, deadline, *this);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] AsyncTake async_poll(std::chrono::duration<Rep, Period> patience,
                                     std::source_location where = std::source_location::current()) {
    return async_take(within(patience), where);
  }

  // -- For select --------------------------------------------------------------------------------

  // Takes an item if this case is the one that happens, and then calls handler(T) or handler(Result). Closed and drained:
  // handler(Result) is told; if it cannot be, the select itself reports `closed`. See select.hpp.
  template <detail::HandlesResult<T> F>
  [[nodiscard]] auto on_take(F handler,
                             std::source_location where = std::source_location::current()) {
    return detail::TakeCase<BlockingQueue, TakeTurn, F>(*this, std::move(handler), where);
  }

  // -- Close and look ----------------------------------------------------------------------------

  // Refuses producers from now on and wakes everybody who waits. Closing again does nothing.
  using QueueCore::close;
  using QueueCore::is_closed;
  using QueueCore::capacity;
  using QueueCore::size;   // May be stale by the time it returns.
  using QueueCore::stats;  // A snapshot.

  // for (Order& order : orders) ship(order);     ends when closed and drained.
  using Iterator = detail::TakeIterator<BlockingQueue, T>;
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() { return {}; }

 private:
  using Tried = detail::Tried;
  class TakeOut;
  struct Evicted {
    std::optional<T> item = {};
    bool is_gone = false;  // Also if its move threw: there is no item then.
  };

  Tried try_put(T& item);
  std::size_t try_put_some(std::span<T> items);
  Added push_evicting(T& item);
  // Done: the consumers' side is locked at `index`, and the item there is the caller's to take out.
  Tried lock_item(std::uint64_t& index);
  std::size_t try_take_some(std::vector<T>& items, std::size_t max);
  void evict_locked(std::uint64_t tail, Evicted& evicted);
  // Kept out of line, so that the operations that need neither stay small.
  [[gnu::noinline]] bool serve_producer(std::uint64_t tail);
  [[gnu::noinline]] bool serve_consumer(std::uint64_t head);
  [[gnu::noinline]] Added put_waiting(T& item, const Wait& wait, std::source_location where);
  [[gnu::noinline]] Result take_waiting(const Wait& wait, std::source_location where);
  void dropped(T& item);

  alignas(detail::cache_line) const detail::Slots<T> slots_;
  const OnDrop on_drop_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR

#include "handoff/detail/queue/blocking_queue.ipp"
