// Items on their way through channels: what each sender sends, what the receiver takes, and how fast.
//
//   while (auto item = sender.next()) channel.send(*item);      a sender: ends when its share is sent or time is up
//   while (auto item = channel.receive()) receiver.add(*item);  the receiver
//
// A contender is made of the flow's shape; its run(flow) starts all senders and one receiver and returns when both sides
// have ended. Unless count and sum of what was taken match what was sent, the measurement fails. Time is that of run().
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "../arguments.hpp"
#include "../json_line.hpp"
#include "../process_usage.hpp"
#include "../report_errors.hpp"

namespace bench {

struct FlowShape {
  std::size_t senders;   // Each with a channel of its own.
  std::size_t capacity;  // 0: a rendezvous.
  std::size_t workers;   // Threads that carry the coroutines.
  std::uint64_t items;   // At most, over all senders.
  std::chrono::milliseconds time_limit;
};

struct MovedItems {
  std::uint64_t items = 0;
  std::uint64_t sum = 0;

  void add(std::uint64_t item) {
    ++items;
    sum += item;
  }
};

// In a cache line of its own: two threads may run the two sides.
class alignas(64) ItemSender {
 public:
  ItemSender(const FlowShape& shape, std::size_t number)
      : next_(number + 1),
        last_(shape.items),
        step_(shape.senders),
        deadline_(std::chrono::steady_clock::now() + shape.time_limit) {}

  // The next item, distinct over all senders. It counts as sent.
  std::optional<std::uint64_t> next() {
    constexpr std::uint64_t items_per_look_at_the_clock = 64;
    if (next_ > last_) return std::nullopt;
    if (sent_.items % items_per_look_at_the_clock == 0 &&
        std::chrono::steady_clock::now() >= deadline_) {
      return std::nullopt;
    }
    const std::uint64_t item = next_;
    next_ += step_;
    sent_.add(item);
    return item;
  }

  const MovedItems& sent() const { return sent_; }

 private:
  std::uint64_t next_;
  const std::uint64_t last_;
  const std::uint64_t step_;
  const std::chrono::steady_clock::time_point deadline_;
  MovedItems sent_;
};

struct alignas(64) ItemReceiver : MovedItems {};

struct Flow {
  std::vector<ItemSender> senders;
  ItemReceiver receiver;
};

template <typename Channels>
concept ContenderChannels =
    std::constructible_from<Channels, const FlowShape&> && requires(Channels channels, Flow& flow) {
      channels.run(flow);
      { Channels::version() } -> std::convertible_to<std::string>;
    };

// Throws std::runtime_error unless all that was sent was taken.
inline void check_flow(const Flow& flow) {
  MovedItems sent;
  for (const ItemSender& sender : flow.senders) {
    sent.items += sender.sent().items;
    sent.sum += sender.sent().sum;
  }
  const MovedItems& taken = flow.receiver;
  if (sent.items == taken.items && sent.sum == taken.sum && sent.items > 0) return;
  throw std::runtime_error("sent " + std::to_string(sent.items) + " items with sum " +
                           std::to_string(sent.sum) + ", taken " + std::to_string(taken.items) +
                           " with sum " + std::to_string(taken.sum));
}

template <ContenderChannels Channels>
void measure_flow(const FlowShape& shape) {
  Channels channels{shape};
  const ProcessUsage before = ProcessUsage::now();
  const auto began = std::chrono::steady_clock::now();
  Flow flow;
  flow.senders.reserve(shape.senders);
  for (std::size_t i = 0; i < shape.senders; ++i) flow.senders.emplace_back(shape, i);
  channels.run(flow);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - began;
  const ProcessUsage usage = ProcessUsage::now() - before;
  check_flow(flow);

  const double millions = static_cast<double>(flow.receiver.items) * 1e-6;
  JsonLine line{Channels::version()};
  line.add("items", flow.receiver.items);
  line.add("seconds", taken.count());
  line.add("items_per_us", millions / taken.count());
  line.add("cpu_seconds_per_million_items", usage.cpu_seconds / millions);
  line.add("context_switches_per_million_items",
           static_cast<double>(usage.context_switches) / millions);
  line.print();
}

// Reads the shape from the command line; without `--capacity` it is a rendezvous.
template <ContenderChannels Channels>
int measure_flow(std::size_t senders, int argc, char** argv) {
  return report_errors([&] {
    const Arguments arguments{argc, argv};
    measure_flow<Channels>(
        {.senders = senders,
         .capacity = arguments.number("capacity", 0),
         .workers = arguments.number("workers", 2),
         .items = arguments.number("items", 20'000'000),
         .time_limit = std::chrono::milliseconds{arguments.number("milliseconds", 500)}});
  });
}

}  // namespace bench
