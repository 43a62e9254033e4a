// What actors report once they have done their part; the main thread waits for all of them.
//
//   Tally tally{2};                   two of them will report
//   tally.report(count, sum);         in an actor, once
//   JobTotals all = tally.wait();     in main
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>

#include "../job_counts.hpp"

namespace bench {

class Tally {
 public:
  explicit Tally(std::uint64_t reports) : missing_(static_cast<std::ptrdiff_t>(reports)) {}

  void report(std::uint64_t count, std::uint64_t sum) {
    count_ += count;
    sum_ += sum;
    missing_.count_down();
  }

  JobTotals wait() {
    missing_.wait();
    return {.jobs = count_, .sum = sum_};
  }

 private:
  std::latch missing_;
  std::atomic<std::uint64_t> count_ = 0;
  std::atomic<std::uint64_t> sum_ = 0;
};

}  // namespace bench
