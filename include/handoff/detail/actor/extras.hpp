// What most actors do not need, and so is made for those that do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "handoff/actor_info.hpp"
#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/family.hpp"
#include "handoff/detail/actor/lane.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/core/timer_wheel.hpp"
#include "handoff/detail/pool/future_state.hpp"
#include "handoff/pool.hpp"
#include "handoff/supervision.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Somebody waits to hear that an actor has stopped: another actor, or a future.
struct Watch final : Runnable {
  using Tell = void (*)(ActorCell& watcher, const Terminated& end);

  Watch(ActorCell& watched_one, ActorCell* who, Tell how);
  ~Watch();

  ActorCell& watched;        // Kept alive by us.
  ActorCell* const watcher;  // The same; null: a future's.
  const Tell tell;
  Terminated end;
  std::shared_ptr<Watch> self;  // Keeps itself alive while it is in the watcher's urgent lane.
  std::function<void(const Terminated&)> tell_future;  // Instead.

 private:
  static void run_in_turn(Runnable& runnable);
};

// A message to itself, later. In the urgent lane it needs no room in the mailbox.
class SelfTimer : private Runnable,
                  private TimerEntry,
                  public std::enable_shared_from_this<SelfTimer> {
 public:
  SelfTimer(ActorCell& cell, Duration period);
  virtual ~SelfTimer();

  void arm(TimePoint due);
  // From any thread. Afterwards it does not fire any more; what is in the urgent lane already does nothing.
  void cancel();
  // In the turn of the actor, which ends: waits until it does not fire now.
  void retire();
  bool is_cancelled() const { return is_cancelled_.load(acquire); }  // Pairs with cancel().

 protected:
  ActorCell& cell_;  // Kept alive by us.

 private:
  // Handles the message, in the actor's turn.
  virtual void handle() = 0;
  // Not before the actor may take a message.
  virtual bool waits_for_its_turn() const { return true; }
  static void fire_now(TimerEntry& entry) noexcept;
  static void run_in_turn(Runnable& runnable);

  const Duration period_;  // Zero: once.
  TimePoint due_{};
  atomic<bool> is_cancelled_{false};
  std::shared_ptr<SelfTimer> self_;  // While it is armed or in the lane.
};

// A set of handlers that stands before the actor's own: see become().
class Behaviour {
 public:
  virtual ~Behaviour() = default;
  // What handles a message, of the type that `type` stands for; null if it has no handler for it.
  virtual void* handler_of(const void* type) = 0;
  // Which state it is.
  virtual const void* state_kind() const = 0;
};

struct ActorExtras {
  // As it was spawned.
  std::string name;
  std::shared_ptr<const Supervision> policy;
  std::unique_ptr<WorkerPool> own_thread;
  std::unique_ptr<Lane[]> lanes;  // Guarded by the cell's lock.

  Family children;
  atomic<SenderLine*> line{nullptr};  // Made under the cell's lock.

  // Guarded by the cell's lock.
  std::vector<std::shared_ptr<Watch>> watchers;
  std::string last_failure;
  std::uint64_t failures = 0;
  std::uint64_t restarts = 0;

  // The turn's own. The numbers are read by inspect().
  HandlerTask* tasks = nullptr;
  atomic<std::size_t> task_count{0};
  std::deque<OutRun> outbox;
  OutboxBound outbox_bound;
  std::vector<std::shared_ptr<Watch>> watching;
  std::vector<std::shared_ptr<SelfTimer>> timers;
  std::vector<Runnable*> deferred;
  std::vector<TimePoint> restart_times;
  Duration restart_delay{};
  std::shared_ptr<Behaviour> behaviour;  // Who runs a handler of it keeps it.
  std::shared_ptr<SelfTimer> backoff;
  atomic<std::uint64_t> from_timers{0};  // Handled besides those of the mailbox.
  atomic<Duration::rep> busy{0};
  atomic<Duration::rep> longest{0};

  // Guarded by the graph's lock.
  std::vector<std::pair<ActorCell*, Edge>> waits_for;

  ActorExtras();
  ~ActorExtras();
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
