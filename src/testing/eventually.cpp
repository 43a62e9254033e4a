#include "handoff/testing/eventually.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "handoff/detail/core/futex.hpp"
#include "handoff/waits.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

namespace {
constexpr auto first_pause = std::chrono::microseconds(20);
constexpr auto longest_pause = std::chrono::milliseconds(5);
}  // namespace

Patience::Patience(std::chrono::nanoseconds limit)
    : limit_(limit), end_(std::chrono::steady_clock::now() + limit), next_pause_(first_pause) {}

bool Patience::is_over() const { return std::chrono::steady_clock::now() >= end_; }

void Patience::pause() {
  // A sleep nobody ends: straight in the kernel, because a ManualClock would never end it either.
  detail::atomic<std::uint32_t> nobody{0};
  const auto until = std::chrono::steady_clock::now() + next_pause_;
  while (detail::futex_wait(nobody, 0, until)) {
  }
  next_pause_ = std::min<std::chrono::nanoseconds>(next_pause_ * 2, longest_pause);
}

void Patience::give_up(std::source_location where) const {
  const auto message =
      fmt::format("eventually() at {}:{}: still not true after {} s", where.file_name(),
                  where.line(), std::chrono::duration<double>(limit_).count());
  // Printed now: unwinding may never finish if a destructor joins a thread that is stuck.
  fmt::print(stderr, "{}\n{}", message, to_table(waits()));
  throw Never(message);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
