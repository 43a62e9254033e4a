#include "handoff/detail/core/wait_list.hpp"

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/scope_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
// A coroutine's wait is often over sooner than the clock is read; a thread's never is.
TimePoint time_for(const Link& link) {
  return link.waiter->coroutine() == nullptr ? now() : coarse_now();
}
}  // namespace

WaitList::~WaitList() {
  // Destroying what somebody still waits for is a broken contract: the waiter would touch freed memory.
  HANDOFF_ASSERT(front_ == nullptr);
}

void WaitList::push_back_locked(Link& link) {
  link.since = time_for(link);
  link.previous = back_;
  link.next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = &link;
  back_ = &link;
  link.linked = true;
  ++size_;
  ++waits_;
}

void WaitList::unlink_locked(Link& link) {
  if (!link.linked) return;
  (link.previous == nullptr ? front_ : link.previous->next) = link.next;
  (link.next == nullptr ? back_ : link.next->previous) = link.previous;
  link.linked = false;
  --size_;
  blocked_ += time_for(link) - link.since;
}

WaitTotals WaitList::totals() const {
  SmallGuard guard(lock_);
  return {.waiting = size_, .waits = waits_, .blocked = blocked_};
}

void WaitList::report(const Primitive& subject, std::vector<WaitInfo>& waits) const {
  SmallGuard guard(lock_);
  for (const Link* link = front_; link != nullptr; link = link->next) {
    const Waiter& waiter = *link->waiter;
    const ThreadId holder = subject.holder();
    waits.push_back({.thread = thread_name(waiter.thread()),
                     .operation = waiter.site().operation,
                     .kind = subject.kind(),
                     .name = subject.display_name(),
                     .held_by = holder == no_thread ? std::string() : thread_name(holder),
                     .where = waiter.site().where,
                     .since = link->since,
                     .deadlocked = waiter.is_deadlocked()});
    if (waiter.coroutine() != nullptr) waiter.coroutine()->describe(waiter, waits.back());
    if (waiter.ambient() != nullptr && waiter.ambient()->scope() != nullptr) {
      waits.back().scope = waiter.ambient()->scope()->path();
    }
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
