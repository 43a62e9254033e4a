// A meeting: 1. each arrival is counted under the line's lock, and stands in line; 2. the one that makes it complete runs the
// completion without the lock; meanwhile nobody arrives and nobody leaves; 3. it takes all off the line, and counts anew.
#include "handoff/barrier.hpp"

#include <fmt/core.h>

#include <stdexcept>
#include <utility>

#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

Barrier::Barrier(BarrierOptions options, std::function<void()> completion)
    : Primitive("Barrier", options.name),
      completion_(std::move(completion)),
      parties_(options.parties) {
  if (options.parties == 0) throw std::invalid_argument("a barrier needs at least 1 party, got 0");
  enter_if_named();
}

Barrier::~Barrier() { retire(); }

std::expected<void, Refusal> Barrier::arrive_and_wait(const Wait& wait,
                                                      std::source_location where) {
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  enter_registry();
  Waiter waiter(wait, {.operation = "arrive_and_wait", .where = where});
  Link link(waiter);
  bool is_last = false;
  {
    SmallGuard guard(line_.lock());
    refuse_crowd_locked();
    ++arrived_;
    is_last = is_complete_locked();
    if (!is_last) line_.push_back_locked(link);
  }
  if (!is_last) return wait_in_line(waiter, link);
  meet();
  return {};
}

std::expected<void, Refusal> Barrier::wait_in_line(Waiter& waiter, Link& link) {
  bool is_completing = false;
  auto met = wait_to_be_let_through(line_, waiter, link, [&] {
    is_completing = is_complete_locked();
    if (is_completing) return;
    --arrived_;
    ++refused_;
  });
  if (!is_completing) return met;
  wait_for_completion(waiter.site().where);
  return {};
}

// For one whose wait was ended after all had come.
void Barrier::wait_for_completion(std::source_location where) {
  const Wait without_limits;
  Waiter waiter(without_limits, {.operation = "arrive_and_wait", .where = where});
  Link link(waiter);
  {
    SmallGuard guard(line_.lock());
    if (!is_complete_locked()) return;  // Over in the meantime.
    line_.push_back_locked(link);
  }
  (void)wait_to_be_let_through(line_, waiter, link, [] {});
}

void Barrier::arrive_and_drop() {
  bool is_last = false;
  {
    SmallGuard guard(line_.lock());
    refuse_crowd_locked();
    --parties_;
    is_last = is_complete_locked();
  }
  if (is_last) meet();
}

void Barrier::meet() {
  struct Finish {
    Barrier& barrier;
    ~Finish() { barrier.finish_meeting(); }
  } finish{*this};  // Also if the completion throws: the others must not wait for ever.
  if (completion_) completion_();
}

void Barrier::finish_meeting() {
  Unparks unparks;
  SmallGuard guard(line_.lock());
  arrived_ = 0;
  ++meetings_;
  let_all_through_locked(line_, unparks);
}

void Barrier::refuse_crowd_locked() const {
  if (arrived_ < parties_) return;
  throw std::logic_error(fmt::format("barrier \"{}\": more threads came than its {} parties",
                                     display_name(), parties_));
}

Stats Barrier::stats() const {
  Stats stats = stats_of(line_);
  SmallGuard guard(line_.lock());
  stats.size = arrived_;
  stats.capacity = parties_;
  stats.takes = meetings_;
  stats.refused = refused_;
  return stats;
}

void Barrier::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

}  // namespace handoff::inline HANDOFF_FLAVOUR
