// handoff::BlockingQueue, used plainly.
#pragma once

#include <handoff/queue.hpp>
#include <utility>

#include "contender.hpp"

namespace bench {

class HandoffQueue {
 public:
  explicit HandoffQueue(std::size_t capacity) : queue_{{.capacity = capacity}} {}

  void put(std::uint64_t item) { (void)queue_.put(std::move(item)); }

  std::optional<std::uint64_t> take() {
    const auto item = queue_.take();
    return item ? std::optional{*item} : std::nullopt;
  }

  void finish(std::size_t /*consumers*/) { queue_.close(); }

  static std::string version() { return "this commit"; }

 private:
  handoff::BlockingQueue<std::uint64_t> queue_;
};

}  // namespace bench
