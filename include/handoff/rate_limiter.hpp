// So many per second and no more: permits that come back with time.
//
//   handoff::RateLimiter mails{{.rate = handoff::per_second(500), .burst = 50, .name = "mails"}};
//   if (!mails.acquire({.stop = stop})) return;             // waits until one more may be sent
//   send(mail);
//
//   if (!mails.try_acquire()) return too_many_requests();   // now or not
//   if (!mails.acquire(20, {.deadline = handoff::within(1s)})) ...   // twenty at once, or none
//
//            waits      now or not     within a time              deadline and stop_token    awaits
//   take     acquire    try_acquire    try_acquire_for, _until    acquire(n, {...})          async_acquire
//
//   if (!co_await mails.async_acquire(20, handoff::within(1s))) ...  // in a coroutine; its task has the stop_token
//
// A bucket with `burst` permits, full at first. Each permit that is taken comes back with time, one every 1 / rate. So in
// any time T from the beginning no more than burst + rate * T permits are given out.
//
// - Exact: what is given out over hours is `rate`, to less than one permit (up to ten million a second; the time per permit is
//   kept to 2^-32 ns, and beyond that the rounding shows).
// - A sleeper that gets up late costs nothing: what came due meanwhile is given out afterwards, beyond `burst` if need be.
//   That is for delays of up to 10 ms, and is forgotten when nobody has taken a permit for 10 ms; after an idle time no more
//   than `burst` can be taken at once.
// - Strictly first in, first out: nobody overtakes the one who waits longest, neither a try nor one who wants less.
// - A wait that cannot end in time does not begin: acquire() is refused with `timed_out` at once if those in line and the
//   caller are together due after its deadline. It counts on those in line to stay there, and on the rate to remain.
// - Who is stopped or timed out has taken nothing; those behind it move up.
// - No thread of its own, no polling: of those who wait only the first has a timer, set to the moment at which its permits are
//   due. (For a coroutine that is a timer of the library's one timer thread.)
//
// Thread safety: any member, any thread, until the destructor begins.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <source_location>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/alarm.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// How often something happens.
struct Rate {
  double per_second;

  friend constexpr bool operator==(Rate, Rate) = default;
};

constexpr Rate per_second(double times) { return {times}; }
constexpr Rate per_minute(double times) { return {times / 60}; }
constexpr Rate per_hour(double times) { return {times / 3600}; }
// one_per(100ms): ten a second.
template <typename Rep, typename Period>
constexpr Rate one_per(std::chrono::duration<Rep, Period> time) {
  return {1 / std::chrono::duration<double>(time).count()};
}

class RateLimiter;

namespace detail {

// Takes permits.
class RateAcquire final : public Steps {
 public:
  RateAcquire(RateLimiter& limiter, std::size_t n, Deadline deadline)
      : limiter_(limiter), n_(n), deadline_(deadline) {}
  bool ready(const std::stop_token& stop);
  bool begin(Waiter& waiter) override;
  bool go_on(Waiter& waiter, WaitState outcome) override;
  std::expected<void, Refusal> result() const {
    if (refusal_) return std::unexpected(*refusal_);
    return {};
  }

  // What the waiter of a thread goes by.
  const Wait& limits(const std::stop_token& stop) {
    alarm_.limits.stop = stop;
    return alarm_.limits;
  }

 private:
  bool refuse(Refusal refusal) {
    refusal_ = refusal;
    return true;
  }
  bool set_alarm(Waiter& waiter, Deadline when);
  bool leave_line_locked(Refusal refusal, Unparks& unparks);

  RateLimiter& limiter_;
  const std::size_t n_;
  const Deadline deadline_;
  std::optional<Link> link_;
  std::optional<Refusal> refusal_;
  Alarm alarm_;  // When to look again: the permits are due, or the deadline has come.
};

}  // namespace detail

struct RateLimiterOptions {
  Rate rate;                   // How many permits come back. From one a year to 10^9 a second.
  std::size_t burst = 1;       // How many there are at most, and at first. From 1 to 10^9.
  std::string_view name = {};  // How waits() and snapshot() call it; copied.
};

class RateLimiter final : public detail::Primitive {
  using Where = std::source_location;

 public:
  // Throws std::invalid_argument if an option is outside the limits above.
  explicit RateLimiter(RateLimiterOptions options);
  ~RateLimiter();

  // Takes `n` permits, waiting until they are due. Refused with `timed_out` or `stopped`. Here and below, more than
  // `burst` can never be had at once: that throws std::invalid_argument.
  [[nodiscard]] std::expected<void, Refusal> acquire(std::size_t n = 1, const Wait& wait = {},
                                                     Where where = Where::current());
  [[nodiscard]] std::expected<void, Refusal> acquire(const Wait& wait,
                                                     Where where = Where::current()) {
    return acquire(1, wait, where);
  }

  [[nodiscard]] bool try_acquire(std::size_t n = 1);
  template <typename Rep, typename Period>
  [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> time, std::size_t n = 1,
                                     Where where = Where::current()) {
    return acquire(n, {.deadline = within(time)}, where).has_value();
  }
  template <typename D>
  [[nodiscard]] bool try_acquire_until(
      std::chrono::time_point<std::chrono::steady_clock, D> deadline, std::size_t n = 1,
      Where where = Where::current()) {
    return acquire(n, {.deadline = deadline}, where).has_value();
  }

  // For a coroutine: co_await gives std::expected<void, Refusal>.
  detail::Awaitable<detail::RateAcquire> async_acquire(std::size_t n = 1, Deadline deadline = {},
                                                       Where where = Where::current()) {
    // The deadline is the alarm's business, not the waiter's.
    return detail::Awaitable<detail::RateAcquire>({.operation = "acquire", .where = where},
                                                  Deadline{}, *this, n, deadline);
  }
  detail::Awaitable<detail::RateAcquire> async_acquire(Deadline deadline,
                                                       Where where = Where::current()) {
    return async_acquire(1, deadline, where);
  }

  // From now on; permits that have come back already stay. Throws std::invalid_argument as the constructor does.
  void set_rate(Rate rate);
  Rate rate() const;
  std::size_t burst() const { return burst_; }
  std::size_t available() const;  // Whole permits, at most `burst`; may be stale.

  // size: permits taken that have not come back. takes: permits acquired so far. refused: acquisitions refused.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

  // How late a sleeper may get up without permits being lost.
  static constexpr Duration max_lateness = std::chrono::milliseconds(10);

 private:
  friend class detail::RateAcquire;

  // Time in units of 2^-32 ns: the time between two permits is hardly ever a whole number of nanoseconds. 128 bits hold
  // the largest burst at the lowest rate.
  __extension__ using Fine = __int128;

  static Fine fine(Duration time) { return static_cast<Fine>(time.count()) << 32; }
  static Fine period_of(Rate rate);
  Fine full() const { return static_cast<Fine>(burst_) * period_; }

  // With the lock held.
  void fill_locked(Fine at);
  bool take_locked(std::size_t n, Fine at);
  bool enter_line_locked(detail::Link& link, Deadline deadline);
  Deadline alarm_locked(const detail::Link& link, Deadline deadline) const;
  Deadline due_locked(std::uint64_t n) const;
  void serve_line_locked(detail::Unparks& unparks);
  void unlink_locked(detail::Link& link);

  void refuse_more_than_burst(std::size_t n) const;

  const std::size_t burst_;
  detail::WaitList line_;
  // Guarded by line_.lock().
  Rate rate_;
  Fine period_;                               // Between two permits.
  Fine empty_at_;                             // When the bucket was, or would have been, empty.
  Fine owed_ = 0;                             // Beyond a full bucket, because a sleeper was late.
  Fine owed_until_ = 0;                       // When that is forgotten.
  std::uint64_t wanted_ = 0;                  // By all in line together.
  const detail::Link* timekeeper_ = nullptr;  // The first in line, once it knows that it is.
  std::uint64_t taken_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
