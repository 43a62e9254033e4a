// How an actor is made, made anew, and ends.
//
//   running --failed, escalated--> failed --the parent goes on--> running
//   running --failed--> restarting: children are stopped; the object is destroyed; after the backoff it is made anew --> running
//   any --> stopping: closed, children are stopped; then the object is destroyed, the mailbox cleared, watchers told --> stopped
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "family.ipp"
#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/handler_task.hpp"
#include "handoff/detail/actor/room_wait.hpp"
#include "handoff/detail/actor/watching.hpp"
#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/detail/core/error_text.hpp"
#include "turn.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// -- Family ---------------------------------------------------------------------------------------

bool Family::add(ActorCell& cell) {
  SmallGuard guard(lock_);
  if (is_closed_) return false;
  cell.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &cell;
  first_ = &cell;
  cell.is_in_family_ = true;
  size_.store(size_.load(relaxed) + 1, seq_cst);  // Written under the lock.
  return true;
}

void Family::remove(ActorCell& cell) {
  SmallGuard guard(lock_);
  (cell.previous_ == nullptr ? first_ : cell.previous_->next_) = cell.next_;
  if (cell.next_ != nullptr) cell.next_->previous_ = cell.previous_;
  size_.store(size_.load(relaxed) - 1, seq_cst);  // Written under the lock.
}

void Family::close() {
  SmallGuard guard(lock_);
  is_closed_ = true;
}

void Family::reopen() {
  SmallGuard guard(lock_);
  is_closed_ = false;
}

// -- Made -----------------------------------------------------------------------------------------

ActorExtras::ActorExtras() = default;
ActorExtras::~ActorExtras() { delete line.load(relaxed); }  // Nobody else has it any more.

ActorCell::ActorCell(SystemCore& system, const ActorType& type, ActorCell* parent,
                     const SpawnSettings& settings)
    : Runnable(&ActorCell::take_turn),
      type_(type),
      capacity_(static_cast<std::uint32_t>(settings.options.mailbox.capacity)),
      when_full_(settings.options.mailbox.when_full),
      is_traced_(settings.is_traced),
      executor_(settings.executor),
      has_started_(settings.has_started),
      system_(system),
      parent_(parent),
      id_(settings.id) {
  if (parent_ != nullptr) parent_->add_reference();
}

ActorCell::~ActorCell() {
  delete extras_.load(relaxed);  // Nobody else has it any more.
  if (parent_ != nullptr) parent_->drop_reference();
}

ActorExtras& ActorCell::extras() {
  if (ActorExtras* const there = extras_if_any()) return *there;
  auto made = std::make_unique<ActorExtras>();
  SmallGuard guard(lock_);
  if (extras_.load(relaxed) == nullptr) {    // Written under the same lock.
    extras_.store(made.release(), release);  // Pairs with extras_if_any().
  }
  return *extras_.load(relaxed);
}

std::string ActorCell::path() const {
  const ActorExtras* const all = extras_if_any();
  std::string own =
      all != nullptr && !all->name.empty() ? all->name : fmt::format("{}#{}", type_.name, id_);
  return parent_ == nullptr ? own : fmt::format("{}/{}", parent_->path(), own);
}

Family* ActorCell::family() const {
  // One without a parent has the whole system for siblings: they are not meant.
  return parent_ == nullptr ? nullptr : &parent_->extras().children;
}

void ActorCell::start() {
  has_started_ = true;
  try {
    call_on_start();
  } catch (...) {
    fail(std::current_exception(), MessageView());
  }
}

// -- Made anew ------------------------------------------------------------------------------------

void ActorCell::begin_restart(Duration delay) {
  phase_.store(Phase::restarting, relaxed);  // Its turn's own; others only look.
  ActorExtras& all = extras();
  all.restart_delay = delay;
  all.children.close();
  all.children.for_each([](ActorCell& each) { each.request_stop(Stop::now); });
  may_rebuild_ = false;
  if (object_ == nullptr) wait_before_rebuild(delay);  // Its constructor has thrown.
}

namespace {
// The time between a failure and the restart.
class Backoff final : public SelfTimer {
 public:
  Backoff(ActorCell& cell, bool& is_over) : SelfTimer(cell, Duration::zero()), is_over_(is_over) {}

 private:
  bool waits_for_its_turn() const override { return false; }
  void handle() override { is_over_ = true; }
  bool& is_over_;
};
}  // namespace

void ActorCell::wait_before_rebuild(Duration delay) {
  if (delay <= Duration::zero()) {
    may_rebuild_ = true;
    return;
  }
  auto& backoff = extras().backoff;
  backoff = std::make_shared<Backoff>(*this, may_rebuild_);
  backoff->arm(within(delay).when());
}

// Once the children and coroutines of the one before are gone.
void ActorCell::rebuild() {
  ActorExtras& all = extras();
  if (object_ != nullptr) {
    tear_down_object();
    wait_before_rebuild(all.restart_delay);
    if (!may_rebuild_) return;
  }
  may_rebuild_ = false;
  all.children.reopen();
  is_constructing_ = true;
  try {
    object_ = construct();
  } catch (...) {
    is_constructing_ = false;
    tear_down_object();
    fail(std::current_exception(), MessageView());
    return;
  }
  is_constructing_ = false;
  has_started_ = !type_.has_start;
  phase_.store(Phase::running, relaxed);  // Its turn's own.
  SmallGuard guard(lock_);
  ++all.restarts;
}

void ActorCell::tear_down_object() {
  if (object_ != nullptr && has_started_) {
    try {
      call_on_stop();
    } catch (...) {
      system_.note_failure(
          {.actor = path(), .message = MessageView(), .error = std::current_exception()},
          Directive::stop);
    }
  }
  // A constructor that has thrown may have armed timers, too.
  if (ActorExtras* const all = extras_if_any()) {
    for (const auto& each : std::exchange(all->timers, {})) each->retire();
    all->behaviour.reset();
  }
  if (object_ != nullptr) destroy_object();
  object_ = nullptr;
}

// -- The end --------------------------------------------------------------------------------------

void ActorCell::request_stop(Stop how) {
  bool wakes = false;
  bool is_under_way = false;
  {
    SmallGuard guard(lock_);
    if (phase() == Phase::stopped) return;
    if (how <= stop_) return;
    stop_ = how;
    is_closed_ = true;
    is_under_way = phase() == Phase::stopping;
    needs_attention_.store(true, relaxed);  // A hint to look under the lock.
    wakes = !std::exchange(is_scheduled_, true);
    add_reference();
  }
  // First what may be gone as soon as it has its turn, kept by the reference.
  let_senders_in();
  if (is_under_way) {
    extras().children.for_each([&](ActorCell& each) { each.request_stop(how); });
  }
  if (wakes) schedule();
  drop_reference();
}

void ActorCell::begin_stop(StopReason reason) {
  reason_ = reason;
  Stop how;
  {
    SmallGuard guard(lock_);
    phase_.store(Phase::stopping, relaxed);  // Under the lock: see request_stop().
    is_closed_ = true;
    if (reason == StopReason::failed) stop_ = Stop::now;
    how = stop_;
  }
  let_senders_in();
  if (ActorExtras* const all = extras_if_any()) {
    all->children.close();
    all->children.for_each([&](ActorCell& each) { each.request_stop(how); });
  }
}

bool ActorCell::children_are_gone() const {
  const ActorExtras* const all = extras_if_any();
  return all == nullptr || all->children.size() == 0;
}

// False if it has to wait for what it has sent last.
bool ActorCell::finish() {
  tear_down_object();
  clear_mailbox(has_failed_ ? "its actor failed" : "its actor was stopped");
  if (ActorExtras* const all = extras_if_any()) {
    if (all->tasks != nullptr) return false;  // Its on_stop() has filled its outbox.
    // Not kept: it keeps us.
    if (const auto backoff = std::exchange(all->backoff, nullptr)) backoff->retire();
    for (const auto& each : std::exchange(all->watching, {})) forget_watch(*each);
  }
  system_.forget_name(*this);
  std::vector<std::shared_ptr<Watch>> watchers;
  Runnable* left = nullptr;
  {
    SmallGuard guard(lock_);
    // Under the lock: see run_urgently(). Pairs with is_stopped(): who sees it sees what the actor did.
    phase_.store(Phase::stopped, release);
    left = std::exchange(urgent_front_, nullptr);
    if (ActorExtras* const all = extras_.load(relaxed)) watchers.swap(all->watchers);
  }
  // They find that it has stopped, and end.
  run_urgent_lane(left);
  if (extras_if_any() != nullptr) run_deferred();
  if (!watchers.empty()) tell_watchers(std::move(watchers));
  system_.has_ended(*this);
  return true;
}

// There is no system any more for it to live in, or its parent is ending. It has had no turn, and no object.
void ActorCell::end_at_once() {
  {
    SmallGuard guard(lock_);
    is_closed_ = true;
  }
  reason_ = system_.is_ending() ? StopReason::shutdown : StopReason::requested;
  static_cast<void>(finish());
  drop_reference();
}

// If it waits for nothing that is known: where its thread is, or what has to come.
std::string_view ActorCell::what_it_does() const {
  switch (doing_.load(relaxed)) {  // For people.
    case Doing::nothing: break;
    case Doing::handling: return "its handler";
    case Doing::starting: return "its on_start()";
    case Doing::restarting: return "its restart";
    case Doing::ending: return "its on_stop()";
  }
  if (phase() == Phase::failed) return "its parent's decision";
  if (phase() == Phase::restarting) return "its backoff";
  return "";
}

void ActorCell::describe(ActorInfo& info) {
  static constexpr const char* names[] = {"running", "failed", "restarting", "stopping", "stopped"};
  info.path = path();
  info.type = type_.name;
  info.state = names[static_cast<std::size_t>(phase())];
  info.capacity = capacity_;
  info.handled = handled_.load(relaxed);  // For people.
  {
    SmallGuard guard(lock_);
    info.mailbox = pushed_ > info.handled ? pushed_ - info.handled : 0;
    for (std::uint8_t i = 0; i < type_.lanes; ++i) {
      const Lane& lane = lane_locked(i);
      if (!lane.is_empty()) info.oldest = std::max(info.oldest, coarse_now() - lane.since());
    }
    const ActorExtras* const all = extras_.load(relaxed);
    if (all == nullptr) {
      info.waits_for = what_it_does();
      return;
    }
    info.failures = all->failures;
    info.restarts = all->restarts;
    info.last_failure = all->last_failure;
    // For people.
    info.handled += all->from_timers.load(relaxed);
    info.busy = Duration(all->busy.load(relaxed));
    info.longest = Duration(all->longest.load(relaxed));
  }
  ActorExtras& all = extras();
  info.waits_for = system_.edges_of(*this);
  const auto add = [&](std::size_t count, const char* what) {
    if (count == 0) return;
    if (!info.waits_for.empty()) info.waits_for += ", ";
    info.waits_for += fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
  };
  if (info.waits_for.empty()) add(all.task_count.load(relaxed), "coroutine");  // For people.
  if (phase() == Phase::stopping || phase() == Phase::restarting) {
    const std::size_t children = all.children.size();
    if (children > 0) {
      if (!info.waits_for.empty()) info.waits_for += ", ";
      info.waits_for += children == 1 ? "1 child" : fmt::format("{} children", children);
    }
  }
  if (info.waits_for.empty()) info.waits_for = what_it_does();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
