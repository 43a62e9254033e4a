// How long does it take to spawn a great many actors, to send each a message, and to stop them all?
//
// `--actors` of them are spawned, then each is sent its number, then each is told to stop once it has taken that. With
// `--skynet 1` they are the leaves of a tree instead: each actor spawns ten, sends its parent the sum of what they send
// it, and stops; a leaf sends its number. Unless count or sum is right, the measurement fails. Time runs from the first
// spawn until all have stopped; in skynet, until the sum is known.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/job_rate.hpp"
#include "../support/report_errors.hpp"

namespace bench {

constexpr std::uint64_t skynet_children = 10;

// Actors actors{2};                 on two workers
// actors.spawn_send_stop(1000);     an actor calls JobCounts::mine().add_job(number) with its number, from 1 on
// actors.skynet(1000);              returns what the root gives
template <typename Actors>
concept ContenderSpawn =
    std::constructible_from<Actors, std::size_t> && requires(Actors actors, std::uint64_t count) {
      actors.spawn_send_stop(count);
      { actors.skynet(count) } -> std::same_as<std::uint64_t>;
      { Actors::version() } -> std::convertible_to<std::string>;
    };

// Leaves and all above them. Throws std::invalid_argument unless `leaves` is a power of ten.
inline std::uint64_t nodes_of_skynet(std::uint64_t leaves) {
  std::uint64_t nodes = 1;
  for (std::uint64_t row = leaves; row > 1; row /= skynet_children) {
    if (row % skynet_children != 0) {
      throw std::invalid_argument("--actors must be a power of ten with --skynet 1");
    }
    nodes += row;
  }
  return nodes;
}

template <ContenderSpawn Actors>
void measure_flat(Actors& actors, std::uint64_t count) {
  JobStopwatch stopwatch;
  actors.spawn_send_stop(count);
  stopwatch.stop();
  check_jobs(JobCounts::total(), count, count * (count + 1) / 2);
  stopwatch.print(Actors::version(), count);
}

template <ContenderSpawn Actors>
void measure_skynet(Actors& actors, std::uint64_t leaves) {
  const std::uint64_t nodes = nodes_of_skynet(leaves);
  JobStopwatch stopwatch;
  const std::uint64_t sum = actors.skynet(leaves);
  stopwatch.stop();
  check_jobs({.jobs = nodes, .sum = sum}, nodes, leaves * (leaves - 1) / 2);
  stopwatch.print(Actors::version(), nodes);
}

template <typename Actors>
int actor_spawn(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t count = arguments.number("actors", 1'000'000);
    Actors actors{arguments.number("workers", 2)};
    if (arguments.number("skynet", 0) != 0) {
      measure_skynet(actors, count);
    } else {
      measure_flat(actors, count);
    }
  });
}

}  // namespace bench
