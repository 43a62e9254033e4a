// The queue of the textbooks: a ring under one std::mutex, with a std::condition_variable for each side.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

#include "contender.hpp"

namespace bench {

class MutexTwoCvQueue {
 public:
  explicit MutexTwoCvQueue(std::size_t capacity) : ring_(capacity) {}

  void put(std::uint64_t item) {
    {
      std::unique_lock lock{mutex_};
      not_full_.wait(lock, [this] { return count_ < ring_.size(); });
      ring_[(first_ + count_) % ring_.size()] = item;
      ++count_;
    }
    not_empty_.notify_one();
  }

  std::optional<std::uint64_t> take() {
    std::uint64_t item = end_of_items;
    {
      std::unique_lock lock{mutex_};
      not_empty_.wait(lock, [this] { return count_ > 0 || closed_; });
      if (count_ == 0) return std::nullopt;
      item = ring_[first_];
      first_ = (first_ + 1) % ring_.size();
      --count_;
    }
    not_full_.notify_one();
    return item;
  }

  void finish(std::size_t /*consumers*/) {
    {
      const std::lock_guard lock{mutex_};
      closed_ = true;
    }
    not_empty_.notify_all();
  }

  static std::string version() { return "libstdc++ " + std::to_string(_GLIBCXX_RELEASE); }

 private:
  std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  // Guarded by mutex_.
  std::vector<std::uint64_t> ring_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  bool closed_ = false;
};

}  // namespace bench
