// What does an actor cost in memory while it has nothing to do?
//
// `--actors` of them with 8 bytes of state that have begun and wait for their first message or, with `--handled 1`, for
// their second: the growth of resident memory since before the actor system, divided by their number. Then each gets a
// message, so that all are seen to be alive; unless what they count then is right, the measurement fails.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>

#include "../support/arguments.hpp"
#include "../support/job_counts.hpp"
#include "../support/json_line.hpp"
#include "../support/report_errors.hpp"
#include "../support/resident_memory.hpp"

namespace bench {

// Idle idle{2};            on two workers
// idle.spawn(1000);        each calls JobCounts::mine().add_spawned(1) once
// idle.send_numbers();     each gets its number, from 1 on, adds it to its state and calls add_job(state)
template <typename Idle>
concept ContenderIdle =
    std::constructible_from<Idle, std::size_t> && requires(Idle idle, std::uint64_t actors) {
      idle.spawn(actors);
      idle.send_numbers();
      { Idle::version() } -> std::convertible_to<std::string>;
    };

// Until as many actors have begun, and as many messages have been counted.
inline void wait_for(std::uint64_t begun, std::uint64_t handled) {
  const auto is_done = [&](const JobTotals& so_far) {
    return so_far.spawned >= begun && so_far.jobs >= handled;
  };
  while (!is_done(JobCounts::total())) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  std::this_thread::sleep_for(
      std::chrono::milliseconds{10});  // The last of them are about to wait.
}

template <ContenderIdle Idle>
double measure_idle(std::size_t workers, std::uint64_t actors, bool has_handled) {
  const std::uint64_t sum_of_numbers = actors * (actors + 1) / 2;
  const std::uint64_t before = resident_bytes();
  Idle idle{workers};
  idle.spawn(actors);
  if (has_handled) idle.send_numbers();
  wait_for(actors, has_handled ? actors : 0);
  const std::uint64_t after = resident_bytes();

  idle.send_numbers();
  wait_for(actors, has_handled ? 2 * actors : actors);
  if (has_handled) {  // They count the number, then twice the number.
    check_jobs(JobCounts::total(), 2 * actors, 3 * sum_of_numbers);
  } else {
    check_jobs(JobCounts::total(), actors, sum_of_numbers);
  }
  return static_cast<double>(after - before) / static_cast<double>(actors);
}

template <typename Idle>
int actor_memory(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t actors = arguments.number("actors", 100'000);
    const double bytes = measure_idle<Idle>(arguments.number("workers", 2), actors,
                                            arguments.number("handled", 0) != 0);
    JsonLine line{Idle::version()};
    line.add("actors", actors);
    line.add("bytes_per_actor", bytes);
    line.print();
  });
}

}  // namespace bench
