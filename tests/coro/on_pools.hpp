// What the tests of coroutines on pools share.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

#include "handoff/event.hpp"
#include "handoff/lazy.hpp"
#include "handoff/pool.hpp"
#include "handoff/spawn.hpp"
#include "handoff/testing/eventually.hpp"

namespace handoff::tests {

using namespace std::chrono_literals;
using handoff::testing::eventually;

inline constexpr int many = 10'000;

inline Lazy<int> number(int value) { co_return value; }

inline Lazy<Refusal> wait_for(Event& event) {
  const auto waited = co_await event.async_wait();
  co_return waited ? Refusal::full : waited.error();  // `full`: it was set.
}
inline constexpr auto it_was_set = Refusal::full;

inline bool all_ended(const WorkerPool& pool) { return pool.stats().coroutines == 0; }

// Keeps the workers of a pool, without their being known to wait, until let go.
class Held {
 public:
  explicit Held(WorkerPool& pool, int workers = 1) {
    for (int i = 0; i < workers; ++i) {
      EXPECT_TRUE(pool.post([this](std::stop_token stop) {
        ++held_;
        static_cast<void>(gate_.wait({.stop = std::move(stop)}));
        --held_;
      }));
    }
    eventually([&] { return held_ == workers; });
  }
  ~Held() {
    let_go();
    eventually([&] { return held_ == 0; });
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  void let_go() { gate_.set(); }

 private:
  Event gate_;
  std::atomic<int> held_ = 0;
};

// A fact that a computation waits for, which is no wait as the pool sees it. If it never comes true the test fails, and
// ends.
class Fact {
 public:
  void happened() { happened_ = true; }
  void compute_until_it_happens() const {
    while (!happened_ && !given_up_) std::this_thread::yield();
  }
  bool await() {
    try {
      return eventually([&] { return happened_.load(); });
    } catch (const handoff::testing::Never&) {
      given_up_ = true;
      return false;
    }
  }

 private:
  std::atomic<bool> happened_ = false;
  std::atomic<bool> given_up_ = false;
};

inline Lazy<> tell(Event& when, Fact& fact) {
  static_cast<void>(co_await when.async_wait());
  fact.happened();
}

}  // namespace handoff::tests
