// A clock that stands still until a test moves it: time-outs without sleeping, and without luck.
//
//   handoff::testing::ManualClock clock;
//   auto answer = std::async([&] { return orders.poll(100ms); });
//   eventually([&] { return clock.waiting() == 1; });     // it waits, and its deadline is known
//   clock.advance(100ms);
//   EXPECT_EQ(answer.get(), std::unexpected(Refusal::timed_out));
//
// It is the library's clock for as long as it lives: make it before, and destroy it after, every wait of the test.
// One may live at a time. Thread safety: any member, any thread.
#pragma once

#include <cstddef>

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

class ManualClock final {
 public:
  // Starts at the real clock's time. Throws std::logic_error if another one lives.
  ManualClock();
  ~ManualClock();
  ManualClock(const ManualClock&) = delete;
  ManualClock& operator=(const ManualClock&) = delete;

  TimePoint now() const;

  // Moves time on, and ends every wait whose deadline is reached; when it returns they are on their way.
  // Throws std::invalid_argument if `step` is negative: time does not run backwards.
  void advance(Duration step);

  // How many waits will end by their deadline: each is asleep or about to be.
  std::size_t waiting() const;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
