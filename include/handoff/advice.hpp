// What a pool's own measurements say about its size.
//
//   if (auto advice = pool.advice({.burst = 10s})) spdlog::info("{}", advice->sentence);
//
//   WorkerPool "photos": its 8 workers do 80 jobs a second (100 ms each); 10,000 a second for 10 s leave 99,200 waiting:
//   a capacity of 99,200 absorbs them, and the last of them waits 20 min 40 s; 1,000 workers would keep up.
//
// No advice is better than a guess: there is none before 20 jobs have ended, none if they took no time that could be
// measured, and none without a peak rate, asked for or measured.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "handoff/clock.hpp"
#include "handoff/rate_limiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct AdviceQuestion {
  Rate peak_rate = {.per_second = 0};  // How much comes in; 0: the most that was measured.
  Duration burst;                      // How long it lasts. More than zero.
};

struct Advice {
  Rate
      arrivals;  // Jobs offered per second, accepted or not, in the busiest tenth of a second or more.
  Duration service_time;  // What a job takes, on average.
  Rate drain_rate;        // What the workers do together.
  std::size_t capacity;   // That absorbs the burst with the workers there are.
  Duration longest_wait;  // Of the last job in a queue of that capacity.
  std::size_t workers;    // That would keep up with the burst, without any waiting.
  std::string sentence;   // All of it, for people.
};

namespace detail {

struct PoolMeasurements {
  std::string label;
  std::size_t workers = 0;
  std::uint64_t finished = 0;
  Duration busy{};           // Of all workers together.
  double peak_arrivals = 0;  // Per second; 0: not known.
};

std::optional<Advice> advise(const PoolMeasurements& measured, const AdviceQuestion& question);

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
