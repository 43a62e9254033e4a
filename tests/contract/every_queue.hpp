// The queues the contract is checked for, under one set of verbs, and the items it is checked with.
//
// With equal priorities a priority queue, and with items due at once a delay queue, is first in, first out like the
// plain one: the same tests hold for all three.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <handoff/delay_queue.hpp>
#include <handoff/log.hpp>
#include <handoff/priority_queue.hpp>
#include <handoff/queue.hpp>
#include <handoff/testing/eventually.hpp>
#include <handoff/testing/manual_clock.hpp>
#include <memory>
#include <source_location>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/await_sleep.hpp"

namespace handoff::contract {

using namespace std::chrono_literals;
using testing::eventually;
using testing::ManualClock;
using tests::await_sleep;

// A DelayQueue whose items are all due at once.
template <typename T>
class DueAtOnce {
 public:
  explicit DueAtOnce(QueueOptions options, typename DelayQueue<T>::OnDrop on_drop = {})
      : queue_(options, std::move(on_drop)) {}

  auto put(T&& item, const Wait& wait = {},
           std::source_location where = std::source_location::current()) {
    return queue_.put(std::move(item), at_once, wait, where);
  }
  auto offer(T&& item) { return queue_.offer(std::move(item), at_once); }
  auto offer(T&& item, Duration patience,
             std::source_location where = std::source_location::current()) {
    return queue_.offer(std::move(item), at_once, patience, where);
  }
  auto push(T&& item, const Wait& wait = {},
            std::source_location where = std::source_location::current()) {
    return queue_.push(std::move(item), at_once, wait, where);
  }
  auto put_all(std::span<T> items, const Wait& wait = {},
               std::source_location where = std::source_location::current()) {
    return queue_.put_all(items, at_once, wait, where);
  }
  auto take(const Wait& wait = {}, std::source_location where = std::source_location::current()) {
    return queue_.take(wait, where);
  }
  auto poll() { return queue_.poll(); }
  auto poll(Duration patience, std::source_location where = std::source_location::current()) {
    return queue_.poll(patience, where);
  }
  auto take_some(std::size_t max, const Wait& wait = {},
                 std::source_location where = std::source_location::current()) {
    return queue_.take_some(max, wait, where);
  }
  auto drain() { return queue_.drain(); }
  template <typename Sink>
  auto drain(Sink sink) {
    return queue_.drain(std::move(sink));
  }
  void close() { queue_.close(); }
  bool is_closed() const { return queue_.is_closed(); }
  auto size() const { return queue_.size(); }
  auto capacity() const { return queue_.capacity(); }
  auto stats() const { return queue_.stats(); }
  auto begin() { return queue_.begin(); }
  auto end() { return queue_.end(); }

 private:
  static constexpr Due at_once{TimePoint{}};  // The same moment for all, and long past.

  DelayQueue<T> queue_;
};

struct Blocking {
  static constexpr const char* kind = "BlockingQueue";
  template <typename T>
  static BlockingQueue<T> make(QueueOptions options, std::function<void(T&)> on_drop = {}) {
    return BlockingQueue<T>(options, std::move(on_drop));
  }
};

struct Priority {
  static constexpr const char* kind = "PriorityBlockingQueue";
  template <typename T>
  static PriorityBlockingQueue<T> make(QueueOptions options, std::function<void(T&)> on_drop = {}) {
    return PriorityBlockingQueue<T>(
        {.capacity = options.capacity, .name = options.name, .when_full = options.when_full},
        [](const T&) { return 0; }, std::move(on_drop));
  }
};

struct Delay {
  static constexpr const char* kind = "DelayQueue";
  template <typename T>
  static DueAtOnce<T> make(QueueOptions options, std::function<void(T&)> on_drop = {}) {
    return DueAtOnce<T>(options, std::move(on_drop));
  }
};

using EveryQueue = ::testing::Types<Blocking, Priority, Delay>;

struct KindName {
  template <typename Kind>
  static std::string GetName(int) {
    return Kind::kind;
  }
};

// -- Items ----------------------------------------------------------------------------------------

// Counts how many of it are alive, and throws when it has been moved more often than it bears.
struct Fragile {
  static constexpr int unbreakable = 1'000'000;
  static inline std::atomic<int> alive = 0;

  int value;
  int moves_left;

  explicit Fragile(int number, int moves = unbreakable) : value(number), moves_left(moves) {
    ++alive;
  }
  Fragile(Fragile&& other) : value(other.value), moves_left(other.moves_left - 1) {
    if (other.moves_left == 0) throw std::runtime_error("moved too often");
    other.value = -1;
    ++alive;
  }
  Fragile& operator=(Fragile&&) = delete;
  ~Fragile() { --alive; }
};

// -- Waiting for others ---------------------------------------------------------------------------

template <typename Queue>
void await_producers(const Queue& queue, std::size_t count) {
  eventually([&] { return queue.stats().waiting_producers == count; });
}

template <typename Queue>
void await_consumers(const Queue& queue, std::size_t count) {
  eventually([&] { return queue.stats().waiting_consumers == count; });
}

template <typename Work>
auto in_background(Work work) {
  return std::async(std::launch::async, std::move(work));
}

inline const auto full = std::unexpected(Refusal::full);
inline const auto empty = std::unexpected(Refusal::empty);
inline const auto closed = std::unexpected(Refusal::closed);
inline const auto timed_out = std::unexpected(Refusal::timed_out);
inline const auto stopped = std::unexpected(Refusal::stopped);

}  // namespace handoff::contract
