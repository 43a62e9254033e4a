// handoff::BlockingQueue with a name, and with a live stop token and a deadline on every put and take.
#pragma once

#include <chrono>
#include <handoff/clock.hpp>
#include <handoff/queue.hpp>
#include <handoff/wait.hpp>
#include <stop_token>
#include <utility>

#include "contender.hpp"

namespace bench {

class HandoffStopDeadlineQueue {
 public:
  explicit HandoffStopDeadlineQueue(std::size_t capacity)
      : queue_{{.capacity = capacity, .name = "bench"}} {}

  void put(std::uint64_t item) { (void)queue_.put(std::move(item), wait_); }

  std::optional<std::uint64_t> take() {
    const auto item = queue_.take(wait_);
    return item ? std::optional{*item} : std::nullopt;
  }

  void finish(std::size_t /*consumers*/) { queue_.close(); }

  static std::string version() { return "this commit"; }

 private:
  std::stop_source stop_;
  // An hour is never reached: what is measured is the cost of being ready for it.
  handoff::Wait wait_{.deadline = handoff::within(std::chrono::hours{1}),
                      .stop = stop_.get_token()};
  handoff::BlockingQueue<std::uint64_t> queue_;
};

}  // namespace bench
