// State that can only be touched under its lock, and conditions to wait for.
//
//   struct Buffer { std::deque<Order> orders; };
//   handoff::Monitor<Buffer> buffer{{.name = "buffer"}};
//   handoff::Condition not_empty{buffer, "not_empty"};
//   handoff::Condition not_full{buffer, "not_full"};
//
//   auto locked = buffer.lock();                                             // consumer
//   auto ready = locked.wait(not_empty, [](const Buffer& b) { return !b.orders.empty(); }, {.stop = stop});
//   if (!ready) return ready.error();                                        // timed_out or stopped
//   Order order = std::move(locked->orders.front());
//   locked->orders.pop_front();
//   locked.notify_one(not_full);                                             // one place, one producer
//
//   auto size = buffer.with([](Buffer& b) { return b.orders.size(); });      // lock, look, unlock
//
//            waits    now or not    deadline and stop_token
//   lock     lock     try_lock      acquire
//   wait     wait                   wait(condition, predicate, {.deadline = ..., .stop = ...})
//
// For threads: there is no async form. A lock that is held across a co_await is a Mutex with async_lock().
//
// There is no wait without a predicate, and no way to the state without the lock. wait() returns success only if the
// predicate holds, with the lock held in every case; it gives the lock back while it sleeps.
//
// Give each thing that is waited for a condition of its own, and notify_one it. With one condition for all, a notify_one
// may wake a producer when there is only something to take, so it has to be notify_all; and then almost everybody
// gets up for nothing. One producer and eight consumers that pass 6000 items through a buffer with one place
// (tests/sync/monitor_test.cpp counts and prints it; 20 runs on 2 busy cores), wake-ups that found nothing to do:
//
//   one condition, notify_all      11'000 to 32'000
//   two conditions, notify_one        400 to  1'500
//
// (What is left: a consumer that was awake took the item before the one that was woken for it.)
//
// Waiters of a condition wake first in, first out. Those who wait for the same condition should wait for the same
// predicate: notify_one wakes the first of them, whether or not it is the right one. A notification is never lost: if
// its receiver leaves instead (stopped, out of time, or because its predicate threw), the next in line gets it.
// A notified thread is woken when the lock is given back, so that it does not run straight into it.
//
// Thread safety: Monitor and Condition: any member, any thread, until the destructor begins. A Locked belongs to the
// thread that made it. Conditions must not outlive their monitor.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "handoff/detail/sync/condition_wait.hpp"
#include "handoff/mutex.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct MonitorOptions {
  std::string_view name = {};  // How waits(), snapshot() and reports call it; copied.
};

// Access to a monitor's state, while it lives.
template <typename T>
class [[nodiscard]] Locked {
 public:
  Locked(Locked&& other) noexcept = default;
  Locked& operator=(Locked&&) = delete;

  T& operator*() const { return *state_; }
  T* operator->() const { return state_; }

  // Waits until `predicate(const T&)` holds; on success it does. Refused with `timed_out` or `stopped`; if it throws,
  // so does this. The lock is held afterwards in every case. Throws std::invalid_argument if the condition belongs to
  // another monitor.
  template <std::predicate<const T&> Predicate>
  [[nodiscard]] std::expected<void, Refusal> wait(
      Condition& condition, Predicate predicate, const Wait& wait = {},
      std::source_location where = std::source_location::current());

  // Wakes the one who has waited longest, or nobody.
  void notify_one(Condition& condition);
  // Wakes all: for conditions that become true for everybody at once, such as "closed".
  void notify_all(Condition& condition);

 private:
  friend class Monitor<T>;
  friend struct detail::LockAllAccess;
  Locked(Mutex& mutex, T& state) : guard_(mutex), state_(&state) {}

  detail::MonitorGuard guard_;
  T* state_;
};

template <typename T>
class Monitor {
 public:
  using State = T;

  Monitor()
    requires std::default_initializable<T>
      : Monitor(MonitorOptions{}) {}
  // The state is made from `arguments`.
  template <typename... Arguments>
  explicit Monitor(MonitorOptions options, Arguments&&... arguments)
      : mutex_("Monitor", options.name), state_(std::forward<Arguments>(arguments)...) {}

  [[nodiscard]] Locked<T> lock(std::source_location where = std::source_location::current()) {
    mutex_.lock(where);
    return Locked<T>(mutex_, state_);
  }
  [[nodiscard]] std::optional<Locked<T>> try_lock(
      std::source_location where = std::source_location::current()) {
    if (!mutex_.try_lock(where)) return std::nullopt;
    return Locked<T>(mutex_, state_);
  }
  // Refused with `timed_out` or `stopped`.
  [[nodiscard]] std::expected<Locked<T>, Refusal> acquire(
      const Wait& wait = {}, std::source_location where = std::source_location::current()) {
    if (auto taken = mutex_.lock_within(wait, where); !taken) {
      return std::unexpected(taken.error());
    }
    return Locked<T>(mutex_, state_);
  }

  // Runs `body` under the lock and returns what it returns: a copy, not a reference into the state.
  template <std::invocable<T&> Body>
  auto with(Body&& body, std::source_location where = std::source_location::current()) {
    static_assert(!std::is_reference_v<std::invoke_result_t<Body, T&>>,
                  "a reference into the state would outlive the lock");
    auto locked = lock(where);
    return std::invoke(std::forward<Body>(body), *locked);
  }

  // Of the lock. Conditions have their own.
  Stats stats() const { return mutex_.stats(); }

 private:
  friend class Condition;
  friend struct detail::LockAllAccess;

  Mutex mutex_;
  T state_;
};

// Something that threads wait for under a monitor's lock.
class Condition final : public detail::Primitive {
 public:
  // Called `name` in waits() and snapshot(), after the name of its monitor: "buffer.not_empty".
  template <typename T>
  Condition(Monitor<T>& monitor, std::string_view name) : Condition(monitor.mutex_, name) {}
  ~Condition();

  // waiting_consumers: who waits now. consumer_waits: waits that had to sleep. takes: waits whose predicate came true
  // after they had slept. refused: timed out or stopped.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

  // Wake-ups so far whose predicate turned out to be false still. Many of them mean that those who wait here wait for
  // different things.
  std::uint64_t wasted_wakeups() const { return wasted_.load(detail::relaxed); }

 private:
  template <typename T>
  friend class Locked;
  friend class detail::ConditionWait;

  Condition(Mutex& mutex, std::string_view name);
  void notify_one(detail::MonitorGuard& guard);
  void notify_all(detail::MonitorGuard& guard);
  void give_turn_locked(detail::Unpark& unpark);
  void refuse_other_monitors(const detail::MonitorGuard& guard) const;

  Mutex& mutex_;
  detail::WaitList line_;
  // Written under mutex_, read by anybody.
  detail::atomic<std::uint64_t> wasted_{0};
  detail::atomic<std::uint64_t> satisfied_{0};
  detail::atomic<std::uint64_t> refused_{0};
};

template <typename T>
void Locked<T>::notify_one(Condition& condition) {
  condition.notify_one(guard_);
}

template <typename T>
void Locked<T>::notify_all(Condition& condition) {
  condition.notify_all(guard_);
}

template <typename T>
template <std::predicate<const T&> Predicate>
std::expected<void, Refusal> Locked<T>::wait(Condition& condition, Predicate predicate,
                                             const Wait& wait, std::source_location where) {
  const detail::sim::Operation here(condition, "wait");
  const auto holds = [&] {
    return static_cast<bool>(std::invoke(predicate, std::as_const(*state_)));
  };

  condition.refuse_other_monitors(guard_);
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  if (holds()) return {};
  detail::ConditionWait waiting(condition, guard_, wait, where);
  while (true) {
    const auto woken = waiting.sleep();
    if (woken == Refusal::stopped) return waiting.refused(Refusal::stopped);
    if (holds()) return waiting.satisfied();
    if (woken == Refusal::timed_out) return waiting.refused(Refusal::timed_out);
    waiting.woken_in_vain();
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
