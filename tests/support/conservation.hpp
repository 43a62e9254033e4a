// Who has each item when all is over: for tests in which everybody is stopped, timed out or closed at any moment.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <random>
#include <stop_token>
#include <utility>
#include <vector>

#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::tests {

using Item = std::unique_ptr<std::size_t>;

// What became of every item: each belongs to exactly one of those who have it at the end.
class Ledger {
 public:
  explicit Ledger(std::size_t items) : accepted_(items), refused_(items), taken_(items) {}

  Item next() {
    const auto number = next_.fetch_add(1);
    if (number >= accepted_.size()) return nullptr;
    return std::make_unique<std::size_t>(number);
  }
  void put(std::size_t number, const Item& item, const std::expected<void, Refusal>& result) {
    if (result) {
      ++accepted_[number];
      EXPECT_EQ(item, nullptr) << "an accepted item is the queue's";
    } else {
      ++refused_[number];
      EXPECT_TRUE(item && *item == number) << "a refused item is untouched";
    }
  }
  void took(const Item& item) {
    if (item && *item < taken_.size()) {
      ++taken_[*item];
    } else {
      ADD_FAILURE() << "no item of ours";
    }
  }
  // Once nobody uses the queue any more.
  template <typename Queue>
  void check(Queue& queue) {
    for (const Item& left : queue.drain()) took(left);
    std::size_t in = 0;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      ASSERT_LE(accepted_[i] + refused_[i], 1) << i;
      ASSERT_EQ(accepted_[i].load(), taken_[i].load()) << i;
      in += static_cast<std::size_t>(accepted_[i]);
    }
    EXPECT_EQ(queue.stats().puts, in);
    EXPECT_EQ(queue.stats().waiting_producers, 0u);
    EXPECT_EQ(queue.stats().waiting_consumers, 0u);
  }

 private:
  std::atomic<std::size_t> next_ = 0;
  std::vector<std::atomic<int>> accepted_;
  std::vector<std::atomic<int>> refused_;
  std::vector<std::atomic<int>> taken_;
};

// A stop_source that somebody else may fire.
class StopSlot {
 public:
  std::stop_token renew() {
    std::scoped_lock guard(mutex_);
    source_ = std::stop_source();
    return source_.get_token();
  }
  void fire() {
    std::stop_source source(std::nostopstate);
    {
      std::scoped_lock guard(mutex_);
      source = source_;
    }
    source.request_stop();
  }

 private:
  std::mutex mutex_;
  std::stop_source source_;
};

// Often none; or one that ends most waits half-way.
inline Deadline hurried(std::minstd_rand& random) {
  switch (random() % 4) {
    case 0: return within(std::chrono::microseconds(random() % 50));
    case 1: return within(std::chrono::microseconds(random() % 500));
    default: return {};
  }
}

}  // namespace handoff::tests
