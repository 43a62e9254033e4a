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
  const sim::Operation here(*this, "arrive_and_wait");
  BarrierArrival arrival(*this);
  return take_on_this_thread(arrival, wait, {.operation = "arrive_and_wait", .where = where});
}

namespace detail {

bool BarrierArrival::begin(Waiter& waiter) {
  barrier_.enter_registry();
  link_.emplace(waiter);
  bool is_last = false;
  {
    SmallGuard guard(barrier_.line_.lock());
    barrier_.refuse_crowd_locked();
    ++barrier_.arrived_;
    is_last = barrier_.is_complete_locked();
    if (!is_last) barrier_.line_.push_back_locked(*link_);
  }
  if (is_last) {
    barrier_.meet();
  } else {
    waiter.arm();
  }
  return is_last;
}

bool BarrierArrival::go_on(Waiter& waiter, WaitState outcome) {
  SmallGuard guard(barrier_.line_.lock());
  if (!link_->linked) return true;  // Also if it was stopped at the same moment.
  if (barrier_.is_complete_locked()) {
    // All have come, and the completion runs: nothing but its end ends the wait now.
    waiter.lift_limits();
    if (waiter.state() != WaitState::preparing) waiter.resume_looking(waiter.state());
    return false;
  }
  barrier_.line_.unlink_locked(*link_);
  --barrier_.arrived_;
  ++barrier_.refused_;
  refusal_ = refusal_of(outcome);
  return true;
}

}  // namespace detail

void Barrier::arrive_and_drop() {
  const sim::Operation here(*this, "arrive_and_drop");
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
  throw std::logic_error(
      fmt::format("barrier \"{}\": more came than its {} parties", display_name(), parties_));
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
