// Invariant: the last step to zero, and every successful wait(), hold the line's lock; so the thread that counted down last
// is done with the latch before anybody learns that it is open, and may destroy it.
#include "handoff/latch.hpp"

#include <fmt/core.h>

#include <stdexcept>

#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

Latch::Latch(LatchOptions options)
    : Primitive("Latch", options.name), initial_(options.count), count_(options.count) {
  enter_if_named();
}

Latch::~Latch() { retire(); }

void Latch::count_down(std::size_t n) {
  const sim::Operation here(*this, "count_down");
  Unparks unparks;
  SmallGuard guard(line_.lock());
  const std::size_t left = count_.load(relaxed);  // It changes under the lock only.
  if (n > left) {
    throw std::invalid_argument(
        fmt::format("latch \"{}\" cannot count down by {}: {} is left", display_name(), n, left));
  }
  count_.store(left - n, release);  // Pairs with the acquire in count().
  if (left == n) let_all_through_locked(line_, unparks);
}

std::expected<void, Refusal> Latch::wait(const Wait& wait, std::source_location where) {
  const sim::Operation here(*this, "wait");
  LatchWait steps(*this);
  return take_on_this_thread(steps, wait, {.operation = "wait", .where = where});
}

Stats Latch::stats() const {
  Stats stats = stats_of(line_);
  stats.size = count();
  stats.capacity = initial_;
  return stats;
}

void Latch::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

namespace detail {

LatchWait::LatchWait(Latch& latch) : LineSteps(latch, latch.line_), latch_(latch) {}

bool LatchWait::ready(const std::stop_token& stop) {
  if (stop.stop_requested()) return refuse(Refusal::stopped);
  SmallGuard guard(latch_.line_.lock());
  return latch_.count_.load(relaxed) == 0;  // Written under the same lock.
}

bool LatchWait::enter_line_locked(Link& link, Unparks&) {
  if (latch_.count_.load(relaxed) == 0) return false;  // Written under the same lock.
  latch_.line_.push_back_locked(link);
  return true;
}

}  // namespace detail

}  // namespace handoff::inline HANDOFF_FLAVOUR
