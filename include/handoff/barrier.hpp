// A meeting point: each waits there until all have come, again and again.
//
//   handoff::Barrier step{{.parties = 4, .name = "step"}, [&] { publish(grid); }};
//   while (simulate(part)) {
//     if (!step.arrive_and_wait({.stop = stop})) return;     // all parts are done, and published
//   }
//   step.arrive_and_drop();                                  // the others go on without this one
//
//            waits              deadline and stop_token    awaits
//   meet     arrive_and_wait    arrive_and_wait({...})     async_arrive_and_wait(), async_arrive_and_wait(within(1s))
//   leave    arrive_and_drop    (never waits)
//
// The async form is for coroutines: co_await gives what arrive_and_wait() returns, and the stop_token is that of the running task. They
// may meet with threads.
//
// The completion runs once per meeting, in the thread or coroutine that came last, before anybody goes on. If it throws,
// that one gets the exception, and all others go on.
// A refused arrival has not happened: the others wait on for somebody in its place. Once all have come it can no longer be
// refused, even while the completion runs.
//
// Thread safety: any member, any thread, until the destructor begins; at most `parties` at a time.
// Visibility: all a thread did before it arrived is seen by the completion, and by all who meet, after they have met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <vector>

#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class Barrier;

namespace detail {

// Arrives, and waits until all have come.
class BarrierArrival final : public Steps {
 public:
  explicit BarrierArrival(Barrier& barrier) : barrier_(barrier) {}
  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) refusal_ = Refusal::stopped;
    return refusal_.has_value();
  }
  bool begin(Waiter& waiter) override;
  bool go_on(Waiter& waiter, WaitState outcome) override;
  std::expected<void, Refusal> result() const {
    if (refusal_) return std::unexpected(*refusal_);
    return {};
  }

 private:
  Barrier& barrier_;
  std::optional<Link> link_;
  std::optional<Refusal> refusal_;
};

}  // namespace detail

struct BarrierOptions {
  std::size_t parties;         // How many meet. At least 1.
  std::string_view name = {};  // How waits() and snapshot() call it; copied.
};

class Barrier final : public detail::Primitive {
 public:
  // Throws std::invalid_argument if options.parties is 0.
  explicit Barrier(BarrierOptions options, std::function<void()> completion = {});
  ~Barrier();

  // Waits until all have come. Refused with `timed_out` or `stopped`. Throws std::logic_error if more come than there are
  // parties.
  [[nodiscard]] std::expected<void, Refusal> arrive_and_wait(
      const Wait& wait = {}, std::source_location where = std::source_location::current());

  // co_await gives std::expected<void, Refusal>. It has arrived once that waits, not at the call.
  detail::Awaitable<detail::BarrierArrival> async_arrive_and_wait(
      Deadline deadline = {}, std::source_location where = std::source_location::current()) {
    return detail::Awaitable<detail::BarrierArrival>(
        {.operation = "arrive_and_wait", .where = where}, deadline, *this);
  }

  // One party less, in this meeting and in all that follow.
  void arrive_and_drop();

  // size: who has come, of `capacity` parties. takes: meetings so far.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  friend class detail::BarrierArrival;

  bool is_complete_locked() const { return parties_ > 0 && arrived_ == parties_; }
  void meet();
  void finish_meeting();
  void refuse_crowd_locked() const;

  const std::function<void()> completion_;
  detail::WaitList line_;
  // Guarded by line_.lock().
  std::size_t parties_;
  std::size_t arrived_ = 0;
  std::uint64_t meetings_ = 0;
  std::uint64_t refused_ = 0;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
