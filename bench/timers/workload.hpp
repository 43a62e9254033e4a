// What do a timer that never fires and its cancelling cost, when there are many of them?
//
// `--timers` timers are armed, due at random between one minute and one hour from now, and all of them cancelled in
// the order of arming. A cancel that comes too late, or a timer that fires, fails the measurement.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/report_errors.hpp"

namespace bench {

// Timers timers{2, 1'000'000};   as many workers; room for as many timers
// timers.arm(5min);              the next timer
// timers.cancel(0);              the timer armed first; false if it was too late
// timers.finish();               after the last cancel; returns how many have fired
template <typename Timers>
concept ContenderTimers =
    std::constructible_from<Timers, std::size_t, std::size_t> &&
    requires(Timers timers, std::chrono::milliseconds due, std::size_t index) {
      timers.arm(due);
      { timers.cancel(index) } -> std::same_as<bool>;
      { timers.finish() } -> std::same_as<std::uint64_t>;
      { Timers::version() } -> std::convertible_to<std::string>;
    };

inline std::vector<std::chrono::milliseconds> random_delays(std::size_t count) {
  std::mt19937_64 random{42};
  std::uniform_int_distribution<std::int64_t> milliseconds{60'000, 3'600'000};
  std::vector<std::chrono::milliseconds> delays(count);
  for (auto& delay : delays) delay = std::chrono::milliseconds{milliseconds(random)};
  return delays;
}

inline double ns_each(std::chrono::steady_clock::duration taken, std::size_t count) {
  return std::chrono::duration<double, std::nano>(taken).count() / static_cast<double>(count);
}

template <ContenderTimers Timers>
int timers(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const auto delays = random_delays(arguments.number("timers", 1'000'000));
    Timers contender{arguments.number("workers", 2), delays.size()};

    const auto began = std::chrono::steady_clock::now();
    for (const auto delay : delays) contender.arm(delay);
    const auto armed = std::chrono::steady_clock::now();
    std::size_t cancelled = 0;
    for (std::size_t i = 0; i < delays.size(); ++i) cancelled += contender.cancel(i) ? 1 : 0;
    const auto ended = std::chrono::steady_clock::now();

    const std::uint64_t fired = contender.finish();
    if (cancelled != delays.size() || fired != 0) {
      throw std::runtime_error("armed " + std::to_string(delays.size()) + " timers, cancelled " +
                               std::to_string(cancelled) + ", fired " + std::to_string(fired));
    }
    JsonLine line{Timers::version()};
    line.add("timers", std::uint64_t{delays.size()});
    line.add("arm_ns", ns_each(armed - began, delays.size()));
    line.add("cancel_ns", ns_each(ended - armed, delays.size()));
    line.print();
  });
}

}  // namespace bench
