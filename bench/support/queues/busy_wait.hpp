// Anti-pattern: waiting by looking again at once.
#pragma once

#include "polled_ring.hpp"

namespace bench {

class BusyWaitQueue {
 public:
  explicit BusyWaitQueue(std::size_t capacity) : ring_(capacity) {}

  void put(std::uint64_t item) {
    while (!ring_.try_put(item)) {
    }
  }

  std::optional<std::uint64_t> take() {
    return take_by_polling(ring_, [] {});
  }

  void finish(std::size_t /*consumers*/) { ring_.close(); }

  static std::string version() { return "anti-pattern"; }

 private:
  PolledRing ring_;
};

}  // namespace bench
