// Invariants of a condition:
// - A waiter stands in line, its state `preparing`, before it gives the monitor's lock back. Who changes the monitor's
//   state does so under the lock, and so notifies either before the waiter's last look or finds it in line.
// - It keeps its place until its predicate holds or it leaves; notify_one skips those already claimed. So one that got
//   up in vain stays the first, and two notifications reach two waiters.
// - A turn with which nothing was done goes to the next in line when its receiver leaves (~ConditionWait).
#include "handoff/monitor.hpp"

#include <fmt/core.h>

#include <stdexcept>
#include <string>

#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

namespace {

std::string full_name(const Mutex& mutex, std::string_view name) {
  if (!mutex.is_named() || name.empty()) return std::string(name);
  return fmt::format("{}.{}", mutex.display_name(), name);
}

bool is_turn(WaitState state) { return state == WaitState::woken || state == WaitState::nudged; }

void add_one(atomic<std::uint64_t>& count) {
  count.store(count.load(relaxed) + 1, relaxed);  // Only under the monitor's lock.
}

}  // namespace

Condition::Condition(Mutex& mutex, std::string_view name)
    : Primitive("Condition", full_name(mutex, name)), mutex_(mutex) {
  enter_if_named();
}

Condition::~Condition() { retire(); }

void Condition::notify_one(MonitorGuard& guard) {
  const sim::Operation here(*this, "notify_one");
  refuse_other_monitors(guard);
  Unpark unpark;
  {
    SmallGuard line(line_.lock());
    give_turn_locked(unpark);
  }
  guard.later(unpark);
}

void Condition::notify_all(MonitorGuard& guard) {
  const sim::Operation here(*this, "notify_all");
  refuse_other_monitors(guard);
  SmallGuard line(line_.lock());
  for (Link* link = line_.front_locked(); link != nullptr; link = link->next) {
    Unpark unpark;
    if (link->waiter->claim(WaitState::roused, unpark)) guard.later(unpark);
  }
}

void Condition::give_turn_locked(Unpark& unpark) {
  for (Link* link = line_.front_locked(); link != nullptr; link = link->next) {
    if (link->waiter->give_turn(unpark)) return;
  }
}

void Condition::refuse_other_monitors(const MonitorGuard& guard) const {
  if (guard.is_of(mutex_)) return;
  throw std::invalid_argument(fmt::format(
      "condition \"{}\" does not belong to the monitor that is locked", display_name()));
}

Stats Condition::stats() const {
  Stats stats = stats_of(line_);
  stats.takes = satisfied_.load(relaxed);  // Counters only.
  stats.refused = refused_.load(relaxed);
  return stats;
}

void Condition::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

namespace detail {

ConditionWait::ConditionWait(Condition& condition, MonitorGuard& guard, const Wait& wait,
                             std::source_location where)
    : condition_(condition),
      guard_(guard),
      waiter_(wait, {.operation = "wait", .where = where}),
      link_(waiter_) {
  condition_.enter_registry();
  SmallGuard line(condition_.line_.lock());
  condition_.line_.push_back_locked(link_);
}

ConditionWait::~ConditionWait() {
  Unpark unpark;
  {
    SmallGuard line(condition_.line_.lock());
    condition_.line_.unlink_locked(link_);
    const bool has_unused_turn = !is_satisfied_ && (has_turn_ || is_turn(waiter_.state()));
    if (has_unused_turn) condition_.give_turn_locked(unpark);
  }
  guard_.later(unpark);
}

std::optional<Refusal> ConditionWait::sleep() {
  guard_.unlock();
  if (!std::exchange(is_armed_, true)) waiter_.arm();
  WaitState outcome;
  if (!waiter_.is_over(outcome)) outcome = waiter_.park();
  guard_.lock(waiter_.site().where);

  if (outcome == WaitState::stopped) return Refusal::stopped;
  if (outcome == WaitState::timed_out) return Refusal::timed_out;
  has_turn_ = is_turn(outcome);
  waiter_.resume_looking(
      outcome);  // Under the lock: who changes the state next, notifies it again.
  return std::nullopt;
}

std::expected<void, Refusal> ConditionWait::satisfied() {
  is_satisfied_ = true;
  add_one(condition_.satisfied_);
  return {};
}

std::expected<void, Refusal> ConditionWait::refused(Refusal refusal) {
  add_one(condition_.refused_);
  return std::unexpected(refusal);
}

void ConditionWait::woken_in_vain() {
  has_turn_ = false;
  add_one(condition_.wasted_);
}

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
