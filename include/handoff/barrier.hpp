// A meeting point: each waits there until all have come, again and again.
//
//   handoff::Barrier step{{.parties = 4, .name = "step"}, [&] { publish(grid); }};
//   while (simulate(part)) {
//     if (!step.arrive_and_wait({.stop = stop})) return;     // all parts are done, and published
//   }
//   step.arrive_and_drop();                                  // the others go on without this one
//
//            waits              deadline and stop_token
//   meet     arrive_and_wait    arrive_and_wait({...})
//   leave    arrive_and_drop    (never waits)
//
// The completion runs once per meeting, in the thread that came last, before anybody goes on. If it throws, that
// thread gets the exception, and all others go on.
// A refused arrival has not happened: the others wait on for somebody in its place. Once all have come it can no longer be
// refused, even while the completion runs.
//
// Thread safety: any member, any thread, until the destructor begins; at most `parties` threads at a time.
// Visibility: all a thread did before it arrived is seen by the completion, and by all who meet, after they have met.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <source_location>
#include <string_view>
#include <vector>

#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct BarrierOptions {
  std::size_t parties;         // How many meet. At least 1.
  std::string_view name = {};  // How waits() and snapshot() call it; copied.
};

class Barrier final : public detail::Primitive {
 public:
  // Throws std::invalid_argument if options.parties is 0.
  explicit Barrier(BarrierOptions options, std::function<void()> completion = {});
  ~Barrier();

  // Waits until all have come. Refused with `timed_out` or `stopped`. Throws std::logic_error if more threads come
  // than there are parties.
  [[nodiscard]] std::expected<void, Refusal> arrive_and_wait(
      const Wait& wait = {}, std::source_location where = std::source_location::current());

  // One party less, in this meeting and in all that follow.
  void arrive_and_drop();

  // size: who has come, of `capacity` parties. takes: meetings so far.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  bool is_complete_locked() const { return parties_ > 0 && arrived_ == parties_; }
  void meet();
  void finish_meeting();
  std::expected<void, Refusal> wait_in_line(detail::Waiter& waiter, detail::Link& link);
  void wait_for_completion(std::source_location where);
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
