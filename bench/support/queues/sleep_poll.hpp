// Anti-pattern: waiting by looking again every 10 ms.
#pragma once

#include <chrono>
#include <thread>

#include "polled_ring.hpp"

namespace bench {

class SleepPollQueue {
 public:
  static constexpr std::chrono::milliseconds poll_interval{10};

  explicit SleepPollQueue(std::size_t capacity) : ring_(capacity) {}

  void put(std::uint64_t item) {
    while (!ring_.try_put(item)) std::this_thread::sleep_for(poll_interval);
  }

  std::optional<std::uint64_t> take() {
    return take_by_polling(ring_, [] { std::this_thread::sleep_for(poll_interval); });
  }

  void finish(std::size_t /*consumers*/) { ring_.close(); }

  static std::string version() { return "anti-pattern"; }

 private:
  PolledRing ring_;
};

}  // namespace bench
