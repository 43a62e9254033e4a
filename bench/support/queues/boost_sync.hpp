// Boost sync_bounded_queue.
#pragma once

#include <boost/thread/concurrent_queues/sync_bounded_queue.hpp>
#include <boost/version.hpp>

#include "contender.hpp"

namespace bench {

class BoostSyncQueue {
 public:
  explicit BoostSyncQueue(std::size_t capacity) : queue_(capacity) {}

  void put(std::uint64_t item) { queue_.wait_push_back(item); }

  std::optional<std::uint64_t> take() {
    std::uint64_t item = end_of_items;
    const auto status = queue_.wait_pull_front(item);
    return status == boost::concurrent::queue_op_status::success ? std::optional{item}
                                                                 : std::nullopt;
  }

  void finish(std::size_t /*consumers*/) { queue_.close(); }

  static std::string version() {
    return std::to_string(BOOST_VERSION / 100000) + "." +
           std::to_string(BOOST_VERSION / 100 % 1000);
  }

 private:
  boost::concurrent::sync_bounded_queue<std::uint64_t> queue_;
};

}  // namespace bench
