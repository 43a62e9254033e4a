// Who hears of an actor's end, and messages an actor sends to itself later.
#include <utility>

#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/watching.hpp"
#include "handoff/detail/core/error_text.hpp"
#include "handoff/detail/core/timer_service.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

Watch::Watch(ActorCell& watched_one, ActorCell* who, Tell how)
    : Runnable(&Watch::run_in_turn), watched(watched_one), watcher(who), tell(how) {
  watched.add_reference();
  if (watcher != nullptr) watcher->add_reference();
}

Watch::~Watch() {
  watched.drop_reference();
  if (watcher != nullptr) watcher->drop_reference();
}

void Watch::run_in_turn(Runnable& runnable) {
  auto& self = static_cast<Watch&>(runnable);
  ActorCell& watcher = *self.watcher;
  if (!watcher.is_stopping() && watcher.defer(self)) return;
  const std::shared_ptr<Watch> alive = std::move(self.self);
  if (watcher.is_stopping()) return;
  auto& watching = watcher.extras().watching;
  if (std::erase(watching, alive) == 0) return;  // It is not watched any more.
  try {
    self.tell(watcher, self.end);
  } catch (...) {
    watcher.fail(std::current_exception(), MessageView());
  }
}

namespace {
void deliver(std::shared_ptr<Watch> watch, Terminated end) {
  if (watch->watcher == nullptr) return watch->tell_future(end);
  Watch& each = *watch;
  each.end = std::move(end);
  each.self = std::move(watch);
  if (!each.watcher->run_urgently(each)) {
    const std::shared_ptr<Watch> last = std::move(each.self);  // Which ends it.
  }
}
}  // namespace

Terminated ActorCell::how_it_ended() {
  Terminated end{.actor = path(), .id = id_, .reason = reason_};
  if (has_failed_) end.error = extras().last_failure;  // Nobody writes it any more.
  return end;
}

void ActorCell::tell_watchers(std::vector<std::shared_ptr<Watch>> watchers) {
  const Terminated end = how_it_ended();
  for (auto& each : watchers) deliver(std::move(each), end);
}

void watch(const std::shared_ptr<Watch>& watch) {
  ActorCell& watched = watch->watched;
  if (watch->watcher != nullptr) {
    auto& watching = watch->watcher->extras().watching;
    for (const auto& each : watching) {
      if (&each->watched == &watched) return;  // Already.
    }
    watching.push_back(watch);
  }
  if (watched.add_watch(watch)) return;
  deliver(watch, watched.how_it_ended());
}

bool ActorCell::add_watch(const std::shared_ptr<Watch>& watch) {
  ActorExtras& all = extras();
  SmallGuard guard(lock_);
  if (phase() == Phase::stopped) return false;  // Which is set under the lock.
  all.watchers.push_back(watch);
  return true;
}

void forget_watch(Watch& watch) { watch.watched.remove_watch(watch); }

void ActorCell::remove_watch(Watch& watch) {
  std::shared_ptr<Watch> removed;  // Destroyed without the lock.
  SmallGuard guard(lock_);
  auto& watchers = extras_.load(relaxed)->watchers;  // Written under the same lock.
  for (auto& each : watchers) {
    if (each.get() != &watch) continue;
    removed = std::move(each);
    each = std::move(watchers.back());
    watchers.pop_back();
    return;
  }
}

void unwatch(ActorCell& watcher, ActorCell& watched) {
  auto& watching = watcher.extras().watching;
  for (auto each = watching.begin(); each != watching.end(); ++each) {
    if (&(*each)->watched != &watched) continue;
    const std::shared_ptr<Watch> ended = *each;
    watching.erase(each);
    forget_watch(*ended);
    return;
  }
}

// -- Messages to itself ---------------------------------------------------------------------------

SelfTimer::SelfTimer(ActorCell& cell, Duration period)
    : Runnable(&SelfTimer::run_in_turn),
      TimerEntry(&SelfTimer::fire_now),
      cell_(cell),
      period_(period) {
  cell_.add_reference();
}

SelfTimer::~SelfTimer() { cell_.drop_reference(); }

void SelfTimer::arm(TimePoint due) {
  due_ = due;
  self_ = shared_from_this();
  try {
    TimerService::shared().arm(*this, due);
  } catch (...) {
    self_.reset();
    throw;
  }
}

void SelfTimer::fire_now(TimerEntry& entry) noexcept {
  auto& self = static_cast<SelfTimer&>(entry);
  if (self.cell_.run_urgently(self)) return;
  const std::shared_ptr<SelfTimer> last = std::move(self.self_);
}

void SelfTimer::run_in_turn(Runnable& runnable) {
  auto& self = static_cast<SelfTimer&>(runnable);
  ActorCell& cell = self.cell_;
  const bool is_over = self.is_cancelled() || cell.is_stopping();
  if (!is_over && self.waits_for_its_turn() && cell.defer(self)) return;
  const std::shared_ptr<SelfTimer> alive = std::move(self.self_);
  if (is_over) return;
  if (self.period_ > Duration::zero()) {
    // Those it has missed meanwhile are skipped.
    const TimePoint at = now();
    TimePoint next = self.due_ + self.period_;
    if (next <= at) next += ((at - next) / self.period_ + 1) * self.period_;
    self.arm(next);
  } else {
    std::erase(cell.extras().timers, alive);
  }
  self.handle();
}

void SelfTimer::cancel() {
  is_cancelled_.store(true, release);  // Pairs with is_cancelled().
  if (TimerService::shared().cancel(*this)) {
    const std::shared_ptr<SelfTimer> last = std::move(self_);
  }
}

void SelfTimer::retire() {
  is_cancelled_.store(true, release);  // Pairs with is_cancelled().
  if (TimerService::shared().cancel_and_wait(*this)) {
    const std::shared_ptr<SelfTimer> last = std::move(self_);
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
