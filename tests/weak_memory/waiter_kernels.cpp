// park: what an owner and its claimers see of each other, and that exactly one claims.
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/waiter.hpp"
#include "weak_memory/kernel.hpp"

namespace handoff::weak_memory {
namespace {

using detail::Unpark;
using detail::WaitState;

struct OneWaiter {
  const Wait wait{};
  detail::ThreadWaiter waiter{wait, {.operation = "take", .where = Where::current()}};
};

struct ClaimKernel : Kernel<ClaimKernel, 3>, OneWaiter {
  Plain<int> before_turn;
  Plain<int> before_stop;
  Plain<int> claims;

  void work(unsigned index) {
    Unpark unpark;
    bool claimed = false;
    if (index == 0) {
      switch (waiter.park()) {
        case WaitState::woken:
        case WaitState::nudged: return check(before_turn.read() == 1);
        case WaitState::stopped: return check(before_stop.read() == 1);
        default: return check(false);
      }
    } else if (index == 1) {
      before_turn.write(1);
      claimed = waiter.give_turn(unpark);
    } else {
      before_stop.write(1);
      claimed = waiter.claim(WaitState::stopped, unpark);
    }
    if (claimed) claims.write(1);  // A race if there are two.
    unpark();
  }
  void after() { check(claims.read() == 1); }
};
const Added claim = add<ClaimKernel>("Waiter.claim");

// What comes while the waiter has its turn, and so cannot claim it, is seen by the look that follows.
struct StopKernel : Kernel<StopKernel, 3>, OneWaiter {
  detail::atomic<bool> asked{false};

  void work(unsigned index) {
    Unpark unpark;
    if (index == 0) {
      own();
    } else if (index == 1) {
      (void)waiter.give_turn(unpark);
    } else {
      asked.store(true, detail::release);  // As a stop_source does.
      (void)waiter.claim(WaitState::stopped, unpark);
    }
    unpark();
  }
  void own() {
    while (!asked.load(detail::acquire)) {
      const auto outcome = waiter.park();
      if (outcome == WaitState::stopped) return;
      waiter.resume_looking(outcome);
    }
  }
};
const Added stop = add<StopKernel>("Waiter.stop");

// As a turnstile does it: one gives the waiter its turn, another one does its operation for it.
struct ServeKernel : Kernel<ServeKernel, 3>, OneWaiter {
  detail::SmallLock lock;
  Plain<int> wanted;
  Plain<int> given;

  void work(unsigned index) {
    Unpark unpark;
    if (index == 0) {
      own();
    } else if (index == 1) {
      check(waiter.give_turn(unpark) || waiter.state() == WaitState::served);
    } else {
      detail::SmallGuard guard(lock);
      if (waiter.serve(unpark)) given.write(wanted.read());
    }
    unpark();
  }
  void own() {
    wanted.write(7);
    auto outcome = waiter.park();
    if (outcome == WaitState::woken && !waiter.resume_looking(outcome)) {
      outcome = WaitState::served_in_its_turn;
    }
    if (outcome == WaitState::woken || outcome == WaitState::nudged) return;
    detail::SmallGuard guard(lock);
    check(given.read() == 7);
  }
};
const Added serve = add<ServeKernel>("Waiter.serve");

}  // namespace
}  // namespace handoff::weak_memory
