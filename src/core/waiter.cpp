#include "handoff/detail/core/waiter.hpp"

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/futex.hpp"
#include "handoff/detail/core/timer_service.hpp"

// Outside of the flavour's namespace: a program that has two of them, even in parts that never meet, does not link.
extern "C" {
extern const int handoff_one_flavour_in_a_program;
const int handoff_one_flavour_in_a_program = 1;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// The futex word is the state itself: a claim and the change a sleeper looks for are one store.
static_assert(sizeof(atomic<WaitState>) == sizeof(atomic<std::uint32_t>));

namespace {
atomic<std::uint32_t>& as_word(atomic<WaitState>& state) {
  return reinterpret_cast<atomic<std::uint32_t>&>(state);
}
}  // namespace

bool Waiter::move_on(WaitState if_parked, WaitState if_preparing, Unpark& unpark) {
  const Unpark mine(
      *this);  // Before the claim: after it the owner may be gone, if it takes no lock on its way.
  auto seen = state_.load(relaxed);  // A guess: the compare-and-swap decides.
  while (true) {
    WaitState next = seen;
    switch (seen) {
      case WaitState::parked: next = if_parked; break;
      case WaitState::preparing: next = if_preparing; break;
      // It has a turn and is yet to look. Written once more, so that its look sees what we did before: it may be all that is
      // told of it. Pairs with resume_looking().
      case WaitState::woken:
      case WaitState::nudged:
      case WaitState::roused: break;
      default: return false;
    }
    // acq_rel here and below: what the claimer did is seen by the owner, and the other way round.
    if (!state_.compare_exchange_weak(seen, next, acq_rel, relaxed)) continue;
    if (seen == WaitState::parked) unpark = mine;
    return next != seen;
  }
}

bool Waiter::serve(Unpark& unpark) {
  const Unpark mine(*this);
  auto seen = state_.load(relaxed);
  while (seen == WaitState::parked || seen == WaitState::woken) {
    const bool sleeps = seen == WaitState::parked;
    const auto outcome = sleeps ? WaitState::served : WaitState::served_in_its_turn;
    // As in move_on(); the load above is a guess.
    if (!state_.compare_exchange_weak(seen, outcome, acq_rel, relaxed)) continue;
    if (sleeps) unpark = mine;  // One that was woken is being unparked by its waker.
    return true;
  }
  return false;
}

void Waiter::arm() {
  if (coroutine_ != nullptr) {
    coroutine_->arm(*this);
  } else {
    static_cast<ThreadWaiter&>(*this).arm_limits();
  }
}

void Waiter::time_out() noexcept {
  Unpark unpark;
  if (claim(WaitState::timed_out, unpark)) unpark();
}

void Waiter::stop() noexcept {
  Unpark unpark;
  if (claim(WaitState::stopped, unpark)) unpark();
}

bool Waiter::resume_looking(WaitState from) {
  // Pairs with move_on(), also with one that came while it had its turn already.
  if (state_.compare_exchange_strong(from, WaitState::preparing, acq_rel)) return true;
  HANDOFF_ASSERT(from == WaitState::served_in_its_turn);
  return false;
}

// -- A thread -------------------------------------------------------------------------------------

void ThreadWaiter::arm_limits() {
  if (!wait().deadline.is_never() && (clock_ = installed_clock()) != nullptr) {
    timer_.due = wait().deadline.when();
    timer_.fire = [](Timer& due) { static_cast<ClockTimer&>(due).waiter->time_out(); };
    timer_.waiter = this;
    clock_->arm(timer_);
  }
  if (wait().stop.stop_possible()) on_stop_.emplace(wait().stop, StopClaim(*this));
}

ThreadWaiter::~ThreadWaiter() {
  on_stop_.reset();
  if (clock_ != nullptr) clock_->disarm(timer_);
}

WaitState ThreadWaiter::park() {
  if (!commit_to_suspend()) return state_.load(acquire);  // Pairs with the claimer's acq_rel.
  const auto deadline =
      clock_ == nullptr && has_limits_ ? wait().deadline.when() : TimePoint::max();
  while (true) {
    const bool in_time =
        futex_wait(as_word(state_), static_cast<std::uint32_t>(WaitState::parked), deadline);
    auto seen = state_.load(acquire);  // Pairs with the claimer's acq_rel.
    if (seen != WaitState::parked) return seen;
    if (in_time) continue;
    if (state_.compare_exchange_strong(seen, WaitState::timed_out, acq_rel)) {
      return WaitState::timed_out;
    }
    return seen;
  }
}

// -- A coroutine ----------------------------------------------------------------------------------

CoroutineTimer::CoroutineTimer(Waiter& waiter)
    : TimerEntry([](TimerEntry& entry) noexcept {
        static_cast<CoroutineTimer&>(entry).waiter_.time_out();
      }),
      waiter_(waiter) {
  // What may throw comes before the waiter stands in any line.
  TimerService::shared().start();
}

CoroutineTimer::~CoroutineTimer() { TimerService::shared().cancel_and_wait(*this); }

void CoroutineTimer::arm(TimePoint when) { TimerService::shared().arm(*this, when); }

void OwnLimits::arm(Waiter& waiter) {
  const Wait& wait = waiter.wait();
  if (!wait.deadline.is_never()) timer_.emplace(waiter).arm(wait.deadline.when());
  if (wait.stop.stop_possible()) on_stop_.emplace(wait.stop, StopClaim(waiter));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
