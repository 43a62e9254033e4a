// The timers of one pool: after(), at() and every().
//
// A timer's job waits in a node of its own, so that one which is due needs no room in the pool's queue: it goes on the list
// of due ones, and the workers take it from there. So a due timer is never refused and never blocks the timer service.
//
// States of a node, changed under lock_:
//   armed --fire()--> due --worker--> running --ended--> over, or armed again for every()
//   armed | due | running --cancel()--> over      one that is running ends, and is not armed again
//
// References: the handle's, and that of the list it is on or of the worker that runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <utility>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/timer_service.hpp"
#include "handoff/detail/pool/job_maker.hpp"
#include "handoff/job.hpp"
#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// What every() does when a run is not over by the time the next one is due. Never do two runs overlap.
enum class Overrun : std::uint8_t {
  skip,  // The runs that were missed are left out; the next is at the next multiple of the period.
  catch_up,  // The runs that were missed follow at once, one after the other.
  delay,     // Each run begins a whole period after the end of the one before.
};

namespace detail {

class PoolCore;
class PoolTimers;

struct TimerNode : TimerEntry {
  enum class State : std::uint8_t { armed, due, running, over };

  explicit TimerNode(std::shared_ptr<PoolTimers> owner) : timers(std::move(owner)) {}

  const std::shared_ptr<PoolTimers> timers;  // A handle may outlive the pool.
  atomic<std::uint32_t> references{2};
  Overrun overrun = Overrun::skip;
  Job job;
  TimePoint due{};
  Duration period{};  // Zero: it runs once.
  // Guarded by timers->lock_.
  State state = State::armed;
  TimerNode* next = nullptr;
  TimerNode* previous = nullptr;
};

class PoolTimers : public std::enable_shared_from_this<PoolTimers> {
 public:
  PoolTimers(PoolCore& pool, std::size_t most) : pool_(pool), most_(most) {}

  // Gives a node with a reference for its handle. Refused with `full` or `closed`.
  std::expected<TimerNode*, Refusal> arm(JobMaker make, TimePoint due, Duration period,
                                         Overrun overrun);

  // True if it will not run (again).
  bool cancel(TimerNode& node);
  bool is_active(const TimerNode& node) const;  // It will run (again), or does.
  static void release(TimerNode& node);

  // -- Workers -----------------------------------------------------------------------------------
  bool has_due() const { return due_count_.load(seq_cst) > 0; }
  TimerNode* take_due();  // With the list's reference; null if there is none.
  void count_run() { runs_.fetch_add(1, relaxed); }  // A counter.
  // Arms it again, or gives up the reference.
  void ran(TimerNode& node);

  // Refuses new ones and cancels all that are not due. Returns how many there were.
  std::size_t close();
  // Cancels those that are due as well. Returns how many there were.
  std::size_t drop_due();

  std::size_t armed() const;
  std::uint64_t runs() const { return runs_.load(relaxed); }  // A counter.

 private:
  static void fire(TimerEntry& entry) noexcept;
  void on_due(TimerNode& node);
  void arm_locked(TimerNode& node);
  void unlink_locked(TimerNode& node);

  PoolCore& pool_;  // Not used once closed and without due ones: it may be gone.
  const std::size_t most_;
  atomic<std::size_t> due_count_{0};  // Changed under lock_; read without by workers.
  atomic<std::uint64_t> runs_{0};

  // Taken before that of the timer service and those of the pool's turnstiles.
  mutable SmallLock lock_;
  // Guarded by lock_.
  bool closed_ = false;
  std::size_t count_ = 0;       // Armed, due or running.
  TimerNode* armed_ = nullptr;  // All that are armed, in no order.
  TimerNode* first_due_ = nullptr;
  TimerNode* last_due_ = nullptr;
};

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
