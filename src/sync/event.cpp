// Invariant: set(), reset() and every successful wait() hold the line's lock; so set() is done with the event before anybody
// whom it lets through can destroy it.
#include "handoff/event.hpp"

#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

Event::Event(EventOptions options) : Primitive("Event", options.name), is_set_(options.is_set) {
  enter_if_named();
}

Event::~Event() { retire(); }

void Event::set() {
  const sim::Operation here(*this, "set");
  Unparks unparks;
  SmallGuard guard(line_.lock());
  is_set_.store(true, release);  // Pairs with the acquire in is_set().
  let_all_through_locked(line_, unparks);
}

void Event::reset() {
  const sim::Operation here(*this, "reset");
  SmallGuard guard(line_.lock());
  is_set_.store(false, relaxed);  // Nothing is published by it.
}

std::expected<void, Refusal> Event::wait(const Wait& wait, std::source_location where) {
  const sim::Operation here(*this, "wait");
  EventWait steps(*this);
  return take_on_this_thread(steps, wait, {.operation = "wait", .where = where});
}

Stats Event::stats() const {
  Stats stats = stats_of(line_);
  stats.size = is_set() ? 1 : 0;
  stats.capacity = 1;
  return stats;
}

void Event::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

namespace detail {

EventWait::EventWait(Event& event) : LineSteps(event, event.line_), event_(event) {}

bool EventWait::ready(const std::stop_token& stop) {
  if (stop.stop_requested()) return refuse(Refusal::stopped);
  SmallGuard guard(event_.line_.lock());
  return event_.is_set_.load(relaxed);  // Written under the same lock.
}

bool EventWait::enter_line_locked(Link& link, Unparks&) {
  if (event_.is_set_.load(relaxed)) return false;  // Written under the same lock.
  event_.line_.push_back_locked(link);
  return true;
}

}  // namespace detail

}  // namespace handoff::inline HANDOFF_FLAVOUR
