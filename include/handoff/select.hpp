// Waits for several things at once: exactly one of the cases happens.
//
//   handoff::select(results.on_receive([&](Result result) { show(result); }),
//                   requests.on_send(std::move(request), [&] { ++sent; }),
//                   handoff::after(1s, [&] { complain(); }));
//
//   a case of             happens when
//   channel.on_receive    an item could be received, or the channel is closed and drained
//   channel.on_send       the item could be sent, or the channel is closed
//   queue.on_take         an item could be taken, or the queue is closed and drained
//   on_set(event)         the event is set
//   future.on_ready       the result is there, or never will be
//   after(time)           this time has passed since the select began
//   ticker.on_tick        its next tick has come
//   otherwise             no other case can happen now: such a select never waits
//
//   waits                      awaits                               a list built at run time
//   select(cases...)           co_await async_select(cases...)      Select list; list.add(case);
//   select(wait, cases...)     co_await async_select(deadline, cases...)    list.wait(wait), co_await list.async_wait(deadline)
//
// All forms give a Selected: the index of the case that has happened, counted from 0, or a refusal: `timed_out` or `stopped` if the Wait
// ended first; `closed` if a closed channel's or queue's case happened and its handler takes an item only. A handler that takes
// a std::expected is told itself, and the select gives the index:
//
//   while (handoff::select(orders.on_receive([&](Order order) { ... }),               // ends when orders is closed
//                          done.on_receive([&](std::expected<Done, Refusal> d) { ... }))) {
//   }
//
// What you can rely on:
// - Exactly one case happens. Nothing is sent, received or taken by the others.
// - Among those that are ready one is chosen by lot, all with the same chance; the order in which they are written means nothing.
// - The handler runs on the calling thread, or in the coroutine, after the select holds no lock and stands in no line. What it
//   throws passes through.
// - Two selects can meet, a send of the one with a receive of the other. A select does not meet itself.
// - A channel may stand in several cases, and several selects may wait for the same things.
//
// In a coroutine compiled with g++ 12: handlers may capture references, pointers and numbers, but captures with a destructor (a string or a
// shared_ptr by value) are destroyed twice by that compiler. Give such a lambda a name before:
//
//   auto handler = [name](Order order) { ... };
//   co_await handoff::async_select(orders.on_receive(handler), ...);
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/channel/selection.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/select_case.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/event.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// -- Cases ----------------------------------------------------------------------------------------

namespace detail {

template <typename F>
class AfterCase final : public TimerCase {
 public:
  AfterCase(Duration delay, F handler, std::source_location where)
      : TimerCase(delay, where), handler_(std::move(handler)) {}
  std::optional<Refusal> finish() override {
    std::invoke(handler_);
    return std::nullopt;
  }

 private:
  F handler_;
};

template <typename F>
class OtherwiseCase final : public SelectCase {
 public:
  OtherwiseCase(F handler, std::source_location where)
      : SelectCase(Kind::otherwise, where), handler_(std::move(handler)) {}
  std::optional<Refusal> finish() override {
    std::invoke(handler_);
    return std::nullopt;
  }

 private:
  F handler_;
};

class EventCase : public LineCase {
 protected:
  EventCase(Event& event, std::source_location where)
      : LineCase(event.line_, where), event_(event) {}
  EventCase(const EventCase&) = default;

 private:
  bool is_open() const final { return event_.is_set(); }
  void enter(const Waiter&) final { event_.enter_registry(); }

  Event& event_;
};

template <typename F>
class OnSet final : public EventCase {
 public:
  OnSet(Event& event, F handler, std::source_location where)
      : EventCase(event, where), handler_(std::move(handler)) {}
  OnSet(OnSet&& other) : EventCase(other), handler_(std::move(other.handler_)) {}
  std::optional<Refusal> finish() override {
    std::invoke(handler_);
    return std::nullopt;
  }

 private:
  F handler_;
};

}  // namespace detail

// Happens when the event is set.
template <std::invocable F>
[[nodiscard]] auto on_set(Event& event, F handler,
                          std::source_location where = std::source_location::current()) {
  return detail::OnSet<F>(event, std::move(handler), where);
}

// Happens when this time has passed since the select began.
template <typename Rep, typename Period, std::invocable F>
[[nodiscard]] auto after(std::chrono::duration<Rep, Period> delay, F handler,
                         std::source_location where = std::source_location::current()) {
  return detail::AfterCase<F>(detail::saturated(delay), std::move(handler), where);
}

// Happens at once if no other case can.
template <std::invocable F>
[[nodiscard]] auto otherwise(F handler,
                             std::source_location where = std::source_location::current()) {
  return detail::OtherwiseCase<F>(std::move(handler), where);
}

// Ticks at a fixed period from its making on. Each tick is for one select; those that nobody waited for are skipped, all but the last.
class Ticker final : private detail::Primitive {
  template <typename F>
  class OnTick;

 public:
  // Throws std::invalid_argument if the period is not positive.
  explicit Ticker(Duration period, std::string_view name = {});
  ~Ticker();

  template <std::invocable F>
  [[nodiscard]] auto on_tick(F handler,
                             std::source_location where = std::source_location::current()) {
    return OnTick<F>(*this, std::move(handler), where);
  }

  // takes: ticks that happened.
  Stats stats() const override;

 private:
  // Rings when the next tick comes, while somebody waits.
  struct Alarm : detail::TimerEntry {
    explicit Alarm(Ticker& owner);
    Ticker& ticker;
  };

  void report_waits(std::vector<WaitInfo>& waits) const override;
  bool try_tick();
  bool is_due() const;
  void stand_in_line(detail::Link& link);
  void leave(detail::Link& link);
  void ring();
  void set_alarm_locked();

  const Duration period_;
  const TimePoint start_;
  mutable detail::WaitList line_;
  // Guarded by the line's lock.
  TimePoint next_;
  std::uint64_t ticks_ = 0;
  bool has_alarm_ = false;
  Alarm alarm_;
};

// -- On a thread ----------------------------------------------------------------------------------

template <detail::Selectable First, detail::Selectable... Clauses>
Selected select(const Wait& wait, First&& first, Clauses&&... clauses) {
  const auto where = first.where();
  detail::CaseTable<detail::CaseOf<First>, detail::CaseOf<Clauses>...> table(
      std::forward<First>(first), std::forward<Clauses>(clauses)...);
  return detail::run_select(table.cases(), table.channels(), wait, where);
}

template <detail::Selectable First, detail::Selectable... Clauses>
Selected select(First&& first, Clauses&&... clauses) {
  return select(Wait{}, std::forward<First>(first), std::forward<Clauses>(clauses)...);
}

// -- In a coroutine -------------------------------------------------------------------------------

namespace detail {

template <typename... Cases>
class SelectOperation final : public Steps {
 public:
  template <typename... Clauses>
  explicit SelectOperation(const SelectUntil& until, Clauses&&... clauses)
      : table_(std::forward<Clauses>(clauses)...), selection_(table_.cases(), table_.channels()) {
    selection_.set_until(until);
  }
  bool ready(const std::stop_token& stop) { return selection_.ready(stop); }
  bool begin(Waiter& waiter) override { return selection_.begin(waiter); }
  bool go_on(Waiter& waiter, WaitState outcome) override {
    return selection_.go_on(waiter, outcome);
  }
  Selected result() { return selection_.finish(); }

 private:
  CaseTable<Cases...> table_;
  Selection selection_;
};

class SelectListOperation final : public Steps {
 public:
  SelectListOperation(const SelectUntil& until, std::span<SelectCase* const> cases,
                      std::span<ChannelCase*> channels, std::span<const std::size_t> numbers)
      : selection_(cases, channels), numbers_(numbers) {
    selection_.set_until(until);
  }
  bool ready(const std::stop_token& stop) { return selection_.ready(stop); }
  bool begin(Waiter& waiter) override { return selection_.begin(waiter); }
  bool go_on(Waiter& waiter, WaitState outcome) override {
    return selection_.go_on(waiter, outcome);
  }
  Selected result() {
    auto selected = selection_.finish();
    if (selected) *selected = numbers_[*selected];
    return selected;
  }

 private:
  Selection selection_;
  const std::span<const std::size_t> numbers_;
};

}  // namespace detail

// co_await gives a Selected. Inside a Lazy it ends with `stopped` when the task is asked to stop.
template <detail::Selectable First, detail::Selectable... Clauses>
[[nodiscard]] auto async_select(Deadline deadline, First&& first, Clauses&&... clauses) {
  using Operation = detail::SelectOperation<detail::CaseOf<First>, detail::CaseOf<Clauses>...>;
  const auto where = first.where();
  const auto until = detail::select_until(
      deadline, std::min({detail::delay_of(first), detail::delay_of(clauses)...}));
  return detail::Awaitable<Operation>(detail::WaitSite{"select", where}, until.deadline, until,
                                      std::forward<First>(first),
                                      std::forward<Clauses>(clauses)...);
}

template <detail::Selectable First, detail::Selectable... Clauses>
[[nodiscard]] auto async_select(First&& first, Clauses&&... clauses) {
  return async_select(Deadline{}, std::forward<First>(first), std::forward<Clauses>(clauses)...);
}

// -- A list built at run time ---------------------------------------------------------------------

//   handoff::Select list;
//   for (auto& feed : feeds) list.add(feed.on_receive([&](Price price) { show(price); }));
//   while (list.wait({.stop = stop})) {}
//
// One thread, or one coroutine, at a time. What a case refers to must live as long as it is in the list: the channel, and the item of
// on_send(std::move(item), ...), which is sent as it is when the case happens.
class Select {
 public:
  // Returns its number: 0 for the first, and so on. It stays the same.
  template <detail::Selectable Clause>
  std::size_t add(Clause one) {
    owned_.push_back(std::make_unique<detail::CaseOf<Clause>>(std::move(one)));
    list();
    return owned_.size() - 1;
  }
  // The case does not happen any more: its channel is closed, say. Not from inside a handler of this list.
  void remove(std::size_t number) {
    owned_.at(number).reset();
    list();
  }
  // How many there are to wait for.
  std::size_t size() const { return cases_.size(); }

  // Both throw std::logic_error if there is no case: that would be to wait for ever.
  Selected wait(const Wait& wait = {},
                std::source_location where = std::source_location::current());
  // co_await gives a Selected. The list must stay as it is until then.
  [[nodiscard]] detail::Awaitable<detail::SelectListOperation> async_wait(
      Deadline deadline = {}, std::source_location where = std::source_location::current());

 private:
  void list();
  void check() const;

  std::vector<std::unique_ptr<detail::SelectCase>> owned_;  // By number; null if removed.
  std::vector<detail::SelectCase*> cases_;
  std::vector<std::size_t> numbers_;  // Of those in cases_.
  std::vector<detail::ChannelCase*> channels_;
};

// -- Details --------------------------------------------------------------------------------------

template <typename F>
class Ticker::OnTick final : public detail::WatchedCase {
 public:
  OnTick(Ticker& ticker, F handler, std::source_location where)
      : WatchedCase(where), ticker_(ticker), handler_(std::move(handler)) {}
  OnTick(OnTick&& other)
      : WatchedCase(other), ticker_(other.ticker_), handler_(std::move(other.handler_)) {}

  bool attempt() override { return ticker_.try_tick(); }
  void stand_in_line(detail::Waiter& waiter) override {
    link_.emplace(waiter);
    ticker_.stand_in_line(*link_);
  }
  bool look() override { return ticker_.try_tick(); }
  bool may_happen() const override { return ticker_.is_due(); }
  bool leave() override {
    if (link_) ticker_.leave(*link_);
    link_.reset();
    return false;
  }
  std::optional<Refusal> finish() override {
    std::invoke(handler_);
    return std::nullopt;
  }

 private:
  Ticker& ticker_;
  F handler_;
  std::optional<detail::Link> link_;  // While it stands in line.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
