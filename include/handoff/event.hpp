// Something that has happened or not: those who wait go on once it is set, until it is reset.
//
//   handoff::Event ready{{.name = "ready"}};
//   ready.set();                                             // lets all through, now and later
//   if (!ready.wait({.deadline = handoff::within(1s)})) ...  // timed_out or stopped
//   ready.reset();                                           // who comes now waits
//
//            waits    now or not    deadline and stop_token    awaits
//   wait     wait     is_set        wait({...})                async_wait(), async_wait(within(1s))
//
// async_wait() is for coroutines: co_await gives what wait() returns, and the stop_token is that of the running task.
//
// All who wait at the moment of set() are let through, even if reset() follows at once.
// Who was told by wait() that it is set may destroy it.
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a thread did before set() is seen by those whom it lets through, and by those who see is_set().
#pragma once

#include <expected>
#include <source_location>
#include <string_view>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/detail/sync/line_steps.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class Event;

namespace detail {

// Waits until the event is set.
class EventWait final : public LineSteps {
 public:
  explicit EventWait(Event& event);
  bool ready(const std::stop_token& stop);

 private:
  bool enter_line_locked(Link& link, Unparks& unparks) override;

  Event& event_;
};

class EventCase;  // One case of a select; see select.hpp.

}  // namespace detail

struct EventOptions {
  bool is_set = false;         // Whether it has happened already.
  std::string_view name = {};  // How waits() and snapshot() call it; copied.
};

class Event final : public detail::Primitive {
 public:
  Event() : Event(EventOptions{}) {}
  explicit Event(EventOptions options);
  ~Event();

  void set();
  void reset();
  // Pairs with the release in set().
  bool is_set() const { return is_set_.load(detail::acquire); }

  // Waits until it is set. Refused with `timed_out` or `stopped`.
  [[nodiscard]] std::expected<void, Refusal> wait(
      const Wait& wait = {}, std::source_location where = std::source_location::current());

  // co_await gives std::expected<void, Refusal>.
  detail::Awaitable<detail::EventWait> async_wait(
      Deadline deadline = {}, std::source_location where = std::source_location::current()) {
    return detail::Awaitable<detail::EventWait>({.operation = "wait", .where = where}, deadline,
                                                *this);
  }

  // size: 1 while it is set.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  friend class detail::EventWait;
  friend class detail::EventCase;

  // Changed under the lock of the line.
  detail::atomic<bool> is_set_;
  detail::WaitList line_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
