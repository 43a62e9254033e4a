// moodycamel BlockingConcurrentQueue. It has no bound of its own: its LightweightSemaphore counts the free slots.
#pragma once

#include <concurrentqueue/blockingconcurrentqueue.h>

#include "contender.hpp"

namespace bench {

class MoodycamelQueue {
 public:
  explicit MoodycamelQueue(std::size_t capacity)
      : queue_(capacity),
        free_slots_(static_cast<moodycamel::LightweightSemaphore::ssize_t>(capacity)) {}

  void put(std::uint64_t item) {
    free_slots_.wait();
    queue_.enqueue(item);
  }

  std::optional<std::uint64_t> take() {
    std::uint64_t item = end_of_items;
    queue_.wait_dequeue(item);
    free_slots_.signal();
    return item == end_of_items ? std::nullopt : std::optional{item};
  }

  std::optional<std::uint64_t> try_take() {
    std::uint64_t item = end_of_items;
    return queue_.try_dequeue(item) ? std::optional{item} : std::nullopt;
  }

  void finish(std::size_t consumers) {
    for (std::size_t i = 0; i < consumers; ++i) put(end_of_items);
  }

  static std::string version() { return HANDOFF_BENCH_MOODYCAMEL_VERSION; }

 private:
  moodycamel::BlockingConcurrentQueue<std::uint64_t> queue_;
  moodycamel::LightweightSemaphore free_slots_;
};

}  // namespace bench
