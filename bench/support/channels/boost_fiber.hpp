// Boost.Fiber's channels: with one worker between two fibers of one thread, with more between two threads of which each
// runs only its main fiber.
#pragma once

#include <algorithm>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/unbuffered_channel.hpp>
#include <thread>

#include "../boost_version.hpp"
#include "flow.hpp"

namespace bench {

class FiberRendezvous : public boost::fibers::unbuffered_channel<std::uint64_t> {
 public:
  explicit FiberRendezvous(std::size_t /*capacity*/) {}
};

// The size must be a power of two, and one slot always stays empty.
class FiberBuffer : public boost::fibers::buffered_channel<std::uint64_t> {
 public:
  explicit FiberBuffer(std::size_t capacity)
      : buffered_channel(std::max<std::size_t>(2, capacity)) {}
};

template <typename Channel>
class BoostFiberChannels {
 public:
  explicit BoostFiberChannels(const FlowShape& shape)
      : workers_(shape.workers), channel_(shape.capacity) {}

  void run(Flow& flow) {
    const auto receive = [&] {
      std::uint64_t item = 0;
      while (channel_.pop(item) == boost::fibers::channel_op_status::success) {
        flow.receiver.add(item);
      }
    };
    const auto send = [&] {
      while (const auto item = flow.senders[0].next()) channel_.push(*item);
      channel_.close();
    };
    if (workers_ == 1) {
      boost::fibers::fiber receiver{receive};
      boost::fibers::fiber sender{send};
      sender.join();
      receiver.join();
    } else {
      const std::jthread receiver{receive};
      const std::jthread sender{send};
    }
  }

  static std::string version() { return boost_version(); }

 private:
  const std::size_t workers_;
  Channel channel_;
};

}  // namespace bench
