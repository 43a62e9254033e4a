// How large a queue has to be, and what that means for those in it.
//
// While work comes in faster than it is done, the difference piles up: 10,000 a second for 10 s, of which 100 a second are
// done meanwhile, leave 99,000.
//
//   const auto capacity = handoff::capacity_for(
//       {.peak_rate = handoff::per_second(10'000), .drain_rate = handoff::per_second(100), .burst = 10s});   // 99'000
//
// Then look at the same number as time. The last of these 99,000 waits for all the others to be done:
//
//   handoff::waiting_time(99'000, handoff::per_second(100))     // 990 s, sixteen and a half minutes
//   handoff::waiting_time(1'000, handoff::per_second(100))      // 10 s
//
// If nobody wants an answer after that time, a smaller queue that refuses the rest is the better one: capacity / drain rate
// is the longest wait you offer.
#pragma once

#include <cstddef>

#include "handoff/clock.hpp"
#include "handoff/rate_limiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct Surge {
  Rate peak_rate;  // How much comes in while it lasts.
  Rate
      drain_rate;  // How much is done meanwhile, by all consumers together. May be 0: all are down.
  Duration burst;  // How long it lasts.
};

// What piles up by the end of the surge, rounded up: (peak - drain) * burst. At least 1, the smallest queue there is: also
// if the consumers keep up. Throws std::invalid_argument, naming the field, if a rate is negative, infinite or not a number,
// if the burst is negative, or if more piles up than a std::size_t can tell.
std::size_t capacity_for(const Surge& surge);

// How long the last of `backlog` items waits until all are done; Duration::max() if that is longer than a Duration can tell.
// Throws std::invalid_argument if drain_rate is not positive and finite.
Duration waiting_time(std::size_t backlog, Rate drain_rate);

}  // namespace handoff::inline HANDOFF_FLAVOUR
