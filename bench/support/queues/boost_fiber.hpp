// Boost.Fiber buffered_channel between threads: each thread runs only its main fiber.
// The capacity must be a power of two, and one slot always stays empty.
#pragma once

#include <boost/fiber/buffered_channel.hpp>

#include "../boost_version.hpp"
#include "contender.hpp"

namespace bench {

class BoostFiberQueue {
 public:
  explicit BoostFiberQueue(std::size_t capacity) : channel_(capacity) {}

  void put(std::uint64_t item) { channel_.push(item); }

  std::optional<std::uint64_t> take() {
    std::uint64_t item = end_of_items;
    const auto status = channel_.pop(item);
    return status == boost::fibers::channel_op_status::success ? std::optional{item} : std::nullopt;
  }

  void finish(std::size_t /*consumers*/) { channel_.close(); }

  static std::string version() { return boost_version(); }

 private:
  boost::fibers::buffered_channel<std::uint64_t> channel_;
};

}  // namespace bench
