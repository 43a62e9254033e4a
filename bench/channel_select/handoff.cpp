// handoff::async_select in a coroutine, fed by coroutines.
#include "../support/channels/handoff.hpp"

#include <handoff/select.hpp>

#include "workload.hpp"

namespace {

using Channels = bench::SelectedChannels<bench::HandoffChannel>;

handoff::Lazy<> send_and_end(Channels& channels, std::size_t index, bench::ItemSender& sender) {
  co_await bench::send_all(channels[index], sender);
  channels.sender_ends();
}

handoff::Lazy<> select_all(Channels& channels, bench::ItemReceiver& receiver) {
  const auto take = [&receiver](std::uint64_t item) { receiver.add(item); };
  while (co_await handoff::async_select(channels[0].on_receive(take), channels[1].on_receive(take),
                                        channels[2].on_receive(take),
                                        channels[3].on_receive(take))) {
  }
  for (auto& channel : channels) co_await bench::receive_all(channel, receiver);
}

class HandoffSelect {
 public:
  explicit HandoffSelect(const bench::FlowShape& shape)
      : pool_{{.workers = shape.workers, .capacity = 1024, .name = "bench"}},
        channels_{shape.capacity} {}

  void run(bench::Flow& flow) {
    handoff::Scope scope;
    bench::spawn_into(scope, pool_, select_all(channels_, flow.receiver));
    for (std::size_t i = 0; i < flow.senders.size(); ++i) {
      bench::spawn_into(scope, pool_, send_and_end(channels_, i, flow.senders[i]));
    }
    static_cast<void>(scope.join());
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::WorkerPool pool_;
  Channels channels_;
};

}  // namespace

int main(int argc, char** argv) { return bench::channel_select<HandoffSelect>(argc, argv); }
