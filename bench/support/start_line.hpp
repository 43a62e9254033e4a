// Threads gather behind the line; release() lets all of them go at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <latch>

namespace bench {

class StartLine {
 public:
  explicit StartLine(std::size_t threads) : ready_(static_cast<std::ptrdiff_t>(threads)) {}

  void wait() {
    ready_.count_down();
    go_.wait();
  }

  // Waits for the last thread to arrive.
  void gather() { ready_.wait(); }

  // Returns the time of the release.
  std::chrono::steady_clock::time_point release() {
    const auto now = std::chrono::steady_clock::now();
    go_.count_down();
    return now;
  }

 private:
  std::latch ready_;
  std::latch go_{1};
};

}  // namespace bench
