// What a queue must offer to take part.
//
//   Queue queue{1024};                           holds 1024 items
//   queue.put(7);                                waits while full
//   while (auto item = queue.take()) use(*item); waits while empty; ends after finish()
//   queue.finish(consumers);                     after the last put, from one thread
//
// finish() closes the queue where it can be closed, and puts one sentinel per consumer where it cannot.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace bench {

constexpr std::uint64_t end_of_items = 0;  // The sentinel; no workload sends it as an item.

template <typename Queue>
concept ContenderQueue = std::constructible_from<Queue, std::size_t> &&
                         requires(Queue queue, std::uint64_t item, std::size_t consumers) {
                           queue.put(item);
                           { queue.take() } -> std::same_as<std::optional<std::uint64_t>>;
                           queue.finish(consumers);
                           { Queue::version() } -> std::convertible_to<std::string>;
                         };

// Items left behind by the consumers. Only a queue that keeps no order between producers has any: there a
// sentinel may overtake an item. Such a queue offers try_take(), and the workload collects the rest itself.
template <typename Queue>
concept KeepsNoOrder = requires(Queue queue) {
  { queue.try_take() } -> std::same_as<std::optional<std::uint64_t>>;
};

}  // namespace bench
