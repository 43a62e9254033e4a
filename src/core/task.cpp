#include "handoff/detail/core/task.hpp"

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/places.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constinit thread_local Ambient* ambient_here = nullptr;
}

// Out of line, as everything that reads the variable: a coroutine may have kept the address it has on another thread.
[[gnu::noinline]] Ambient* current_ambient() { return ambient_here; }

std::stop_token stop_here() {
  const Ambient* const ambient = current_ambient();
  return ambient == nullptr ? std::stop_token() : ambient->stop();
}

[[gnu::noinline]] AmbientHere::AmbientHere(Ambient* ambient)
    : before_(std::exchange(ambient_here, ambient)) {}

[[gnu::noinline]] AmbientHere::~AmbientHere() { ambient_here = before_; }

void Task::start(PromiseBase& root) {
  root.set_task(*this);
  resume(root);
}

void Task::resume(PromiseBase& promise) {
  Trampoline trampoline{.next = promise.self()};
  promise.task().trampoline_ = &trampoline;
  {
    const AmbientHere here(promise.task());
    while (trampoline.next) std::exchange(trampoline.next, nullptr).resume();
  }
  if (trampoline.finished != nullptr) trampoline.finished->done();
}

ThreadId Task::owner_id() {
  if (owner_id_ == no_thread) owner_id_ = next_coroutine_id();
  return owner_id_;
}

// -- The stop of a task ---------------------------------------------------------------------------
//
// waiting_ = null -> a waiter -> null ...     by the task, which is in one wait at a time
//            either -> stopped                by the stop, once and for good
//
// The claim is made under stop_lock_. A wait that finds itself taken out by the stop takes the lock once before it goes, so
// the waiter outlives the claim. One that comes after the stop reads `stopped`, and so sees the stop_token requested in is_over().

namespace {
Waiter* const stopped_for_good = reinterpret_cast<Waiter*>(1);
}

void Task::end_by_stop(Waiter& waiter) {
  Waiter* before = nullptr;
  // The waiter is published to end_wait(), and its `stopped` is seen: each pairs with the exchange there.
  if (!waiting_.compare_exchange_strong(before, &waiter, acq_rel)) {
    HANDOFF_ASSERT(before == stopped_for_good);
    return;
  }
  if (!on_stop_) on_stop_.emplace(stop(), Stop{this});
}

void Task::end_no_more_by_stop(Waiter& waiter) {
  Waiter* before = &waiter;
  // The same; taken out by the stop, it waits for the claim under the lock.
  if (waiting_.compare_exchange_strong(before, nullptr, acq_rel)) return;
  SmallGuard guard(stop_lock_);
}

void Task::end_wait() noexcept {
  Unpark unpark;
  {
    SmallGuard guard(stop_lock_);
    // Pairs with end_by_stop().
    Waiter* const waiter = waiting_.exchange(stopped_for_good, acq_rel);
    if (waiter != nullptr) static_cast<void>(waiter->claim(WaitState::stopped, unpark));
  }
  unpark();
}

// -- A coroutine's wait ---------------------------------------------------------------------------

constinit const CoroutineSide AsyncWaiter::as_coroutine{.resume = &AsyncWaiter::resume_soon,
                                                        .arm = &AsyncWaiter::arm_limits,
                                                        .describe = &AsyncWaiter::describe};

constinit const Wait no_limits;

// A wait with a limit of its own.
struct AsyncWaiter::Limits {
  Limits(AsyncWaiter& waiter, Deadline deadline, const std::stop_token& stop)
      : wait{.deadline = deadline, .stop = stop}, timer(waiter) {}
  const Wait wait;
  CoroutineTimer timer;
};

AsyncWaiter::AsyncWaiter(WaitSite site) : Waiter(site, as_coroutine), Runnable(&AsyncWaiter::run) {}

AsyncWaiter::~AsyncWaiter() {
  if (has_limits()) disarm();
}

bool AsyncWaiter::start(PromiseBase& promise, Steps& steps, Deadline deadline, bool heeds_stop) {
  promise_ = &promise;
  steps_ = &steps;
  const Task& task = promise.task();
  if (!deadline.is_never()) {
    limits_ =
        std::make_unique<Limits>(*this, deadline, heeds_stop ? task.stop() : std::stop_token());
    begin_for(task, limits_->wait);
  } else {
    begin_for(task, heeds_stop ? task.limits() : no_limits);
  }
  return !steps.begin(*this) && suspend_between_steps(*this, steps);
}

void AsyncWaiter::arm_limits(Waiter& waiter) {
  auto& self = static_cast<AsyncWaiter&>(waiter);
  const Wait& wait = self.wait();
  if (self.limits_) self.limits_->timer.arm(wait.deadline.when());
  if (!wait.stop.stop_possible()) return;
  self.heeds_stop_ = true;
  self.promise_->task().end_by_stop(self);
}

void AsyncWaiter::disarm() {
  if (std::exchange(heeds_stop_, false)) promise_->task().end_no_more_by_stop(*this);
  limits_.reset();
}

void AsyncWaiter::resume_soon(Waiter& waiter) noexcept {
  auto& self = static_cast<AsyncWaiter&>(waiter);
  self.promise_->task().executor().run_soon(self);
}

void AsyncWaiter::run(Runnable& runnable) {
  auto& self = static_cast<AsyncWaiter&>(runnable);
  try {
    if (!self.steps_->go_on(self, self.state()) && suspend_between_steps(self, *self.steps_))
      return;
  } catch (...) {
    self.error_ = std::current_exception();
  }
  Task::resume(*self.promise_);
}

void AsyncWaiter::describe(const Waiter& waiter, WaitInfo& info) {
  const auto& self = static_cast<const AsyncWaiter&>(waiter);
  info.thread = self.promise_->task().executor().executor_name();
  info.awaited_by = places_of(*self.promise_);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
