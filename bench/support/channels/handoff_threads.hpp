// handoff::Channel between two threads.
#pragma once

#include <handoff/channel.hpp>
#include <thread>
#include <utility>

#include "flow.hpp"

namespace bench {

class HandoffThreadChannels {
 public:
  explicit HandoffThreadChannels(const FlowShape& shape) : channel_{shape.capacity} {}

  void run(Flow& flow) {
    const std::jthread receiver{[&] {
      while (auto item = channel_.receive()) flow.receiver.add(*item);
    }};
    const std::jthread sender{[&] {
      while (auto item = flow.senders[0].next()) {
        if (!channel_.send(std::move(*item))) break;
      }
      channel_.close();
    }};
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::Channel<std::uint64_t> channel_;
};

}  // namespace bench
