// Times a piece of work that runs many jobs, and prints how many a second it ran.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "json_line.hpp"
#include "process_usage.hpp"

namespace bench {

class JobStopwatch {
 public:
  // Prints the result of `jobs` that ran since this stopwatch was made; `stop()` comes first.
  void print(std::string_view version, std::uint64_t jobs) const {
    JsonLine line{version};
    add_to(line, jobs);
    line.print();
  }

  // The same for a result that says more.
  void add_to(JsonLine& line, std::uint64_t jobs) const {
    const double millions = static_cast<double>(jobs) * 1e-6;
    line.add("jobs", jobs);
    line.add("seconds", seconds_);
    line.add("jobs_per_us", millions / seconds_);
    line.add("seconds_per_million_jobs", seconds_ / millions);
    line.add("cpu_seconds_per_million_jobs", usage_.cpu_seconds / millions);
  }

  void stop() {
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
    usage_ = ProcessUsage::now() - before_;
  }

 private:
  ProcessUsage before_ = ProcessUsage::now();
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  double seconds_ = 0;
  ProcessUsage usage_;
};

constexpr std::uint64_t jobs_per_look_at_the_clock = 64;

}  // namespace bench
