// The parts of a monitor that do not depend on its state.
#pragma once

#include <expected>
#include <optional>
#include <source_location>
#include <utility>

#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/core/waiter.hpp"
#include "handoff/mutex.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
class Condition;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail {

struct LockAllAccess;

// Holds a monitor's lock, and those to be woken once it is given back.
class MonitorGuard {
 public:
  // Of a lock that is held already.
  explicit MonitorGuard(Mutex& mutex) : mutex_(&mutex) {}
  MonitorGuard(MonitorGuard&& other) noexcept
      : mutex_(std::exchange(other.mutex_, nullptr)), unparks_(std::move(other.unparks_)) {}
  MonitorGuard& operator=(MonitorGuard&&) = delete;
  ~MonitorGuard() {
    if (mutex_ != nullptr) unlock();
  }

  void unlock() {
    mutex_->unlock();
    unparks_.run();
  }
  void lock(std::source_location where) { mutex_->lock(where); }
  bool is_of(const Mutex& mutex) const { return mutex_ == &mutex; }

  // To be called at the next unlock().
  void later(Unpark unpark) { unparks_.add(unpark); }

 private:
  Mutex* mutex_;  // Null once moved from.
  Unparks unparks_;
};

// One call of Locked::wait() that has to sleep: its place in the condition's line.
class ConditionWait {
 public:
  ConditionWait(Condition& condition, MonitorGuard& guard, const Wait& wait,
                std::source_location where);
  ~ConditionWait();
  ConditionWait(const ConditionWait&) = delete;
  ConditionWait& operator=(const ConditionWait&) = delete;

  // Gives the lock back, sleeps until notified, takes the lock again. Nothing, or why it slept no longer.
  std::optional<Refusal> sleep();

  // What came of the predicate. All with the lock held.
  std::expected<void, Refusal> satisfied();
  std::expected<void, Refusal> refused(Refusal refusal);
  void woken_in_vain();

 private:
  Condition& condition_;
  MonitorGuard& guard_;
  ThreadWaiter waiter_;
  Link link_;
  bool is_armed_ = false;
  bool has_turn_ = false;  // Notified, and nothing has come of it yet.
  bool is_satisfied_ = false;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
