// How long after the call that enqueues it does an idle worker begin with a task?
//
// Between two tasks the caller sleeps long enough for the worker to be idle again, a random time, so that no contender can fall into step with it.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/percentile.hpp"
#include "../support/report_errors.hpp"
#include "../support/tasks/disk_folder.hpp"

namespace bench {

// Contender contender{folder, begun};   calls begun() when its worker begins with a task
// contender.enqueue();
// contender.stop();
template <typename Contender>
concept PickupContender =
    std::constructible_from<Contender, const DiskFolder&, std::function<void()>> &&
    requires(Contender contender) {
      contender.enqueue();
      contender.stop();
      { Contender::version() } -> std::convertible_to<std::string>;
    };

template <PickupContender Contender>
std::vector<double> measure_pickups(std::uint64_t tasks) {
  using Clock = std::chrono::steady_clock;
  const DiskFolder folder;
  std::atomic<std::uint64_t> begun = 0;
  Clock::time_point begun_at;
  Contender contender{folder, [&] {
                        begun_at = Clock::now();
                        ++begun;
                        begun.notify_one();
                      }};
  std::minstd_rand random{1};
  std::uniform_int_distribution<int> pause_us{2'000, 4'000};
  std::vector<double> times;
  for (std::uint64_t i = 0; i < tasks; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds{pause_us(random)});
    const auto asked_at = Clock::now();
    contender.enqueue();
    while (begun.load() == i) begun.wait(i);
    times.push_back(std::chrono::duration<double, std::milli>(begun_at - asked_at).count());
  }
  contender.stop();
  return times;
}

template <PickupContender Contender>
int tasks_pickup(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    auto times = measure_pickups<Contender>(arguments.number("tasks", 300));
    JsonLine line{Contender::version()};
    line.add("pickup_ms_p50", percentile(times, 50));
    line.add("pickup_ms_p99", percentile(times, 99));
    line.print();
  });
}

}  // namespace bench
