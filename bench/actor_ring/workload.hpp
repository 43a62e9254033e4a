// How many hops a second does a message make around a ring of actors?
//
// `--actors` of them, numbered from 0, stand in a ring. `--tokens` tokens start at even distances and make `--hops` hops
// in all: an actor adds its number to what the token carries and sends it on. Unless what the tokens bring home is right,
// the measurement fails. Time runs from the first token until the last is home.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../support/actors/rate.hpp"
#include "../support/arguments.hpp"
#include "../support/report_errors.hpp"

namespace bench {

struct RingShape {
  std::size_t workers;
  std::uint64_t actors;
  std::uint64_t tokens;
  std::uint64_t hops;  // Of each token.

  // Where a token starts; they are numbered from 0.
  std::uint64_t start_of(std::uint64_t token) const { return token * actors / tokens; }
};

inline std::uint64_t sum_of_tokens(const RingShape& shape) {
  std::uint64_t sum = 0;
  for (std::uint64_t token = 0; token < shape.tokens; ++token) {
    sum += shape.hops / shape.actors * (shape.actors * (shape.actors - 1) / 2);  // Whole rounds.
    for (std::uint64_t hop = 0; hop < shape.hops % shape.actors; ++hop) {
      sum += (shape.start_of(token) + hop) % shape.actors;
    }
  }
  return sum;
}

template <typename Actors>
int actor_ring(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const std::uint64_t tokens = arguments.number("tokens", 1);
    const RingShape shape{.workers = arguments.number("workers", 2),
                          .actors = arguments.number("actors", 1000),
                          .tokens = tokens,
                          .hops = arguments.number("hops", 2'000'000) / tokens};
    measure_actors<Actors>(shape, {.jobs = tokens * shape.hops, .sum = sum_of_tokens(shape)});
  });
}

}  // namespace bench
