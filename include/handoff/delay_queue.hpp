// A bounded queue between threads and coroutines that hands out each item when it is due, the earliest first.
//
//   handoff::DelayQueue<Retry> retries{{.capacity = 10'000, .name = "retries"}};
//   if (!retries.put(std::move(retry), handoff::due_in(30s))) return;    // or due_at(a moment)
//   while (auto retry = retries.take()) send(*retry);                    // waits until one is due
//
//              waits                 now or refused      within a time              by policy when full
//   add one    put(item, due)        offer(item, due)    offer(item, due, 100ms)    push(item, due)
//   add many   put_all(items, due)
//   take one   take()                poll()              poll(100ms)
//   take many  take_some(max)        drain()
//   co_await   async_put(item, due)                      async_offer(item, due, 100ms)
//              async_take()                              async_poll(100ms)
//
// Waiting forms also take a Wait: put(item, due, {.deadline = ..., .stop = ...}).
//
// The order:
// - An item comes out when it is due, not before. The earliest due comes first; those due at the same moment come first in,
//   first out. A delay counts from the call that adds the item, waiting for room included.
// - Time is handoff::now(); a delay too long to be represented means never. An item due in the past is due at once.
// - Taking says `empty`, or waits, while nothing is due. An item put later but due earlier shortens the wait.
// - drain() hands over everything, due or not.
//
// After close(), adding is refused, and what was accepted is still delivered when it is due: take() reports `closed` once
// all is gone. Who does not want to wait for that calls drain(), which also ends the waits of others.
//
// push() on a full queue:
// - drop_oldest: the item due first makes room, even if the new one is due before it.
// - drop_newest, reject, block: as for every queue. See when_full.hpp.
//
// What you can rely on:
// - Bounded: never more than `capacity` items, due or not, any number from 1 on, not rounded up. All memory for them is
//   allocated by the constructor. Adding and taking cost O(log size).
// - A refused item is untouched and still the caller's. Every item accepted is taken once, given back by drain(),
//   handed to on_drop, or destroyed with the queue.
// - Linearizable, the forms that do not wait included: poll() says `empty` only if at some moment during the call nothing
//   was due, offer() says `full` only if there was no room.
// - Of the takers that wait, the first one watches the time, and only it wakes when an item becomes due: no herd. It is not
//   overtaken; when it leaves, whatever the reason, the next in line takes over the watch. While a coroutine or a select waits, a
//   timer watches instead and gives the item to the first in line: a coroutine that has to wait for a worker holds up nobody.
// - Those behind it are woken first come, first served. A running thread may overtake them, but no sleeper, producer or
//   consumer, is overtaken more than 1,048,576 times or loses more than 4 of the turns it was woken for: then the
//   next operation, of any form, serves it first.
// - An item whose move constructor throws does no harm: on the way in nothing has happened; on the way out the taker gets
//   the exception, and the item counts as taken. It is moved once on the way in and does not move while it waits.
// - Idle waiters use no CPU.
//
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a producer did before adding an item is seen by the consumer that takes it.
// T must be movable. Its move constructor and destructor run under a short lock of the queue: they must not use
// that queue themselves. If coroutines or selects take, also on the thread of the timers: they must be short.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <iterator>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/queue/delay_core.hpp"
#include "handoff/detail/queue/ordered_queue.hpp"
#include "handoff/detail/queue/take_iterator.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// When an item is due. A type of its own, so that it is never mistaken for how long to wait: offer(item, due_in(30s), 100ms).
class Due {
 public:
  explicit constexpr Due(TimePoint when) : when_(when) {}
  constexpr TimePoint when() const { return when_; }

 private:
  TimePoint when_;
};

// After this delay, from now on. A delay too long to be represented means never.
template <typename Rep, typename Period>
Due due_in(std::chrono::duration<Rep, Period> delay) {
  return Due(within(delay).when());
}

// At this moment on handoff::now()'s clock.
template <typename D>
constexpr Due due_at(std::chrono::time_point<std::chrono::steady_clock, D> when) {
  return Due(std::chrono::time_point_cast<Duration>(when));
}

template <typename T>
class DelayQueue final : private detail::OrderedQueue<T, detail::DelayCore> {
  using Base = detail::OrderedQueue<T, detail::DelayCore>;

 public:
  // Called, without a lock, with each item that push() drops: the evicted one, which the hook may move from; or the
  // refused one, which is still the caller's. What it throws reaches the caller of push().
  using OnDrop = typename Base::OnDrop;
  using Result = typename Base::Result;
  using Added = typename Base::Added;

  // Throws std::invalid_argument if options.capacity is 0 or too large for memory to be addressed.
  explicit DelayQueue(QueueOptions options, OnDrop on_drop = {})
      : Base(options, std::move(on_drop)) {
    this->enter_if_named();
  }
  // Destroys the items that are left. Nobody may be using the queue any more.
  ~DelayQueue() { this->retire(); }

  // -- Add ---------------------------------------------------------------------------------------

  // Waits while the queue is full. Refused with `closed`, `timed_out` or `stopped`.
  [[nodiscard]] Added put(T&& item, Due due, const Wait& wait = {},
                          std::source_location where = std::source_location::current()) {
    return this->put_one(item, order_of(due), wait, where);
  }

  // The same for an item to be copied: the copy is made before the queue is touched.
  [[nodiscard]] Added put(const T& item, Due due, const Wait& wait = {},
                          std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return put(T(item), due, wait, where);
  }

  // Never waits. Refused with `full` or `closed`.
  [[nodiscard]] Added offer(T&& item, Due due) { return this->offer_one(item, order_of(due)); }

  // Waits for room for this long. Refused with `timed_out` or `closed`.
  template <typename Rep, typename Period>
  [[nodiscard]] Added offer(T&& item, Due due, std::chrono::duration<Rep, Period> patience,
                            std::source_location where = std::source_location::current()) {
    return put(std::move(item), due, {.deadline = within(patience)}, where);
  }

  // Does what options.when_full says. Not [[nodiscard]]: under the dropping policies the result may be ignored.
  Added push(T&& item, Due due, const Wait& wait = {},
             std::source_location where = std::source_location::current()) {
    return this->push_one(item, order_of(due), wait, where);
  }

  // Waits until all are in, in order and moved from; all are due at the same moment. See PutAll for what happens
  // otherwise.
  [[nodiscard]] PutAll put_all(std::span<T> items, Due due, const Wait& wait = {},
                               std::source_location where = std::source_location::current()) {
    return this->put_each(items, [due](const T&) { return order_of(due); }, wait, where);
  }

  // -- Take --------------------------------------------------------------------------------------

  // take(wait = {})              Waits until an item is due. Refused with `closed` (and nothing left), `timed_out` or
  //                              `stopped`.
  using Base::take;
  // poll()                       Never waits. Refused with `empty` (nothing due) or `closed`.
  // poll(patience)               Waits for a due item for this long. Refused with `timed_out` or `closed`.
  using Base::poll;
  // take_some(max, wait = {})    Waits for one item and takes what else is due, up to `max`, earliest first. One at
  //                              a time if T's move may throw: an exception could not say what became of the others.
  using Base::take_some;
  // drain()                      Hands over all that is there now as a vector, due or not, earliest first.
  // drain(sink)                  The same, one by one; for types whose move may throw. Returns how many.
  using Base::drain;

  // -- The same for coroutines -------------------------------------------------------------------
  // Inside a Lazy they end with `stopped` when the task is asked to stop. A put that was refused has left the item where it
  // was, a take that was refused has left the queue as it was.

  using AsyncPut = typename Base::AsyncPut;
  using AsyncTake = typename Base::AsyncTake;

  // co_await gives an Added. The item must outlive the co_await: name it, or write it in the same expression.
  [[nodiscard]] AsyncPut async_put(T&& item, Due due, Deadline deadline = {},
                                   std::source_location where = std::source_location::current()) {
    return this->async_put_one(item, order_of(due), deadline, where);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] AsyncPut async_offer(T&& item, Due due, std::chrono::duration<Rep, Period> patience,
                                     std::source_location where = std::source_location::current()) {
    return async_put(std::move(item), due, within(patience), where);
  }
  // async_take(deadline = {})    co_await gives a Result.
  // async_poll(patience)
  using Base::async_poll;
  using Base::async_take;

  // -- For select --------------------------------------------------------------------------------

  // on_take(handler)             Takes an item that is due if this case is the one that happens, and then calls handler(T)
  //                              or handler(Result). Closed, and nothing left: handler(Result) is told; if it cannot be,
  //                              the select itself reports `closed`. See select.hpp.
  using Base::on_take;

  // -- Close and look ----------------------------------------------------------------------------

  // Refuses producers from now on and wakes everybody who waits in vain. Closing again does nothing.
  using Base::close;
  using Base::is_closed;
  using Base::capacity;
  using Base::size;   // Due or not. May be stale by the time it returns.
  using Base::stats;  // A snapshot.

  // for (Retry& retry : retries) send(retry);     ends when closed and nothing is left.
  using Iterator = detail::TakeIterator<DelayQueue, T>;
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() { return {}; }

 private:
  static std::int64_t order_of(Due due) { return due.when().time_since_epoch().count(); }
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
