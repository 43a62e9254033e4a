// How many forks a second does a pool make and join, when each has next to nothing to do?
//
// fib(n) = fib(n - 1), forked, + fib(n - 2), without a cutoff: one fork for each n of at least 2. Time runs from
// outside, from handing in the first call until its result is there. A wrong result fails the measurement.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>

#include "../support/arguments.hpp"
#include "../support/job_rate.hpp"
#include "../support/pools/contender.hpp"
#include "../support/report_errors.hpp"

namespace bench {

template <ForkJoinPool Pool>
std::uint64_t fib(Pool& pool, std::uint64_t n) {
  if (n < 2) return n;
  const auto [one_less, two_less] = pool.fork_join([&pool, n] { return fib(pool, n - 1); },
                                                   [&pool, n] { return fib(pool, n - 2); });
  return one_less + two_less;
}

struct Expected {
  std::uint64_t result;
  std::uint64_t forks;
};

inline Expected expected_of(std::uint64_t n) {
  Expected at_n{.result = 0, .forks = 0};
  Expected next{.result = 1, .forks = 0};
  for (std::uint64_t i = 0; i < n; ++i) {
    const Expected after{.result = at_n.result + next.result, .forks = at_n.forks + next.forks + 1};
    at_n = next;
    next = after;
  }
  return at_n;
}

template <ForkJoinPool Pool>
int pool_fork_join(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t n = arguments.number("n", 30);
    const Expected expected = expected_of(n);
    Pool pool{arguments.number("workers", 2)};

    JobStopwatch stopwatch;
    std::uint64_t result = 0;
    pool.run([&] { return result = fib(pool, n); });
    stopwatch.stop();
    if (result != expected.result) {
      throw std::runtime_error("fib(" + std::to_string(n) + ") is " +
                               std::to_string(expected.result) + ", computed " +
                               std::to_string(result));
    }
    stopwatch.print(Pool::version(), expected.forks);
  });
}

}  // namespace bench
