// Coroutines that wait for answers: when each gives up, and who they are. One list for a system.
//
// A timer and a place in the registry for each question would cost more than the question. Most have the same patience and are answered long before: so
// their deadlines are kept here, and the timer service is told of the first only.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/pool/future_core.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class ActorCell;

class Asks final : public Primitive {
 public:
  // One who waits; lives in its frame.
  struct Entry : TimerEntry {
    Entry(FutureCore& what, const ActorCell& whom) : answer(what), asked(whom) {}
    FutureCore& answer;
    const ActorCell& asked;
    Waiter* waiter = nullptr;
    Entry* next = nullptr;
    Entry* previous = nullptr;
  };

  Asks();
  ~Asks();

  // Throws std::system_error, and has done nothing, if there is no thread for timers.
  void add(Entry& entry, Deadline deadline);
  // Afterwards nobody touches it.
  void remove(Entry& entry);

  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  struct Alarm : TimerEntry {
    Asks* asks = nullptr;
  };
  void set_alarm_locked(TimePoint due);
  void end_those_due();

  mutable SmallLock lock_;
  // Guarded by lock_.
  Entry* first_ = nullptr;
  TimerWheel deadlines_;
  TimePoint alarm_at_ = TimePoint::max();
  Alarm alarm_;
  std::size_t size_ = 0;
};

// A coroutine's wait for an answer, in steps.
class AnswerWait : public Steps {
 public:
  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) refusal_ = Refusal::stopped;
    return refusal_ || entry_.answer.is_done();
  }
  bool begin(Waiter& waiter) final;
  bool go_on(Waiter& waiter, WaitState outcome) final;

 protected:
  AnswerWait(FutureCore& answer, const ActorCell& asked, Deadline deadline)
      : entry_(answer, asked), deadline_(deadline) {}
  ~AnswerWait() = default;
  const std::optional<Refusal>& refusal() const { return refusal_; }

 private:
  Asks::Entry entry_;
  const Deadline deadline_;
  Asks* asks_ = nullptr;
  std::shared_ptr<Asks> keeps_asks_;  // If the system may end before who has asked goes on.
  std::optional<Link> link_;
  std::optional<Refusal> refusal_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
