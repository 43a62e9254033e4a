// How many requests wait for the store, and how many may.
//
// A commit takes up to 512 calls: with 4096 that wait, who comes last waits for eight commits. Past them it is better to be told to come back.
// Outcomes are not counted, and not refused: they make room. Nor are those who wait for room in a queue: they would keep out the claims that make it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "handoff/detail/core/atomic.hpp"

namespace handoff::server {

class StoreLine {
 public:
  explicit StoreLine(std::size_t most) : most_(most) {}

  // False if there are too many. Otherwise it is to be left.
  [[nodiscard]] bool enter() {
    // Counts on their own. Whoever enters anew never makes it more than there may be, not even for a moment.
    std::size_t waiting = waiting_.load(detail::relaxed);
    while (waiting < most_) {
      if (waiting_.compare_exchange_weak(waiting, waiting + 1, detail::relaxed)) return true;
    }
    refused_.fetch_add(1, detail::relaxed);
    return false;
  }
  void leave() { waiting_.fetch_sub(1, detail::relaxed); }

  std::size_t waiting() const { return waiting_.load(detail::relaxed); }
  std::uint64_t refused() const { return refused_.load(detail::relaxed); }

 private:
  const std::size_t most_;
  detail::atomic<std::size_t> waiting_{0};
  detail::atomic<std::uint64_t> refused_{0};
};

}  // namespace handoff::server
