// handoff::select on a thread, fed by threads.
#include <handoff/channel.hpp>
#include <handoff/select.hpp>
#include <thread>
#include <utility>
#include <vector>

#include "workload.hpp"

namespace {

class HandoffThreadSelect {
 public:
  explicit HandoffThreadSelect(const bench::FlowShape& shape) : channels_{shape.capacity} {}

  void run(bench::Flow& flow) {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { select_all(flow.receiver); });
    for (std::size_t i = 0; i < flow.senders.size(); ++i) {
      threads.emplace_back([&, i] {
        while (auto item = flow.senders[i].next()) {
          if (!channels_[i].send(std::move(*item))) break;
        }
        channels_.sender_ends();
      });
    }
  }

  static std::string version() { return "this commit"; }

 private:
  void select_all(bench::ItemReceiver& receiver) {
    const auto take = [&receiver](std::uint64_t item) { receiver.add(item); };
    while (handoff::select(channels_[0].on_receive(take), channels_[1].on_receive(take),
                           channels_[2].on_receive(take), channels_[3].on_receive(take))) {
    }
    for (auto& channel : channels_) {
      while (auto item = channel.receive()) receiver.add(*item);
    }
  }

  bench::SelectedChannels<handoff::Channel<std::uint64_t>> channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::channel_select<HandoffThreadSelect>(argc, argv); }
