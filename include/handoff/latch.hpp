// A count that goes down once; those who wait for it go on at zero.
//
//   handoff::Latch loaded{{.count = 3, .name = "loaded"}};
//   loaded.count_down();                                     // each of three loaders
//   if (!loaded.wait({.stop = stop})) return;                // everybody else
//
//            waits                     now or not    deadline and stop_token
//   wait     wait, arrive_and_wait     is_open       wait({...}), arrive_and_wait({...})
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
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/wait_list.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

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

  // size: what is left of the count, of `capacity`.
  Stats stats() const override;
  void report_waits(std::vector<WaitInfo>& waits) const override;

 private:
  const std::size_t initial_;
  // Reaches zero under the lock of the line.
  detail::atomic<std::size_t> count_;
  detail::WaitList line_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
