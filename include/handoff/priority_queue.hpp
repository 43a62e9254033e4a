// A bounded queue between threads and coroutines that hands out the most urgent item first.
//
//   struct Job { int priority; std::string what; };
//   handoff::PriorityBlockingQueue<Job> jobs{{.capacity = 1024, .name = "jobs"}, &Job::priority};
//   if (!jobs.put(std::move(job))) return;          // producer: refused only once closed
//   while (auto job = jobs.take()) run(*job);       // consumer: ends when closed and drained
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
// The order:
// - Every item has a priority, an int; the larger one comes first. The function given to the constructor says which,
//   a member pointer will do; without one, the item itself must be convertible to int. It is called once per item, on
//   the thread that adds it, before it goes in; what it throws reaches the caller, and nothing has happened.
// - Equal priorities come first in, first out: if all are equal, this is a BlockingQueue.
// - Without ageing, a steady stream of urgent items can keep the others waiting for ever. With .ageing = 1s, an item counts
//   as one priority higher for every second it has been in the queue, in proportion: it is delayed, never starved. An
//   item of priority p lets those of priority q > p that come less than (q - p) seconds later go first, and no others.
// - Producers that wait for room get in first come, first served, whatever the priority of their items.
//
// push() on a full queue:
// - drop_oldest: the lowest priority makes room, and among equals the oldest. Ageing plays no part in it. If
//   the new item's own priority is lower than all others, it is the one that is dropped, as under drop_newest.
// - drop_newest, reject, block: as for every queue. See when_full.hpp.
//
// What you can rely on:
// - Bounded: never more than `capacity` items, any number from 1 on, not rounded up. All memory for them is allocated by the
//   constructor. Adding and taking cost O(log size).
// - A refused item is untouched and still the caller's. Every item accepted is taken once, given back by drain(),
//   handed to on_drop, or destroyed with the queue.
// - close() refuses adding from then on; taking drains what is left, then reports `closed`.
// - Linearizable, the forms that do not wait included: poll() says `empty` only if at some moment during the call no item
//   was there, offer() says `full` only if there was no room.
// - Waiters are woken first come, first served. A running thread may overtake a sleeping one, but no sleeper is overtaken
//   more than 1,048,576 times or loses more than 4 of the turns it was woken for: then the next operation, of any form,
//   serves it first.
// - An item whose move constructor throws does no harm: on the way in nothing has happened; on the way out the taker gets
//   the exception, and the item counts as taken. It is moved once on the way in and does not move while it waits.
// - Idle waiters use no CPU.
//
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a producer did before adding an item is seen by the consumer that takes it.
// T must be movable. Its move constructor and destructor run under a short lock of the queue: they must not use
// that queue themselves.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <iterator>
#include <source_location>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "handoff/detail/queue/ordered_queue.hpp"
#include "handoff/detail/queue/priority_core.hpp"
#include "handoff/detail/queue/take_iterator.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
class PriorityBlockingQueue final : private detail::OrderedQueue<T, detail::PriorityCore> {
  using Base = detail::OrderedQueue<T, detail::PriorityCore>;

 public:
  // The priority of an item; the larger one comes first.
  using PriorityOf = std::function<int(const T& item)>;
  // Called, without a lock, with each item that push() drops: the evicted one, which the hook may move from; or the
  // refused one, which is still the caller's. What it throws reaches the caller of push().
  using OnDrop = typename Base::OnDrop;
  using Result = typename Base::Result;
  using Added = typename Base::Added;

  // Throws std::invalid_argument if options.capacity is 0 or too large for memory to be addressed, if
  // options.ageing is negative, or if there is no function.
  PriorityBlockingQueue(PriorityQueueOptions options, PriorityOf priority_of, OnDrop on_drop = {})
      : Base(options, std::move(on_drop)), priority_of_(std::move(priority_of)) {
    if (!priority_of_) throw std::invalid_argument("a priority queue needs a priority function");
    this->enter_if_named();
  }
  // The item is its own priority.
  explicit PriorityBlockingQueue(PriorityQueueOptions options)
    requires std::convertible_to<const T&, int>
      : PriorityBlockingQueue(options, [](const T& item) -> int { return item; }) {}
  // Destroys the items that are left. Nobody may be using the queue any more.
  ~PriorityBlockingQueue() { this->retire(); }

  // -- Add ---------------------------------------------------------------------------------------

  // Waits while the queue is full. Refused with `closed`, `timed_out` or `stopped`.
  [[nodiscard]] Added put(T&& item, const Wait& wait = {},
                          std::source_location where = std::source_location::current()) {
    return this->put_one(item, order_of(item), wait, where);
  }

  // The same for an item to be copied: the copy is made before the queue is touched.
  [[nodiscard]] Added put(const T& item, const Wait& wait = {},
                          std::source_location where = std::source_location::current())
    requires std::copy_constructible<T>
  {
    return put(T(item), wait, where);
  }

  // Never waits. Refused with `full` or `closed`.
  [[nodiscard]] Added offer(T&& item) { return this->offer_one(item, order_of(item)); }

  // Waits for room for this long. Refused with `timed_out` or `closed`.
  template <typename Rep, typename Period>
  [[nodiscard]] Added offer(T&& item, std::chrono::duration<Rep, Period> patience,
                            std::source_location where = std::source_location::current()) {
    return put(std::move(item), {.deadline = within(patience)}, where);
  }

  // Does what options.when_full says. Not [[nodiscard]]: under the dropping policies the result may be ignored.
  Added push(T&& item, const Wait& wait = {},
             std::source_location where = std::source_location::current()) {
    return this->push_one(item, order_of(item), wait, where);
  }

  // Waits until all are in, one after the other and moved from. See PutAll for what happens otherwise.
  [[nodiscard]] PutAll put_all(std::span<T> items, const Wait& wait = {},
                               std::source_location where = std::source_location::current()) {
    return this->put_each(items, [this](const T& item) { return order_of(item); }, wait, where);
  }

  // -- Take --------------------------------------------------------------------------------------

  // take(wait = {})              Waits while the queue is empty. Refused with `closed` (and drained), `timed_out` or
  //                              `stopped`.
  using Base::take;
  // poll()                       Never waits. Refused with `empty` or `closed`.
  // poll(patience)               Waits for an item for this long. Refused with `timed_out` or `closed`.
  using Base::poll;
  // take_some(max, wait = {})    Waits for one item and takes what else is there, up to `max`, most urgent first. One
  //                              at a time if T's move may throw: an exception could not say what became of the others.
  using Base::take_some;
  // drain()                      Hands over all that is there now as a vector, most urgent first, without waiting.
  // drain(sink)                  The same, one by one; for types whose move may throw. Returns how many.
  using Base::drain;

  // -- The same for coroutines -------------------------------------------------------------------
  // Inside a Lazy they end with `stopped` when the task is asked to stop. A put that was refused has left the item where it
  // was, a take that was refused has left the queue as it was.

  using AsyncPut = typename Base::AsyncPut;
  using AsyncTake = typename Base::AsyncTake;

  // co_await gives an Added. The item must outlive the co_await: name it, or write it in the same expression.
  [[nodiscard]] AsyncPut async_put(T&& item, Deadline deadline = {},
                                   std::source_location where = std::source_location::current()) {
    return this->async_put_one(item, order_of(item), deadline, where);
  }
  template <typename Rep, typename Period>
  [[nodiscard]] AsyncPut async_offer(T&& item, std::chrono::duration<Rep, Period> patience,
                                     std::source_location where = std::source_location::current()) {
    return async_put(std::move(item), within(patience), where);
  }
  // async_take(deadline = {})    co_await gives a Result.
  // async_poll(patience)
  using Base::async_poll;
  using Base::async_take;

  // -- For select --------------------------------------------------------------------------------

  // on_take(handler)             Takes an item if this case is the one that happens, and then calls handler(T) or
  //                              handler(Result). Closed and drained: handler(Result) is told; if it cannot be, the
  //                              select itself reports `closed`. See select.hpp.
  using Base::on_take;

  // -- Close and look ----------------------------------------------------------------------------

  // Refuses producers from now on and wakes everybody who waits. Closing again does nothing.
  using Base::close;
  using Base::is_closed;
  using Base::capacity;
  using Base::size;   // May be stale by the time it returns.
  using Base::stats;  // A snapshot.

  // for (Job& job : jobs) run(job);     ends when closed and drained.
  using Iterator = detail::TakeIterator<PriorityBlockingQueue, T>;
  Iterator begin() { return Iterator(*this); }
  std::default_sentinel_t end() { return {}; }

 private:
  std::int64_t order_of(const T& item) const { return -std::int64_t{priority_of_(item)}; }

  const PriorityOf priority_of_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
