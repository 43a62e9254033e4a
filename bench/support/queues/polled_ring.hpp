// A ring that nobody can wait on: it only answers "not now". The two anti-patterns poll it.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "contender.hpp"

namespace bench {

class PolledRing {
 public:
  explicit PolledRing(std::size_t capacity) : ring_(capacity) {}

  bool try_put(std::uint64_t item) {
    const std::lock_guard lock{mutex_};
    const std::size_t last = last_.load();
    if (last - first_.load() == ring_.size()) return false;
    ring_[last % ring_.size()] = item;
    last_.store(last + 1);
    return true;
  }

  std::optional<std::uint64_t> try_take() {
    if (first_.load() == last_.load())
      return std::nullopt;  // Keeps those who only look off the mutex.
    const std::lock_guard lock{mutex_};
    const std::size_t first = first_.load();
    if (first == last_.load()) return std::nullopt;
    const std::uint64_t item = ring_[first % ring_.size()];
    first_.store(first + 1);
    return item;
  }

  void close() { closed_.store(true); }
  bool is_closed() const { return closed_.load(); }

 private:
  std::mutex mutex_;
  // Written under mutex_; read without it only to see whether there is anything to take.
  std::atomic<std::size_t> first_ = 0;
  std::atomic<std::size_t> last_ = 0;
  std::atomic<bool> closed_ = false;
  std::vector<std::uint64_t> ring_;
};

// Looks, calls `pause`, looks again, until there is an item or the ring is closed and empty.
template <typename Pause>
std::optional<std::uint64_t> take_by_polling(PolledRing& ring, Pause pause) {
  while (true) {
    const bool closed = ring.is_closed();  // Before looking: then "empty" is final.
    if (auto item = ring.try_take()) return item;
    if (closed) return std::nullopt;
    pause();
  }
}

}  // namespace bench
