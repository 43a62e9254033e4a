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
  Unparks unparks;
  SmallGuard guard(line_.lock());
  is_set_.store(true, release);  // Pairs with the acquire in is_set().
  let_all_through_locked(line_, unparks);
}

void Event::reset() {
  SmallGuard guard(line_.lock());
  is_set_.store(false, relaxed);  // Nothing is published by it.
}

std::expected<void, Refusal> Event::wait(const Wait& wait, std::source_location where) {
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  enter_registry();
  Waiter waiter(wait, {.operation = "wait", .where = where});
  Link link(waiter);
  {
    SmallGuard guard(line_.lock());
    if (is_set_.load(relaxed)) return {};
    line_.push_back_locked(link);
  }
  return wait_to_be_let_through(line_, waiter, link, [] {});
}

Stats Event::stats() const {
  Stats stats = stats_of(line_);
  stats.size = is_set() ? 1 : 0;
  stats.capacity = 1;
  return stats;
}

void Event::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

}  // namespace handoff::inline HANDOFF_FLAVOUR
