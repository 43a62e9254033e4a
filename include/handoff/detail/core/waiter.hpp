// park: one waiter for threads and for coroutines, and the only place where the library waits.
//
// States, and who moves them:
//
//   preparing --owner--> parked          the last step before sleeping; fails if claimed meanwhile
//   preparing | parked --claimer--> an outcome         one compare-and-swap; exactly one claimer wins
//   woken --server--> served             somebody did the operation on the waiter's behalf
//   woken | nudged | roused --owner--> preparing       the owner is up and looks again
//
// Rules that keep it safe:
// - A claimer touches a waiter only under the lock of the list it found it on, from the stop callback
//   or from the clock. The owner leaves only after it has unlinked itself under that lock and
//   has taken back the callback and the timer, so the waiter outlives every claimer's use of it.
// - Only a claimer that saw `parked` unparks, and it may do so after the lock is released: for a
//   thread this needs the address alone.
// - Stop callbacks claim and unpark, nothing else. They are never made or taken back under a lock:
//   making one may run it at once, taking it back waits until it has run.
// - Whoever goes from an outcome back to `preparing` must look at the stop_token and the deadline
//   again: their one shot may have been spent on the state before.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <stop_token>

#include "handoff/detail/core/ambient.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/clock_source.hpp"
#include "handoff/detail/core/futex.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/stop_callback.hpp"
#include "handoff/detail/core/thread_info.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
struct WaitInfo;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Primitive;

enum class WaitState : std::uint32_t {
  preparing,           // The owner is running: about to wait, or up again and looking.
  parked,              // The owner sleeps (or its coroutine is suspended).
  woken,               // It was parked, and it is its turn.
  nudged,              // It was preparing, and it is its turn: no need to sleep.
  roused,              // Look again; it is everybody's turn (a close, a notify_all).
  served,              // Another thread finished the operation for it.
  served_in_its_turn,  // The same, after it was woken: it still holds what came with its turn.
  timed_out,
  stopped,
};

// Where and how a wait was called.
struct WaitSite {
  const char* operation;  // "take", "lock", ...; a string literal.
  std::source_location where;
};

class Waiter;

// What makes a waiter a coroutine's.
struct CoroutineSide {
  // Hands it to its executor; never resumes it inline.
  void (*resume)(Waiter&) noexcept;
  // Connects the stop_token and the deadline.
  void (*arm)(Waiter&);
  // For waits(): who waits. Under the lock of a list the waiter stands on.
  void (*describe)(const Waiter&, WaitInfo&);
};

// What is left to do for a claimed waiter once the list's lock is released.
class [[nodiscard]] Unpark {
 public:
  Unpark() = default;
  explicit Unpark(Waiter& waiter);
  void operator()() const;  // Does nothing if there was nobody to unpark.
  bool is_for_coroutine() const { return waiter_ != nullptr; }

 private:
  const void* word_ = nullptr;  // A sleeping thread: the address it sleeps on.
  Waiter* waiter_ =
      nullptr;  // A suspended coroutine: only its claimer may resume it, so it is alive.
};

// One thread's or one coroutine's wait. Lives in the frame that waits: no allocation.
class Waiter {
 public:
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // -- For claimers ------------------------------------------------------------------------------

  // Gives the waiter its turn: `woken` if it was parked, `nudged` if it was preparing. Returns false
  // if somebody else has claimed it. `unpark` is to be called after the lock is released.
  bool give_turn(Unpark& unpark) { return move_on(WaitState::woken, WaitState::nudged, unpark); }

  // Claims it with an outcome that means the same whether or not it was parked yet.
  bool claim(WaitState outcome, Unpark& unpark) { return move_on(outcome, outcome, unpark); }

  // Claims it as served. Only a waiter that sleeps or is being woken can be served: one that is
  // preparing may be in the middle of the operation itself.
  bool serve(Unpark& unpark);

  // -- For the owner -----------------------------------------------------------------------------

  // Connects the stop_token and, for a coroutine or under a replaced clock, the deadline. Called once, without a lock,
  // after the waiter is on its list.
  void arm();

  // The stop_token was requested, or the deadline has come.
  void stop() noexcept;
  void time_out() noexcept;

  // From now on neither the stop_token nor the deadline ends the wait. A claim that they have made already is its owner's to undo.
  void lift_limits() { has_limits_ = false; }

  // True, with the refusal, if the wait is over anyway. To be asked before every park().
  bool is_over(WaitState& outcome) const {
    if (!has_limits_) return false;
    // No atomic of ours, and yet what another thread changes.
    if constexpr (simulated_build) sim::point(this, sim::Access::other);
    if (wait_->stop.stop_requested()) {
      outcome = WaitState::stopped;
      return true;
    }
    if (wait_->deadline.has_passed()) {
      outcome = WaitState::timed_out;
      return true;
    }
    return false;
  }

  // Back to preparing after `from`. Returns false if it was served meanwhile.
  bool resume_looking(WaitState from);

  // Pairs with the acq_rel of whoever moved it.
  WaitState state() const { return state_.load(acquire); }

  // For a coroutine: the last step of await_suspend. If false the wait is over already, and the
  // coroutine must not be suspended; if true nothing of it may be touched any more.
  bool commit_to_suspend() {
    auto expected = WaitState::preparing;
    return state_.compare_exchange_strong(expected, WaitState::parked, acq_rel);
  }

  // Set by the wait graph of a checked build; shown by waits().
  void mark_deadlocked() { is_deadlocked_.store(true, relaxed); }
  bool is_deadlocked() const { return is_deadlocked_.load(relaxed); }

  const WaitSite& site() const { return site_; }
  ThreadId thread() const { return thread_; }
  // Owns what it gets under another number than the thread's: a coroutine goes on wherever it is resumed.
  void act_as(ThreadId owner) { thread_ = owner; }
  const CoroutineSide* coroutine() const { return coroutine_; }
  // On whose behalf it waits; null if nobody's.
  const Ambient* ambient() const { return ambient_; }
  const Wait& wait() const { return *wait_; }

 protected:
  // `coroutine`: null for a thread's, which is a ThreadWaiter.
  Waiter(const Wait& wait, WaitSite site, const CoroutineSide* coroutine)
      : wait_(&wait),
        site_(site),
        coroutine_(coroutine),
        thread_(this_thread_id()),
        ambient_(current_ambient()) {}
  // One that learns later who waits, and for how long at most: see begin_for().
  Waiter(WaitSite site, const CoroutineSide& coroutine) : site_(site), coroutine_(&coroutine) {}
  ~Waiter() = default;

  void begin_for(const Ambient& ambient, const Wait& wait) {
    ambient_ = &ambient;
    wait_ = &wait;
    thread_ = this_thread_id();
  }

  atomic<WaitState> state_{WaitState::preparing};
  bool has_limits_ = true;
  bool heeds_stop_ = false;  // For a coroutine, whose task's stop_token is connected.

 private:
  friend class Unpark;

  // Claims it with the one outcome if it is parked, with the other if it is preparing.
  bool move_on(WaitState if_parked, WaitState if_preparing, Unpark& unpark);

  atomic<bool> is_deadlocked_{false};
  const Wait* wait_ = nullptr;
  WaitSite site_;
  const CoroutineSide* const coroutine_;
  ThreadId thread_ = no_thread;
  const Ambient* ambient_ = nullptr;
};

inline Unpark::Unpark(Waiter& waiter)
    : word_(waiter.coroutine_ == nullptr ? &waiter.state_ : nullptr),
      waiter_(waiter.coroutine_ == nullptr ? nullptr : &waiter) {}

inline void Unpark::operator()() const {
  if (word_ != nullptr) futex_wake_one(word_);
  if (waiter_ != nullptr) waiter_->coroutine_->resume(*waiter_);
}

// Claims a waiter when its stop_token is requested.
class StopClaim {
 public:
  explicit StopClaim(Waiter& waiter) : waiter_(waiter) {}
  void operator()() const noexcept { waiter_.stop(); }

 private:
  Waiter& waiter_;
};

class ThreadWaiter final : public Waiter {
 public:
  ThreadWaiter(const Wait& wait, WaitSite site) : Waiter(wait, site, nullptr) {}
  ~ThreadWaiter();

  // Sleeps until claimed or until the deadline. Returns the outcome, never preparing or parked.
  WaitState park();

 private:
  friend class Waiter;
  // Under a replaced clock.
  struct ClockTimer : Timer {
    Waiter* waiter = nullptr;
  };
  void arm_limits();

  ClockSource* clock_ = nullptr;  // The replaced clock this wait was armed with, if any.
  ClockTimer timer_;
  std::optional<StopCallback<StopClaim>> on_stop_;
};

// The deadline of a coroutine, which has no thread that could sleep until then.
class CoroutineTimer : private TimerEntry {
 public:
  explicit CoroutineTimer(Waiter& waiter);
  ~CoroutineTimer();
  CoroutineTimer(const CoroutineTimer&) = delete;
  CoroutineTimer& operator=(const CoroutineTimer&) = delete;
  void arm(TimePoint when);

 private:
  Waiter& waiter_;
};

// What ends the wait of one with a CoroutineSide, but without a task.
class OwnLimits {
 public:
  void arm(Waiter& waiter);

 private:
  std::optional<CoroutineTimer> timer_;
  std::optional<StopCallback<StopClaim>> on_stop_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
