// How many messages a second does one actor take from many others, and what do those cost that wait?
//
// `--senders` actors send the numbers from 1 to `--messages`, each its share, to one receiver as fast as they can. Where
// a mailbox has a bound, senders wait for room. Unless number and sum of what the receiver took are right, the
// measurement fails. Time runs from the first message to a sender until the receiver has taken the last number; memory is
// the highest growth of what was resident over that time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../support/actors/rate.hpp"
#include "../support/arguments.hpp"
#include "../support/peak_memory.hpp"
#include "../support/report_errors.hpp"

namespace bench {

struct FanInShape {
  std::size_t workers;
  std::uint64_t senders;
  std::uint64_t messages;  // In all. Sender s of them sends s, s + senders, and so on.
};

template <ContenderActors<FanInShape> Actors>
void measure_fan_in(const FanInShape& shape) {
  Actors actors{shape};
  const PeakMemory peak;
  JobStopwatch stopwatch;
  const JobTotals taken = actors.run();
  stopwatch.stop();
  const double growth_mib = peak.growth_mib();
  check_jobs(taken, shape.messages, shape.messages * (shape.messages + 1) / 2);

  JsonLine line{Actors::version()};
  stopwatch.add_to(line, shape.messages);
  line.add("peak_growth_mib", growth_mib);
  line.print();
}

template <typename Actors>
int actor_fan_in(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    measure_fan_in<Actors>({.workers = arguments.number("workers", 2),
                            .senders = arguments.number("senders", 100),
                            .messages = arguments.number("messages", 5'000'000)});
  });
}

}  // namespace bench
