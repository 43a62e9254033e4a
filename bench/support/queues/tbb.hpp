// oneTBB concurrent_bounded_queue. It can be aborted but not closed, so it ends by sentinels.
#pragma once

#include <oneapi/tbb/concurrent_queue.h>
#include <oneapi/tbb/version.h>

#include "contender.hpp"

namespace bench {

class TbbQueue {
 public:
  explicit TbbQueue(std::size_t capacity) {
    queue_.set_capacity(static_cast<std::ptrdiff_t>(capacity));
  }

  void put(std::uint64_t item) { queue_.push(item); }

  std::optional<std::uint64_t> take() {
    std::uint64_t item = end_of_items;
    queue_.pop(item);
    return item == end_of_items ? std::nullopt : std::optional{item};
  }

  void finish(std::size_t consumers) {
    for (std::size_t i = 0; i < consumers; ++i) put(end_of_items);
  }

  static std::string version() { return TBB_VERSION_STRING; }

 private:
  oneapi::tbb::concurrent_bounded_queue<std::uint64_t> queue_;
};

}  // namespace bench
