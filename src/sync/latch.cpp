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
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  enter_registry();
  Waiter waiter(wait, {.operation = "wait", .where = where});
  Link link(waiter);
  {
    SmallGuard guard(line_.lock());
    if (count_.load(relaxed) == 0) return {};
    line_.push_back_locked(link);
  }
  return wait_to_be_let_through(line_, waiter, link, [] {});
}

Stats Latch::stats() const {
  Stats stats = stats_of(line_);
  stats.size = count();
  stats.capacity = initial_;
  return stats;
}

void Latch::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

}  // namespace handoff::inline HANDOFF_FLAVOUR
