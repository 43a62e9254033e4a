// How many 8-byte items a second does a full-and-empty bounded queue move, and at what cost?
//
// Producers send distinct items until their share of `--items` is sent or `--milliseconds` have passed; then
// the queue is finished and the consumers drain it. Every consumer counts and sums what it takes. Unless
// count and sum match what was sent, the measurement fails.
// Time runs from the release of the start line to the moment the last consumer ends.
#pragma once

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../support/arguments.hpp"
#include "../support/json_line.hpp"
#include "../support/process_usage.hpp"
#include "../support/queues/contender.hpp"
#include "../support/report_errors.hpp"
#include "../support/start_line.hpp"

namespace bench {

struct Shape {
  std::size_t producers;
  std::size_t consumers;
  std::uint64_t items;  // At most, over all producers.
  std::chrono::milliseconds time_limit;
  std::size_t capacity;
};

// What one thread, or all threads of one side, moved. Each thread keeps its own on its stack until it ends.
struct Moved {
  std::uint64_t items = 0;
  std::uint64_t sum = 0;
  std::chrono::steady_clock::time_point ended = {};

  void add(std::uint64_t item) {
    ++items;
    sum += item;
  }

  void add(const Moved& other) {
    items += other.items;
    sum += other.sum;
    ended = std::max(ended, other.ended);
  }
};

inline Moved total(const std::vector<Moved>& parts) {
  Moved all;
  for (const Moved& part : parts) all.add(part);
  return all;
}

template <ContenderQueue Queue>
Moved produce(Queue& queue, const Shape& shape, std::size_t producer) {
  constexpr std::uint64_t items_per_look_at_the_clock = 64;
  const auto deadline = std::chrono::steady_clock::now() + shape.time_limit;
  Moved sent;
  // Distinct over all producers and never the sentinel.
  for (std::uint64_t item = producer + 1; item <= shape.items; item += shape.producers) {
    queue.put(item);
    sent.add(item);
    if (sent.items % items_per_look_at_the_clock == 0 &&
        std::chrono::steady_clock::now() >= deadline)
      break;
  }
  return sent;
}

template <ContenderQueue Queue>
Moved consume(Queue& queue) {
  Moved taken;
  while (const auto item = queue.take()) taken.add(*item);
  taken.ended = std::chrono::steady_clock::now();
  return taken;
}

template <ContenderQueue Queue>
Moved collect_the_rest(Queue& queue) {
  Moved rest;
  if constexpr (KeepsNoOrder<Queue>) {
    while (const auto item = queue.try_take()) rest.add(*item);
    if (rest.items > 0) rest.ended = std::chrono::steady_clock::now();
  }
  return rest;
}

struct ThroughputResult {
  Moved taken;
  double seconds;
  ProcessUsage usage;
};

template <ContenderQueue Queue>
ThroughputResult move_items(const Shape& shape) {
  Queue queue{shape.capacity};
  StartLine start_line{shape.producers + shape.consumers};
  std::vector<Moved> sent(shape.producers);
  std::vector<Moved> taken(shape.consumers);
  std::vector<std::jthread> consumers;
  std::vector<std::jthread> producers;
  for (Moved& mine : taken) {
    consumers.emplace_back([&queue, &start_line, &mine] {
      start_line.wait();
      mine = consume(queue);
    });
  }
  for (std::size_t i = 0; i < shape.producers; ++i) {
    producers.emplace_back([&queue, &start_line, &shape, &mine = sent[i], i] {
      start_line.wait();
      mine = produce(queue, shape, i);
    });
  }

  start_line.gather();
  const ProcessUsage before = ProcessUsage::now();
  const auto began = start_line.release();
  producers.clear();  // Joins.
  queue.finish(shape.consumers);
  consumers.clear();
  Moved all_taken = total(taken);
  all_taken.add(collect_the_rest(queue));
  const ProcessUsage usage = ProcessUsage::now() - before;

  const Moved all_sent = total(sent);
  if (all_sent.items != all_taken.items || all_sent.sum != all_taken.sum) {
    throw std::runtime_error("sent " + std::to_string(all_sent.items) + " items with sum " +
                             std::to_string(all_sent.sum) + ", taken " +
                             std::to_string(all_taken.items) + " with sum " +
                             std::to_string(all_taken.sum));
  }
  return {all_taken, std::chrono::duration<double>(all_taken.ended - began).count(), usage};
}

template <ContenderQueue Queue>
int queue_throughput(int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    const Shape shape{
        .producers = arguments.number("producers", 1),
        .consumers = arguments.number("consumers", 1),
        .items = arguments.number("items", 20'000'000),
        .time_limit = std::chrono::milliseconds{arguments.number("milliseconds", 500)},
        .capacity = arguments.number("capacity", 1024)};
    const ThroughputResult result = move_items<Queue>(shape);
    const double millions = static_cast<double>(result.taken.items) * 1e-6;
    JsonLine line{Queue::version()};
    line.add("items", result.taken.items);
    line.add("seconds", result.seconds);
    line.add("items_per_us", millions / result.seconds);
    line.add("cpu_seconds_per_million_items", result.usage.cpu_seconds / millions);
    line.add("context_switches_per_million_items",
             static_cast<double>(result.usage.context_switches) / millions);
    line.print();
  });
}

}  // namespace bench
