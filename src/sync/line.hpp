// What the lines of the locks have in common. All under the line's lock.
#pragma once

#include <expected>

#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/mutex.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

inline bool is_refused(WaitState outcome) {
  return outcome == WaitState::timed_out || outcome == WaitState::stopped;
}

inline Refusal refusal_of(WaitState outcome) {
  return outcome == WaitState::stopped ? Refusal::stopped : Refusal::timed_out;
}

// The next who is not on its way out: one whose wait is over leaves by itself, and lets others go first.
inline Link* first_to_stay_locked(Link* link) {
  while (link != nullptr && is_refused(link->waiter->state())) link = link->next;
  return link;
}

// Whether the lock may be left free, for `next` or for a thread that comes along. Counts the turn this gives it; its
// `ticket` is when it got the first one.
inline bool may_be_overtaken_locked(Link& next) {
  const auto at = now().time_since_epoch().count();
  if (next.lost_turns == 0) next.ticket = static_cast<std::uint64_t>(at);
  const bool got_up_in_vain = next.lost_turns > 0 && next.waiter->state() == WaitState::parked;
  const Duration overtaken_for{at - static_cast<Duration::rep>(next.ticket)};
  if (got_up_in_vain || overtaken_for >= Mutex::max_overtaking_time) return false;
  return next.lost_turns++ < Mutex::max_overtakings;
}

// The blocking form of an operation that has an awaitable one as well.
template <typename Op>
auto take_on_this_thread(Op& op, const Wait& wait, WaitSite site) {
  if (!op.ready(wait.stop)) {
    ThreadWaiter waiter(wait, site);
    take_steps(waiter, op);
  }
  return op.result();
}

// For what threads alone can wait for. Waits, standing in `line` already, until somebody takes the link off it: that is how it is let through. Otherwise
// leaves by itself, calls `on_refusal_locked()`, and says why.
template <typename OnRefusal>
std::expected<void, Refusal> wait_to_be_let_through(WaitList& line, ThreadWaiter& waiter,
                                                    Link& link, OnRefusal on_refusal_locked) {
  waiter.arm();
  WaitState outcome;
  if (!waiter.is_over(outcome)) outcome = waiter.park();

  SmallGuard guard(line.lock());
  if (!link.linked) return {};  // Also if it was stopped at the same moment.
  line.unlink_locked(link);
  on_refusal_locked();
  return std::unexpected(refusal_of(outcome));
}

[[noreturn]] void throw_relocked(const Primitive& lock, ThreadId owner);

inline void let_through_locked(WaitList& line, Link& link, Unparks& unparks) {
  line.unlink_locked(link);
  Unpark unpark;
  if (link.waiter->give_turn(unpark)) unparks.add(unpark);
}

inline void let_all_through_locked(WaitList& line, Unparks& unparks) {
  while (Link* link = line.front_locked()) let_through_locked(line, *link, unparks);
}

inline Stats stats_of(const WaitList& line) {
  const WaitTotals totals = line.totals();
  Stats stats;
  stats.waiting_consumers = totals.waiting;
  stats.consumer_waits = totals.waits;
  stats.consumers_blocked = totals.blocked;
  return stats;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
