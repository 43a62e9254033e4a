// Invariants:
// - sleeper_ is set only while the thread sleeps or is about to, and nobody has woken it: who arms an earlier timer
//   takes it away, so that the next one need not wake again. Unset, the thread will look at the wheel before it sleeps.
// - The thread asks the time, and sets or stops the alarm, only under the lock and while a timer is armed; cancelling
//   the last timer stops the alarm. So once nothing is armed no replaced clock is in use, and it may be destroyed at
//   once, though the thread may not even have got up yet.
// - An entry is not touched between the moment it is taken off the wheel for firing and the end of fire(), nor after
//   it, unless a bystander waits for it and so keeps it alive.
//
// Lock order: lock_, then that of a replaced clock. The alarm goes off under the clock's lock and takes none.
#include "handoff/detail/core/timer_service.hpp"

#include <pthread.h>

#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/unparks.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

TimerService& TimerService::shared() {
  if constexpr (simulated_build) {
    if (sim::Slot* const slot = sim::slot(sim::Once::timers)) {
      if (slot->object == nullptr) {
        *slot = {.object = new TimerService, .destroy = [](void* object) {
                   auto* const service = static_cast<TimerService*>(object);
                   service->end();
                   delete service;
                 }};
      }
      return *static_cast<TimerService*>(slot->object);
    }
  }
  // Never destroyed: timers with static storage are cancelled late, and the thread sleeps on until the process is gone.
  static auto* const service = [] {
    auto* const made = new TimerService;
    made->watch_for_fork();
    return made;
  }();
  return *service;
}

#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
void sim::fill_slots() {
  static_cast<void>(TimerService::shared());  // And the registry, which it enters.
}
#endif

TimerService::TimerService() : Primitive("TimerService", "timers") { enter_if_named(); }

TimerService::~TimerService() { retire(); }

void TimerService::end() {
  Unpark unpark;
  {
    SmallGuard guard(lock_);
    is_ending_ = true;
    if (sleeper_ != nullptr) {
      static_cast<void>(std::exchange(sleeper_, nullptr)->give_turn(unpark));
    }
  }
  unpark();
  if (simulated_thread_.joinable()) simulated_thread_.join();
}

void TimerService::arm(TimerEntry& entry, TimePoint due) {
  Unpark unpark;
  {
    SmallGuard guard(lock_);
    if (!has_thread_) start_locked();
    const bool was_empty = wheel_.is_empty();
    if (was_empty) wheel_.restart(now());
    wheel_.arm(entry, due);
    ++armings_;
    if (must_wake_locked(due, was_empty)) {
      // If it has just timed out instead, it is getting up anyway.
      static_cast<void>(std::exchange(sleeper_, nullptr)->give_turn(unpark));
    }
  }
  unpark();
}

void TimerService::start() {
  SmallGuard guard(lock_);
  if (!has_thread_) start_locked();
}

bool TimerService::must_wake_locked(TimePoint due, bool was_empty) const {
  if (sleeper_ == nullptr) return false;
  if (due < wake_at_) return true;
  // It may still sleep for a cancelled timer by the real time, when this one goes by a clock that has been put in place
  // since then.
  return was_empty && due != TimePoint::max() && clock_ != installed_clock();
}

bool TimerService::cancel(TimerEntry& entry) {
  SmallGuard guard(lock_);
  return cancel_locked(entry);
}

bool TimerService::cancel_locked(TimerEntry& entry) {
  if (!wheel_.cancel(entry)) return false;
  // By the real time the sleeper is left alone: arming and cancelling one timer in turn would wake it each time.
  if (wheel_.is_empty()) stop_alarm_locked();
  return true;
}

bool TimerService::cancel_and_wait(TimerEntry& entry) {
  bool cancelled = false;
  {
    SmallGuard guard(lock_);
    cancelled = cancel_locked(entry);
    if (firing_ != &entry || this_thread_id() == thread_) return cancelled;
  }
  const Wait until_done;
  const WaitSite site{.operation = "cancel", .where = std::source_location::current()};
  Bystander bystander{.waiter = {until_done, site}, .since = now(), .cancelled = cancelled};
  {
    SmallGuard guard(lock_);
    bystander.cancelled |= cancel_locked(entry);  // It may have been armed again meanwhile.
    if (firing_ != &entry) return bystander.cancelled;
    bystander.next = std::exchange(bystanders_, &bystander);
  }
  return wait_for_firing(bystander);
}

bool TimerService::wait_for_firing(Bystander& bystander) {
  static_cast<void>(bystander.waiter.park());
  SmallGuard guard(lock_);  // Who let us go may not have let go of the waiter yet.
  return bystander.cancelled;
}

std::size_t TimerService::armed() const {
  SmallGuard guard(lock_);
  return wheel_.size();
}

std::uint64_t TimerService::wakeups() const {
  SmallGuard guard(lock_);
  return wakeups_;
}

// -- The thread -----------------------------------------------------------------------------------

// Returns once the thread is up: if it were still half-way through its start when somebody forks, the child would
// inherit what a start holds (the run-time library's locks too), and could never start its own.
void TimerService::start_locked() {
  const Wait until_up;
  ThreadWaiter starter(until_up, {.operation = "start", .where = std::source_location::current()});
  Thread thread([this, &starter] {
    name_this_thread("handoff-timers");
    Unpark unpark;
    static_cast<void>(starter.give_turn(unpark));  // Nothing else can end that wait.
    unpark();
    run();
  });
  if constexpr (simulated_build) {
    simulated_thread_ = std::move(thread);
  } else {
    thread.detach();
  }
  static_cast<void>(starter.park());
  has_thread_ = true;
}

void TimerService::run() {
  lock_.lock();
  thread_ = this_thread_id();
  while (!simulated_build || !is_ending_) {  // Only a simulated one ever ends.
    while (TimerEntry* const entry = take_due_locked()) fire_locked(*entry);
    if (!simulated_build || !is_ending_) sleep_locked();
  }
  lock_.unlock();
}

TimerEntry* TimerService::take_due_locked() {
  while (!wheel_.is_empty()) {
    // Asked anew each time: while the lock was free, timers and even the clock may have been replaced.
    const auto time = now();
    if (wheel_.advance(time)) return wheel_.take_due(time);
    lock_.unlock();  // Others need not wait until a whole slot has moved.
    lock_.lock();
  }
  return nullptr;
}

void TimerService::fire_locked(TimerEntry& entry) {
  firing_ = &entry;
  ++firings_;
  lock_.unlock();
  entry.fire(entry);
  lock_.lock();
  firing_ = nullptr;
  if (bystanders_ == nullptr) return;

  Unparks unparks;
  bystanders_->cancelled |= cancel_locked(entry);  // It may have been armed again.
  for (Bystander* each = std::exchange(bystanders_, nullptr); each != nullptr; each = each->next) {
    Unpark unpark;
    if (each->waiter.give_turn(unpark)) unparks.add(unpark);
  }
  lock_.unlock();
  unparks.run();
  lock_.lock();
}

void TimerService::sleep_locked() {
  // An empty wheel may have stopped half-way through a slot, and has nothing to say.
  wake_at_ = wheel_.is_empty() ? TimePoint::max() : wheel_.next_due();
  const bool is_timed = wake_at_ != TimePoint::max();
  ClockSource* const clock = is_timed ? installed_clock() : nullptr;
  if (is_timed) since_ = now();

  const Wait wait{.deadline = clock == nullptr ? Deadline(wake_at_) : Deadline()};
  ThreadWaiter waiter(wait, {.operation = "fire", .where = std::source_location::current()});
  sleeper_ = &waiter;
  if (clock != nullptr) {
    clock_ = clock;
    set_alarm_locked(waiter);
  }
  lock_.unlock();
  static_cast<void>(waiter.park());
  lock_.lock();
  sleeper_ = nullptr;
  stop_alarm_locked();
  ++wakeups_;
}

void TimerService::set_alarm_locked(Waiter& sleeper) {
  alarm_.due = wake_at_;
  alarm_.waiter = &sleeper;
  alarm_.fire = [](Timer& timer) {
    Unpark unpark;
    if (static_cast<Alarm&>(timer).waiter->claim(WaitState::timed_out, unpark)) unpark();
  };
  clock_->arm(alarm_);
}

void TimerService::stop_alarm_locked() {
  if (clock_ == nullptr) return;
  std::exchange(clock_, nullptr)->disarm(alarm_);
  wake_at_ = TimePoint::max();
}

// -- What others see ------------------------------------------------------------------------------

Stats TimerService::stats() const {
  SmallGuard guard(lock_);
  Stats stats;
  stats.size = wheel_.size();
  stats.puts = armings_;
  stats.takes = firings_;
  stats.consumer_waits = wakeups_ + (sleeper_ != nullptr ? 1 : 0);
  stats.waiting_consumers = sleeper_ != nullptr ? 1 : 0;
  return stats;
}

void TimerService::report_waits(std::vector<WaitInfo>& waits) const {
  SmallGuard guard(lock_);
  if (sleeper_ != nullptr && !wheel_.is_empty() && wake_at_ != TimePoint::max()) {
    waits.push_back(describe(*sleeper_, since_));
  }
  for (const Bystander* each = bystanders_; each != nullptr; each = each->next) {
    waits.push_back(describe(each->waiter, each->since));
  }
}

WaitInfo TimerService::describe(const Waiter& waiter, TimePoint since) const {
  return {.thread = thread_name(waiter.thread()),
          .operation = waiter.site().operation,
          .kind = kind(),
          .name = display_name(),
          .held_by = waiter.thread() == thread_ ? std::string() : thread_name(thread_),
          .where = waiter.site().where,
          .since = since};
}

// -- Fork -----------------------------------------------------------------------------------------

// The child has only the thread that forked: without this it could inherit a lock that nobody will ever give back, and
// would believe in a thread that it does not have.
void TimerService::watch_for_fork() {
  // Not by shared(): it may be about to return for the first time, on a thread that the child does not have.
  static constinit TimerService* service = nullptr;
  service = this;
  static_cast<void>(pthread_atfork([] { service->lock_.lock(); }, [] { service->lock_.unlock(); },
                                   [] {
                                     service->forget_thread_locked();
                                     service->lock_.unlock();
                                   }));
}

void TimerService::forget_thread_locked() {
  // A fire() has forked. By the cache: to give the thread a number now would take locks that nobody may give back.
  if (thread_ != no_thread && this_thread_id_cache == thread_) return;
  has_thread_ = false;
  thread_ = no_thread;
  firing_ = nullptr;
  bystanders_ = nullptr;
  sleeper_ = nullptr;
  clock_ = nullptr;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
