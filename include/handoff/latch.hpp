// A count that goes down once; those who wait for it go on at zero.
//
//   handoff::Latch loaded{{.count = 3, .name = "loaded"}};
//   loaded.count_down();                                     // each of three loaders
//   if (!loaded.wait({.stop = stop})) return;                // everybody else
//
//            waits              now or not    deadline and stop_token    awaits
//   wait     wait               is_open       wait({...})                async_wait(), async_wait(within(1s))
//   both     arrive_and_wait                  arrive_and_wait({...})     async_arrive_and_wait()
//
// The async forms are for coroutines: co_await gives what wait() returns, and the stop_token is that of the running task.
//
// It opens once and stays open. Who was told by wait() that it is open may destroy it.
// Thread safety: any member, any thread, until the destructor begins.
// Visibility: all a thread did before count_down() is seen by those whose wait() succeeds.
#pragma once

#include <cstddef>
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

class Latch;

namespace detail {

// Waits until the latch is open.
class LatchWait final : public LineSteps {
 public:
  explicit LatchWait(Latch& latch);
  bool ready(const std::stop_token& stop);

 private:
  bool enter_line_locked(Link& link, Unparks& unparks) override;

  Latch& latch_;
};

}  // namespace detail

struct LatchOptions {
  std::size_t count;           // 0: open from the beginning.
  std::string_view name = {};  // How waits() and snapshot() call it; copied.
};

class Latch final : public detail::Primitive {
 public:
  explicit Latch(LatchOptions options);
  ~Latch();

  // Throws std::invalid_argument if `n` is more than is left.
  void count_down(std::size_t n = 1);
  bool is_open() const { return count() == 0; }
  // Pairs with the release in count_down().
  std::size_t count() const { return count_.load(detail::acquire); }

  // Waits for zero. Refused with `timed_out` or `stopped`.
  [[nodiscard]] std::expected<void, Refusal> wait(
      const Wait& wait = {}, std::source_location where = std::source_location::current());

  // count_down(), then wait(). A refusal is the wait's: the count stays down.
  [[nodiscard]] std::expected<void, Refusal> arrive_and_wait(
      const Wait& wait = {}, std::source_location where = std::source_location::current()) {
    count_down();
    return this->wait(wait, where);
  }

  // co_await gives std::expected<void, Refusal>. The count goes down at the call.
  detail::Awaitable<detail::LatchWait> async_wait(
      Deadline deadline = {}, std::source_location where = std::source_location::current()) {
    return detail::Awaitable<detail::LatchWait>({.operation = "wait", .where = where}, deadline,
                                                *this);
  }
  detail::Awaitable<detail::LatchWait> async_arrive_and_wait(
      Deadline deadline = {}, std::source_location where = std::source_location::current()) {
    count_down();
    return async_wait(deadline, where);
  }

  // size: what is left of the count, of `capacity`.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  friend class detail::LatchWait;

  const std::size_t initial_;
  // Reaches zero under the lock of the line.
  detail::atomic<std::size_t> count_;
  detail::WaitList line_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
