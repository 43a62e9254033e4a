// How long does it take to spawn a great many coroutines that do next to nothing, and to wait for all of them?
//
// One coroutine spawns `--coroutines` others, each of which counts itself, and joins them. With `--skynet 1` it is the
// root of a tree instead: each node spawns ten children, down to as many leaves, and gives its parent the sum of what
// they gave it; a leaf gives its number. Unless count or sum is right, the measurement fails. Time runs from the spawn
// of the first coroutine until it has joined.
#pragma once

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/job_rate.hpp"
#include "../support/report_errors.hpp"

namespace bench {

constexpr std::uint64_t skynet_children = 10;

// Coroutines coroutines{2};             carried by two threads, if it can be
// coroutines.spawn_and_join(1000);      each calls JobCounts::mine().add_job()
template <typename Coroutines>
concept ContenderCoroutines = std::constructible_from<Coroutines, std::size_t> &&
                              requires(Coroutines coroutines, std::uint64_t count) {
                                coroutines.spawn_and_join(count);
                                { Coroutines::version() } -> std::convertible_to<std::string>;
                              };

// coroutines.skynet(1000);              returns what the root gives
template <typename Coroutines>
concept HasSkynet = requires(Coroutines coroutines, std::uint64_t leaves) {
  { coroutines.skynet(leaves) } -> std::same_as<std::uint64_t>;
};

// Leaves and all above them. Throws std::invalid_argument unless `leaves` is a power of ten.
inline std::uint64_t nodes_of_skynet(std::uint64_t leaves) {
  std::uint64_t nodes = 1;
  for (std::uint64_t row = leaves; row > 1; row /= skynet_children) {
    if (row % skynet_children != 0) {
      throw std::invalid_argument("--coroutines must be a power of ten with --skynet 1");
    }
    nodes += row;
  }
  return nodes;
}

template <ContenderCoroutines Coroutines>
void measure_flat(Coroutines& coroutines, std::uint64_t count) {
  JobStopwatch stopwatch;
  coroutines.spawn_and_join(count);
  stopwatch.stop();
  check_jobs(JobCounts::total(), count);
  stopwatch.print(Coroutines::version(), count);
}

template <ContenderCoroutines Coroutines>
void measure_skynet(Coroutines& coroutines, std::uint64_t leaves) {
  if constexpr (HasSkynet<Coroutines>) {
    const std::uint64_t nodes = nodes_of_skynet(leaves);
    JobStopwatch stopwatch;
    const std::uint64_t sum = coroutines.skynet(leaves);
    stopwatch.stop();
    check_jobs({.jobs = nodes, .sum = sum}, nodes, leaves * (leaves - 1) / 2);
    stopwatch.print(Coroutines::version(), nodes);
  } else {
    throw std::invalid_argument("this contender has no --skynet 1");
  }
}

template <ContenderCoroutines Coroutines>
int spawn_join(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t count = arguments.number("coroutines", 1'000'000);
    Coroutines coroutines{arguments.number("workers", 2)};
    if (arguments.number("skynet", 0) != 0) {
      measure_skynet(coroutines, count);
    } else {
      measure_flat(coroutines, count);
    }
  });
}

}  // namespace bench
