// One of the things that select waits for, as select sees it.
//
// A select stands at all its places with one waiter, and exactly one case may happen. So what a case does depends on who has
// claimed the waiter:
// - attempt() and look() do the operation. Select calls them only before it stands anywhere, or while it has claimed its own waiter:
//   then nobody else can do another case for it.
// - may_happen() only looks. It is asked at any time, last after the waiter could be claimed again and before it parks: what came
//   while it could not be claimed was offered to it in vain.
// - leave() ends the stay, and says whether somebody did the operation for it meanwhile.
#pragma once

#include <concepts>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/core/waiter.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class SelectCase {
 public:
  enum class Kind : std::uint8_t {
    exchange,   // A ChannelCase: its lock is held together with those of the other channels.
    watched,    // A WatchedCase.
    timer,      // A TimerCase.
    otherwise,  // Happens if no other can happen now.
  };

  SelectCase& operator=(const SelectCase&) = delete;
  virtual ~SelectCase() = default;

  Kind kind() const { return kind_; }
  const std::source_location& where() const { return where_; }

  // It has happened, and the select stands nowhere any more: calls the handler, on the thread or in the coroutine that selects.
  // A refusal if the handler cannot be told of one: it was not called then. Afterwards the case can be used again.
  virtual std::optional<Refusal> finish() = 0;

 protected:
  SelectCase(Kind kind, std::source_location where) : kind_(kind), where_(where) {}
  // Before it is waited for.
  SelectCase(const SelectCase&) = default;

 private:
  const Kind kind_;
  const std::source_location where_;
};

// A case of something with a line of its own: a queue, an event, a future.
class WatchedCase : public SelectCase {
 public:
  // Does it, if it can be done now. True: it has happened, or is refused for good. May throw.
  virtual bool attempt() = 0;
  // Throws only if it does not stand there then.
  virtual void stand_in_line(Waiter& waiter) = 0;
  // As attempt(), for one that stands in line: takes the turn that it was given, if any.
  virtual bool look() = 0;
  virtual bool may_happen() const = 0;
  // Passes on the turn that was given and not used. True if it has happened, by attempt(), look() or by somebody else's doing.
  // Does nothing if it does not stand in line.
  virtual bool leave() = 0;

 protected:
  explicit WatchedCase(std::source_location where) : SelectCase(Kind::watched, where) {}
  WatchedCase(const WatchedCase&) = default;
};

// What lets all through at once, by taking them off its line and giving them their turn under the line's lock: an event that is set,
// a future that is done. Looking at it takes nothing away.
class LineCase : public WatchedCase {
 public:
  bool attempt() final { return is_open(); }
  void stand_in_line(Waiter& waiter) final {
    enter(waiter);
    link_.emplace(waiter);
    SmallGuard guard(line_.lock());
    if (!is_open()) line_.push_back_locked(*link_);
  }
  bool look() final { return may_happen(); }
  bool may_happen() const final {
    if (!link_) return is_open();
    SmallGuard guard(line_.lock());
    return is_let_through_locked() || is_open();
  }
  bool leave() final {
    if (!link_) return false;
    {
      // Whoever let it through is done with both of them after this.
      SmallGuard guard(line_.lock());
      line_.unlink_locked(*link_);
    }
    link_.reset();
    left();
    return false;
  }

 protected:
  LineCase(WaitList& line, std::source_location where) : WatchedCase(where), line_(line) {}
  LineCase(const LineCase& other) : WatchedCase(other), line_(other.line_) {}

  virtual bool is_open() const = 0;
  // Somebody is about to wait for it, and waits no longer: for the registry.
  virtual void enter(const Waiter& waiter) = 0;
  virtual void left() {}

 private:
  bool is_let_through_locked() const { return !link_->linked; }

  WaitList& line_;
  std::optional<Link> link_;  // While it stands in line.
};

// After a time, counted from the beginning of the select.
class TimerCase : public SelectCase {
 public:
  Duration delay() const { return delay_; }

 protected:
  TimerCase(Duration delay, std::source_location where)
      : SelectCase(Kind::timer, where), delay_(delay) {}
  TimerCase(const TimerCase&) = default;

 private:
  const Duration delay_;
};

// What on_receive() and its like return is a case, or a clause: the little that its case is made of, inside the select.
template <typename Clause>
struct CaseMadeOf {
  using Type = Clause;
};
template <typename Clause>
  requires requires { typename Clause::Case; }
struct CaseMadeOf<Clause> {
  using Type = typename Clause::Case;
};
template <typename Clause>
using CaseOf = typename CaseMadeOf<std::remove_cvref_t<Clause>>::Type;

template <typename Clause>
concept Selectable = std::derived_from<CaseOf<Clause>, SelectCase>;

// When a case happens by itself.
template <typename Clause>
Duration delay_of(const Clause& clause) {
  if constexpr (std::derived_from<Clause, TimerCase>) {
    return clause.delay();
  } else {
    return Duration::max();
  }
}

// A handler of what gives a T or is refused: called with both, as a std::expected, or with the T alone.
template <typename F, typename T>
concept HandlesResult =
    std::invocable<F&, std::expected<T, Refusal>> ||
    (std::is_void_v<T> ? std::invocable<F&> : std::invocable<F&, std::add_rvalue_reference_t<T>>);

template <typename F, typename T>
std::optional<Refusal> handle(F& handler, std::expected<T, Refusal>&& result) {
  if constexpr (std::invocable<F&, std::expected<T, Refusal>>) {
    static_cast<void>(std::invoke(handler, std::move(result)));
  } else {
    if (!result) return result.error();
    if constexpr (std::is_void_v<T>) {
      static_cast<void>(std::invoke(handler));
    } else {
      static_cast<void>(std::invoke(handler, *std::move(result)));
    }
  }
  return std::nullopt;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
