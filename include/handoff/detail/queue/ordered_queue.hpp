// The items of the queues that are not first in, first out, and all their forms of adding and taking. See
// priority_queue.hpp and delay_queue.hpp for what they promise, ordered_core.hpp for the invariants.
//
// Core says in which order items come out, when the first may be taken, and how takers wait. `order` is what it makes
// an item's rank of: the smaller one comes first.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <expected>
#include <functional>
#include <iterator>
#include <new>
#include <optional>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/queue/async_turns.hpp"
#include "handoff/detail/queue/ordered_core.hpp"
#include "handoff/detail/queue/slots.hpp"
#include "handoff/refusal.hpp"
#include "handoff/stats.hpp"
#include "handoff/wait.hpp"
#include "handoff/when_full.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T, typename Core>
class OrderedQueue : public Core {
 public:
  using OnDrop = std::function<void(T& item)>;
  using Result = std::expected<T, Refusal>;
  using Added = std::expected<void, Refusal>;

  Result take(const Wait& wait = {}, std::source_location where = std::source_location::current());
  Result poll();
  template <typename Rep, typename Period>
  Result poll(std::chrono::duration<Rep, Period> patience,
              std::source_location where = std::source_location::current()) {
    return take({.deadline = within(patience)}, where);
  }
  std::expected<std::vector<T>, Refusal> take_some(
      std::size_t max, const Wait& wait = {},
      std::source_location where = std::source_location::current());
  std::vector<T> drain()
    requires std::is_nothrow_move_constructible_v<T>;
  template <typename Sink>
  std::size_t drain(Sink sink);

 private:
  class PutTurn;
  class TakeTurn;

 public:
  using AsyncPut = Awaitable<TurnOperation<PutTurn>>;
  using AsyncTake = Awaitable<TurnOperation<TakeTurn>>;

  AsyncTake async_take(Deadline deadline = {},
                       std::source_location where = std::source_location::current()) {
    return AsyncTake(WaitSite{"take", where}, deadline, *this);
  }
  template <typename Rep, typename Period>
  AsyncTake async_poll(std::chrono::duration<Rep, Period> patience,
                       std::source_location where = std::source_location::current()) {
    return async_take(within(patience), where);
  }
  template <HandlesResult<T> F>
  [[nodiscard]] auto on_take(F handler,
                             std::source_location where = std::source_location::current()) {
    return TakeCase<OrderedQueue, TakeTurn, F>(*this, std::move(handler), where);
  }

 protected:
  template <typename Options>
  OrderedQueue(const Options& options, OnDrop on_drop)
      : Core(options, sizeof(T)), slots_(this->capacity_), on_drop_(std::move(on_drop)) {
    static_assert(std::is_move_constructible_v<T>, "items are moved in and out");
  }
  ~OrderedQueue();

  Added put_one(T& item, std::int64_t order, const Wait& wait, std::source_location where);
  AsyncPut async_put_one(T& item, std::int64_t order, Deadline deadline,
                         std::source_location where) {
    return AsyncPut(WaitSite{"put", where}, deadline, *this, item, order);
  }
  Added offer_one(T& item, std::int64_t order);
  Added push_one(T& item, std::int64_t order, const Wait& wait, std::source_location where);
  // order_of(item) is called for each item just before it goes in.
  template <typename OrderOf>
  PutAll put_each(std::span<T> items, OrderOf order_of, const Wait& wait,
                  std::source_location where);

 private:
  using typename Core::Section;
  class TakeOut;

  Tried try_put(T& item, std::int64_t order);
  Added push_evicting(T& item, std::int64_t order);
  void dropped(T& item);

  void fill_locked(Section& section, T& item, std::int64_t order);
  void admit_locked(Section& section, T& item, std::int64_t order);
  bool serve_producer_locked(Section& section);
  void evict_locked(Section& section, std::size_t victim, std::optional<T>& evicted);

  // Done: the first item is the caller's to take out. `self` is the caller, if it waits.
  Tried look_locked(Section& section, const TakeTurn* self);
  bool serve_consumer_locked(Section& section, const TakeTurn* self);
  bool serve_front_locked(Section& section);
  bool serve_line_locked(Section& section) final;
  void give_first_locked(Section& section, TakeTurn& turn);
  void release_locked(Section& section);
  void take_locked(Section& section, std::vector<T>& items);
  void fill_up(std::vector<T>& items, std::size_t max);

  const Slots<T> slots_;
  const OnDrop on_drop_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

#include "handoff/detail/queue/ordered_queue.ipp"
