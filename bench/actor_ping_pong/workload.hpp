// How many round trips a second do two actors make that answer each other?
//
// `--pairs` pairs share `--round_trips`. In each pair one actor sends a number and the other sends back twice that number,
// then comes the next: a pair never has more than one message under way. Unless the answers of all pairs have the right
// number and sum, the measurement fails. Time runs from the first message until the last answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../support/actors/rate.hpp"
#include "../support/arguments.hpp"
#include "../support/report_errors.hpp"

namespace bench {

struct PingPongShape {
  std::size_t workers;
  std::uint64_t pairs;
  std::uint64_t round_trips;  // Of each pair: numbers from 1 to this one are sent.
};

template <typename Actors>
int actor_ping_pong(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t pairs = arguments.number("pairs", 1);
    const std::uint64_t each = arguments.number("round_trips", 1'000'000) / pairs;
    measure_actors<Actors>(
        PingPongShape{
            .workers = arguments.number("workers", 2), .pairs = pairs, .round_trips = each},
        {.jobs = pairs * each, .sum = pairs * each * (each + 1)});
  });
}

}  // namespace bench
