// Times actors that are already there and wait: from their first message until the last has done its part.
#pragma once

#include <concepts>
#include <string>

#include "../job_counts.hpp"
#include "../job_rate.hpp"

namespace bench {

// Actors actors{shape};    spawns them
// actors.run();            has them do the work; returns how many messages they counted, and the sum of these
template <typename Actors, typename Shape>
concept ContenderActors = std::constructible_from<Actors, const Shape&> && requires(Actors actors) {
  { actors.run() } -> std::same_as<JobTotals>;
  { Actors::version() } -> std::convertible_to<std::string>;
};

// Throws std::runtime_error unless the actors counted what is expected.
template <typename Actors, typename Shape>
  requires ContenderActors<Actors, Shape>
void measure_actors(const Shape& shape, const JobTotals& expected) {
  Actors actors{shape};
  JobStopwatch stopwatch;
  const JobTotals done = actors.run();
  stopwatch.stop();
  check_jobs(done, expected.jobs, expected.sum);
  stopwatch.print(Actors::version(), expected.jobs);
}

}  // namespace bench
