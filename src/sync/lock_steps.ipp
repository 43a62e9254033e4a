// The bodies of LockSteps, for the locks that have such steps. Each is a friend of its lock.
#pragma once

#include "handoff/detail/sync/lock_steps.hpp"
#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename Lock>
bool LockSteps<Lock>::begin(Waiter& waiter) {
  lock_.enter_registry();
  waiter.act_as(owner_);
  lock_.enter_line(link_.emplace(waiter));
  try {
    waiter.arm();
  } catch (...) {  // There is no thread for its timer, so that nothing would end the wait in time.
    leave_line(Refusal::stopped);
    if (refusal_) throw;
    return true;
  }
  edge_.emplace(lock_, waiter);
  return finish_if(lock_.take_or_was_given(owner_), waiter);
}

template <typename Lock>
bool LockSteps<Lock>::go_on(Waiter& waiter, WaitState outcome) {
  if (is_refused(outcome)) return leave_line(refusal_of(outcome));
  waiter.resume_looking(outcome);  // Before the look: an unlock() after it gives another turn.
  const bool may_spin = waiter.coroutine() == nullptr;
  return finish_if(may_spin ? lock_.take_by_spinning(owner_) : lock_.take_or_was_given(owner_),
                   waiter);
}

template <typename Lock>
bool LockSteps<Lock>::finish_if(bool is_mine, const Waiter& waiter) {
  if (is_mine) {
    lock_.leave_line_as_owner(*link_);
    edge_.reset();
    return true;
  }
  if constexpr (checked_build) {
    WaitState outcome;
    if (!waiter.is_over(outcome)) edge_->about_to_park();
  }
  return false;
}

template <typename Lock>
bool LockSteps<Lock>::leave_line(Refusal refusal) {
  if (!lock_.leave_line(*link_, owner_, refusal)) refusal_ = refusal;
  edge_.reset();
  return true;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
