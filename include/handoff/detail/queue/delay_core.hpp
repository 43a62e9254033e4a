// What DelayQueue<T> knows without knowing T: which item is due, and which of the waiting takers watches the time.
//
// `order` is the due time. Among the takers that wait, one is the watcher: it sleeps until the first item is due. The
// others stand in line on consumers_ and set no timer, so a moment at which an item becomes due wakes one thread.
//
//   comes, nothing due --nobody watches--> watcher            sleeps on watch_ until the first item is due
//                      --somebody does---> in line            sleeps on consumers_
//   in line  --the watch was given up, and it is its turn--> watcher
//   watcher  --item, closed, timed out, stopped, move threw--> gone; it gives up the watch and wakes the line's front
//
// Coroutines and selects never watch: a coroutine may have to wait for a worker when the time comes, and the others would
// wait with it; a select may take something else at that moment. They stand in line. While one of them does, no thread
// becomes the watcher, and the alarm has the watch, at the latest when the thread that has it goes. The alarm is a timer
// that gives what is due to the front of the line, claiming its waiter as served.
//
// Invariants:
// - watcher_ is guarded by the lock, and so is what another thread gives the watcher.
// - The watcher is never overtaken: whoever finds an item due while another taker watches gives it that item first.
//   Only a taker that has stood in line beyond the turnstile's limits goes before it.
// - While the alarm watches, the front of the line is not overtaken either: whoever finds an item due gives it to the front
//   first, unless the front is up and looks for itself, or is leaving.
// - While somebody stands in line there is a watcher, or the alarm watches, or somebody has been woken to become the watcher.
// - The watcher sleeps no longer than until the first item is due: who puts an item in front wakes it.
// - While the alarm watches, it is set for the moment the first item is due, or before; or that has come, and one of the
//   line has been woken for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/queue/ordered_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class DelayCore : public OrderedCore {
 public:
  void close();
  Stats stats() const final;
  void report_waits(std::vector<WaitInfo>& waits) const final;

 protected:
  // A taker that waits, in line or as the watcher.
  class Taker : public OrderedCore::Taker {
    friend class DelayCore;
    // Written by the taker's own thread only.
    bool may_watch_ = false;
    bool watches_ = false;
    TimePoint until_ =
        TimePoint::max();  // When the first item was due, at the watcher's last look.
  };

  DelayCore(const QueueOptions& options, std::size_t item_size);
  ~DelayCore();

  // On a thread.
  std::optional<Refusal> wait_for_item(Taker& taker, const Wait& wait, WaitSite site);
  // For a coroutine or a select.
  class TakerVisit;
  DelayCore& place_of_takers() { return *this; }

  // -- With the lock held ------------------------------------------------------------------------

  bool is_ready_locked() const { return !order_.is_empty() && first_due_locked() <= now(); }
  bool alarm_watches_locked() const { return watcher_ == nullptr && awaiting_ > 0; }
  bool may_go_on_locked() const {
    return (watcher_ == nullptr && !alarm_watches_locked()) || is_ready_locked();
  }

  void accept_locked(Section& section, std::size_t slot, std::int64_t order);
  void forget_locked(Section& section, std::size_t slot);
  std::optional<std::size_t> victim_locked(std::int64_t) const { return order_.front().slot; }

  // The watcher, unless that is the caller: it is to be given the item that is due. It watches no more.
  Taker* call_first_taker_locked(Section& section, const Taker* caller);

  // `taker` has found nothing due. True if it has to wait in another place now, or less long.
  bool settle_locked(Taker& taker);

  // If the alarm watches: does what it would do now.
  void serve_takers_locked(Section& section);

 private:
  class Stay;
  struct Alarm : TimerEntry {
    explicit Alarm(DelayCore& owner);
    DelayCore& core;
  };

  TimePoint first_due_locked() const { return TimePoint(Duration(order_.front().rank.major)); }
  std::optional<Refusal> sleep(Taker& taker, const Wait& wait, WaitSite site);
  bool leave(Taker& taker);
  void enter_line();
  void leave_line();
  void ring();
  void tend_line_locked(Section& section) final;
  void set_alarm_locked(TimePoint due);

  Turnstile watch_;
  // Guarded by the lock.
  Taker* watcher_ = nullptr;
  std::size_t awaiting_ = 0;  // Coroutines and selects in line.
  TimePoint alarm_at_ = TimePoint::max();
  bool had_alarm_ = false;
  Alarm alarm_;
};

// A coroutine's or a select's stay in line, with the members of Turnstile::Visit.
class DelayCore::TakerVisit : public Steps {
 public:
  TakerVisit(DelayCore& core, Taker& taker)
      : core_(core), taker_(taker), visit_(core.consumers_, taker) {}
  ~TakerVisit() { leave(); }
  TakerVisit(const TakerVisit&) = delete;
  TakerVisit& operator=(const TakerVisit&) = delete;

  bool begin(Waiter& waiter) override;
  bool go_on(Waiter& waiter, WaitState outcome) override;
  std::optional<Refusal> refusal() const;
  void refuse(Refusal refusal) { visit_.refuse(refusal); }

  void stand_in_line(Waiter& waiter);
  bool look() { return visit_.look(); }
  void leave();
  void pass_lock() const { visit_.pass_lock(); }

 private:
  class LeaveAtEnd;

  DelayCore& core_;
  Taker& taker_;
  Turnstile::Visit visit_;
  bool is_in_line_ = false;
  bool took_at_deadline_ = false;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
