// How many questions a second does one actor ask another, each after the answer to the last?
//
// Unlike a message back and forth, an answer belongs to its question, by each contender's own means. The asker asks
// for twice each number from 1 to `--asks`. Unless number and sum of the answers are right, the measurement fails. Time
// runs from the message that starts the asker until the last answer.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../support/actors/rate.hpp"
#include "../support/arguments.hpp"
#include "../support/report_errors.hpp"

namespace bench {

struct AskShape {
  std::size_t workers;
  std::uint64_t asks;
};

template <typename Actors>
int actor_ask(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const AskShape shape{.workers = arguments.number("workers", 2),
                         .asks = arguments.number("asks", 500'000)};
    measure_actors<Actors>(shape, {.jobs = shape.asks, .sum = shape.asks * (shape.asks + 1)});
  });
}

}  // namespace bench
