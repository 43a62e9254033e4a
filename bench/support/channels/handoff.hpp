// handoff::Channel between coroutines on one handoff::WorkerPool.
#pragma once

#include <handoff/channel.hpp>
#include <handoff/lazy.hpp>
#include <handoff/pool.hpp>
#include <handoff/scope.hpp>
#include <stdexcept>
#include <utility>

#include "flow.hpp"

namespace bench {

using HandoffChannel = handoff::Channel<std::uint64_t>;

inline handoff::Lazy<> send_all(HandoffChannel& channel, ItemSender& sender) {
  while (auto item = sender.next()) {
    if (!co_await channel.async_send(std::move(*item))) co_return;
  }
}

inline handoff::Lazy<> send_all_and_close(HandoffChannel& channel, ItemSender& sender) {
  co_await send_all(channel, sender);
  channel.close();
}

inline handoff::Lazy<> receive_all(HandoffChannel& channel, ItemReceiver& receiver) {
  while (auto item = co_await channel.async_receive()) receiver.add(*item);
}

inline void spawn_into(handoff::Scope& scope, handoff::WorkerPool& pool, handoff::Lazy<> lazy) {
  if (!scope.spawn(pool, std::move(lazy))) {
    throw std::runtime_error("the pool refused a coroutine");
  }
}

class HandoffChannels {
 public:
  explicit HandoffChannels(const FlowShape& shape)
      : pool_{{.workers = shape.workers, .capacity = 1024, .name = "bench"}},
        channel_{shape.capacity} {}

  void run(Flow& flow) {
    handoff::Scope scope;
    spawn_into(scope, pool_, receive_all(channel_, flow.receiver));
    spawn_into(scope, pool_, send_all_and_close(channel_, flow.senders[0]));
    static_cast<void>(scope.join());
  }

  static std::string version() { return "this commit"; }

 private:
  handoff::WorkerPool pool_;
  HandoffChannel channel_;
};

}  // namespace bench
