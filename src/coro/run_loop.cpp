#include "handoff/detail/coro/run_loop.hpp"

#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

void RunLoop::run_soon(Runnable& runnable) noexcept {
  runnable.next = nullptr;
  Unpark unpark;
  {
    // After the lock is given back, the loop may be gone.
    SmallGuard guard(lock_);
    (back_ == nullptr ? front_ : back_->next) = &runnable;
    back_ = &runnable;
    if (sleeper_ != nullptr) {
      static_cast<void>(std::exchange(sleeper_, nullptr)->give_turn(unpark));
    }
  }
  unpark();
}

Runnable* RunLoop::take() {
  SmallGuard guard(lock_);
  Runnable* const first = front_;
  if (first == nullptr) return nullptr;
  front_ = first->next;
  if (front_ == nullptr) back_ = nullptr;
  return first;
}

// The task's own wait is what waits() shows; that this thread sleeps meanwhile says nothing more.
void RunLoop::sleep() {
  const Wait until_ready;  // What it waits for ends by the task's stop_token.
  ThreadWaiter waiter(until_ready, {.operation = "sync_wait", .where = where_});
  {
    SmallGuard guard(lock_);
    if (front_ != nullptr) return;
    sleeper_ = &waiter;
  }
  const BlockedWorker blocked(this_worker, nullptr);
  static_cast<void>(waiter.park());
  SmallGuard guard(lock_);  // Who woke us may not have let go of the waiter yet.
}

void RunLoop::run_one() {
  if (Runnable* const ready = take()) {
    ready->run(*ready);
  } else {
    sleep();
  }
}

void RunLoop::run_until(const bool& is_done) {
  while (!is_done) run_one();
}

void RunLoop::run_to_end(const bool& is_done) {
  while (!is_done || tasks_ > 0) run_one();
}

namespace {
// A wait of the loop's thread that the loop itself ends.
class LoopWaiter final : public Waiter, private Runnable {
 public:
  LoopWaiter(const Wait& wait, WaitSite site, RunLoop& loop, Steps& steps)
      : Waiter(wait, site, &side), Runnable(&LoopWaiter::run), loop_(loop), steps_(steps) {}

  void take_steps() {
    if (steps_.begin(*this) || !suspend_between_steps(*this, steps_)) return;
    loop_.run_until(is_done_);
  }

 private:
  static const CoroutineSide side;
  static void resume(Waiter& waiter) noexcept {
    auto& self = static_cast<LoopWaiter&>(waiter);
    self.loop_.run_soon(self);
  }
  static void arm_limits(Waiter& waiter) {
    auto& self = static_cast<LoopWaiter&>(waiter);
    self.limits_.arm(self);
  }
  static void describe(const Waiter&, WaitInfo&) {}
  static void run(Runnable& runnable) {
    auto& self = static_cast<LoopWaiter&>(runnable);
    if (!self.steps_.go_on(self, self.state()) && suspend_between_steps(self, self.steps_)) return;
    self.is_done_ = true;
  }

  RunLoop& loop_;
  Steps& steps_;
  bool is_done_ = false;
  OwnLimits limits_;
};
constinit const CoroutineSide LoopWaiter::side{.resume = &LoopWaiter::resume,
                                               .arm = &LoopWaiter::arm_limits,
                                               .describe = &LoopWaiter::describe};
}  // namespace

void RunLoop::take_steps_meanwhile(const Wait& wait, WaitSite site, Steps& steps) {
  LoopWaiter(wait, site, *this, steps).take_steps();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
