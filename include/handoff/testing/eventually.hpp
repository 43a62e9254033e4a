// Waits for a fact instead of for a time.
//
//   eventually([&] { return queue.stats().waiting_producers == 1; });
//
// The fact is looked at after pauses that grow from 20 us to 5 ms, on the real clock even while a ManualClock is in
// place. If it has not come true within the limit, what everybody waits for is printed, and Never is thrown: a
// test framework reports it as a failure with the place of the call.
#pragma once

#include <chrono>
#include <concepts>
#include <source_location>
#include <stdexcept>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::testing {

// Thrown by eventually(): the fact did not come true in time.
class Never : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// How eventually() passes the time: each pause is twice as long as the one before.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds limit);
  bool is_over() const;
  void pause();
  [[noreturn]] void give_up(std::source_location where) const;

 private:
  const std::chrono::nanoseconds limit_;
  const std::chrono::steady_clock::time_point end_;
  std::chrono::nanoseconds next_pause_;
};

// Returns true, so that it can also stand inside an EXPECT_TRUE; throws Never after `limit`.
template <std::predicate Fact>
bool eventually(Fact fact, std::chrono::nanoseconds limit = std::chrono::seconds(10),
                std::source_location where = std::source_location::current()) {
  Patience patience(limit);
  while (!fact()) {
    if (patience.is_over()) patience.give_up(where);
    patience.pause();
  }
  return true;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
