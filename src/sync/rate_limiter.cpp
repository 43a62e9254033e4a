// How permits are counted: not at all. The state is one moment, `empty_at`, at which the bucket was empty: at a later moment
// `at` it holds (at - empty_at) / period permits. To take n moves that moment n periods on, and n permits are due at
// empty_at + n * period. Nothing is ever added up in steps, so there is nothing to drift.
//
// Invariants, whenever the line's lock is released:
// - empty_at is never in the future of the last look: permits are taken only once they are due. So who gives up has nothing
//   to give back.
// - While somebody stands in line, permits are taken only by serve_line_locked(), for the first in line.
// - Who was served is off the line. So a waiter that was taken off by another has its permits, whatever else befell it.
// - If somebody stands in line, the first is the timekeeper, and knows it or has been given a turn to find out: it has set its
//   alarm to the moment at which its permits are due. All others have none, but for a deadline of their own.
#include "handoff/rate_limiter.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using namespace detail;

namespace {

constexpr double lowest_rate = 1.0 / (366.0 * 24 * 3600);
constexpr double highest_rate = 1e9;
constexpr std::size_t highest_burst = 1'000'000'000;

Rate checked(Rate rate) {
  // Written so that it refuses NaN, too.
  if (rate.per_second >= lowest_rate && rate.per_second <= highest_rate) return rate;
  throw std::invalid_argument(
      fmt::format("rate must be from one a year to {} per second, got {} per second", highest_rate,
                  rate.per_second));
}

std::size_t checked(std::size_t burst) {
  if (burst >= 1 && burst <= highest_burst) return burst;
  throw std::invalid_argument(
      fmt::format("burst must be from 1 to {}, got {}", highest_burst, burst));
}

}  // namespace

RateLimiter::Fine RateLimiter::period_of(Rate rate) {
  constexpr long double one_second = 1e9L * 4294967296.0L;
  return static_cast<Fine>(one_second / static_cast<long double>(rate.per_second) + 0.5L);
}

RateLimiter::RateLimiter(RateLimiterOptions options)
    : Primitive("RateLimiter", options.name),
      burst_(checked(options.burst)),
      rate_(checked(options.rate)),
      period_(period_of(rate_)),
      empty_at_(fine(now().time_since_epoch()) - full()) {
  enter_if_named();
}

RateLimiter::~RateLimiter() { retire(); }

std::expected<void, Refusal> RateLimiter::acquire(std::size_t n, const Wait& wait, Where where) {
  RateAcquire steps(*this, n, wait.deadline);
  if (!steps.ready(wait.stop)) {
    ThreadWaiter waiter(steps.limits(wait.stop), {.operation = "acquire", .where = where});
    take_steps(waiter, steps);
  }
  return steps.result();
}

bool RateLimiter::try_acquire(std::size_t n) {
  refuse_more_than_burst(n);
  SmallGuard guard(line_.lock());
  return line_.is_empty_locked() && take_locked(n, fine(now().time_since_epoch()));
}

// -- Waiting ------------------------------------------------------------------------------------------

namespace detail {

bool RateAcquire::ready(const std::stop_token& stop) {
  limiter_.refuse_more_than_burst(n_);
  if (stop.stop_requested()) return refuse(Refusal::stopped);
  return limiter_.try_acquire(n_);
}

bool RateAcquire::begin(Waiter& waiter) {
  limiter_.enter_registry();
  Deadline alarm;
  {
    Link& link = link_.emplace(waiter);
    link.ticket = n_;
    SmallGuard guard(limiter_.line_.lock());
    const bool is_first = limiter_.line_.is_empty_locked();
    if (is_first && limiter_.take_locked(n_, limiter_.fine(now().time_since_epoch()))) return true;
    if (!limiter_.enter_line_locked(link, deadline_)) return refuse(Refusal::timed_out);
    alarm = limiter_.alarm_locked(link, deadline_);
  }
  waiter.arm();
  return set_alarm(waiter, alarm);
}

bool RateAcquire::go_on(Waiter& waiter, WaitState outcome) {
  alarm_.stop();
  const bool is_stopped = outcome == WaitState::stopped;
  Deadline alarm;
  {
    Unparks unparks;
    SmallGuard guard(limiter_.line_.lock());
    // What is due is given out first: also to this one, past its deadline.
    if (link_->linked && !is_stopped) limiter_.serve_line_locked(unparks);
    if (!link_->linked) return true;  // Also if it was stopped at the same moment.
    if (is_stopped) return leave_line_locked(Refusal::stopped, unparks);
    if (deadline_.has_passed()) return leave_line_locked(Refusal::timed_out, unparks);
    // From whatever it was claimed with, or was not: the alarm may have come before it slept.
    const WaitState state = waiter.state();
    if (state != WaitState::preparing) waiter.resume_looking(state);
    alarm = limiter_.alarm_locked(*link_, deadline_);
  }
  return set_alarm(waiter, alarm);
}

// Returns true if it is finished.
bool RateAcquire::set_alarm(Waiter& waiter, Deadline when) {
  try {
    alarm_.set(waiter, when);
  } catch (...) {  // There is no thread for the timer, so that nothing would end the sleep in time.
    Unparks unparks;
    SmallGuard guard(limiter_.line_.lock());
    if (!link_->linked) return true;
    leave_line_locked(Refusal::stopped, unparks);
    throw;
  }
  return false;
}

bool RateAcquire::leave_line_locked(Refusal refusal, Unparks& unparks) {
  limiter_.unlink_locked(*link_);
  ++limiter_.refused_;
  limiter_.serve_line_locked(unparks);  // Those behind it move up.
  return refuse(refusal);
}

}  // namespace detail

// -- With the lock held ------------------------------------------------------------------------------

// Returns false, and counts a refusal, if the wait would be in vain.
bool RateLimiter::enter_line_locked(Link& link, Deadline deadline) {
  if (!deadline.is_never() && due_locked(wanted_ + link.ticket).when() > deadline.when()) {
    ++refused_;
    return false;
  }
  line_.push_back_locked(link);
  wanted_ += link.ticket;
  if (line_.front_locked() == &link) timekeeper_ = &link;
  return true;
}

// When one in line has to look again by itself.
Deadline RateLimiter::alarm_locked(const Link& link, Deadline deadline) const {
  if (timekeeper_ != &link) return deadline;
  return std::min(due_locked(link.ticket).when(), deadline.when());
}

// What is beyond a full bucket runs over; but not what somebody in line waits for, nor what is owed.
void RateLimiter::fill_locked(Fine at) {
  if (at > owed_until_) owed_ = 0;
  const Fine beyond = line_.is_empty_locked() ? owed_ : fine(max_lateness);
  empty_at_ = std::max(empty_at_, at - full() - beyond);
}

bool RateLimiter::take_locked(std::size_t n, Fine at) {
  fill_locked(at);
  const Fine due = empty_at_ + static_cast<Fine>(n) * period_;
  if (due > at) {
    owed_ = 0;  // There is less than `n`, so less than a full bucket.
    return false;
  }
  empty_at_ = due;
  taken_ += n;
  owed_ = std::clamp(at - due - full(), Fine{0}, owed_);
  owed_until_ = at + fine(max_lateness);
  return true;
}

void RateLimiter::serve_line_locked(Unparks& unparks) {
  const Fine at = fine(now().time_since_epoch());
  while (Link* link = line_.front_locked()) {
    owed_ = fine(max_lateness);  // take_locked() leaves of it what there is.
    owed_until_ = at;
    if (!take_locked(link->ticket, at)) break;
    unlink_locked(*link);
    Unpark unpark;
    if (link->waiter->give_turn(unpark)) unparks.add(unpark);
  }
  Link* const front = line_.front_locked();
  if (front == nullptr || front == timekeeper_) return;
  timekeeper_ = front;
  Unpark unpark;
  if (front->waiter->give_turn(unpark)) unparks.add(unpark);
}

void RateLimiter::unlink_locked(Link& link) {
  if (timekeeper_ == &link) timekeeper_ = nullptr;
  wanted_ -= link.ticket;
  line_.unlink_locked(link);
}

// When the next `n` permits are due, rounded up: at that moment they are there.
Deadline RateLimiter::due_locked(std::uint64_t n) const {
  const Fine latest = fine(Duration::max());
  constexpr Fine most =
      ~(Fine{1} << 127) / 4;  // What cannot overflow below, wherever the bucket stands.
  if (static_cast<Fine>(n) > most / period_) return {};
  const Fine due = empty_at_ + static_cast<Fine>(n) * period_ + fine(Duration(1)) - 1;
  return due >= latest ? Deadline{} : TimePoint(Duration(static_cast<Duration::rep>(due >> 32)));
}

// -- The rest ----------------------------------------------------------------------------------------

void RateLimiter::set_rate(Rate rate) {
  const Fine period = period_of(checked(rate));
  Unparks unparks;
  SmallGuard guard(line_.lock());
  const Fine at = fine(now().time_since_epoch());
  fill_locked(at);
  // As many permits as before, the fraction of the next one included, at the new price.
  const Fine credit = at - empty_at_;
  const auto fraction =
      static_cast<long double>(credit % period_) / static_cast<long double>(period_);
  empty_at_ = at - credit / period_ * period -
              static_cast<Fine>(fraction * static_cast<long double>(period));
  rate_ = rate;
  period_ = period;
  owed_ = std::max(Fine{0}, at - empty_at_ - full());
  timekeeper_ = nullptr;  // It has to set another alarm.
  serve_line_locked(unparks);
}

Rate RateLimiter::rate() const {
  SmallGuard guard(line_.lock());
  return rate_;
}

std::size_t RateLimiter::available() const {
  SmallGuard guard(line_.lock());
  const Fine credit = fine(now().time_since_epoch()) - empty_at_;
  return static_cast<std::size_t>(std::clamp(credit, Fine{0}, full()) / period_);
}

Stats RateLimiter::stats() const {
  Stats stats = stats_of(line_);
  stats.size = burst_ - available();
  stats.capacity = burst_;
  SmallGuard guard(line_.lock());
  stats.takes = taken_;
  stats.refused = refused_;
  return stats;
}

void RateLimiter::report_waits(std::vector<WaitInfo>& waits) const { line_.report(*this, waits); }

void RateLimiter::refuse_more_than_burst(std::size_t n) const {
  if (n <= burst_) return;
  throw std::invalid_argument(
      fmt::format("{} permits can never be acquired at once: rate limiter \"{}\" has a burst of {}",
                  n, display_name(), burst_));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
