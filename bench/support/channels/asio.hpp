// Boost.Asio's experimental channels between awaitables: with one worker a channel on an io_context of one thread, with
// more a concurrent_channel on a thread_pool. Closing one discards what it holds, so its end is marked by an error that is
// sent like an item.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include "../boost_version.hpp"
#include "flow.hpp"

namespace bench {

using AsioItem = void(boost::system::error_code, std::uint64_t);
using AsioChannel = boost::asio::experimental::channel<AsioItem>;
using AsioConcurrentChannel = boost::asio::experimental::concurrent_channel<AsioItem>;

template <typename Channel>
boost::asio::awaitable<void> asio_send_all(Channel& channel, ItemSender& sender) {
  while (const auto item = sender.next()) {
    co_await channel.async_send(boost::system::error_code{}, *item, boost::asio::use_awaitable);
  }
  const boost::system::error_code end = boost::asio::error::eof;
  co_await channel.async_send(end, 0, boost::asio::use_awaitable);
}

template <typename Channel>
boost::asio::awaitable<void> asio_receive_all(Channel& channel, ItemReceiver& receiver) {
  for (;;) {
    const auto [error, item] =
        co_await channel.async_receive(boost::asio::as_tuple(boost::asio::use_awaitable));
    if (error) co_return;
    receiver.add(item);
  }
}

class AsioChannels {
 public:
  explicit AsioChannels(const FlowShape& shape) : shape_(shape) {}

  void run(Flow& flow) {
    if (shape_.workers == 1) {
      boost::asio::io_context context{1};
      AsioChannel channel{context, shape_.capacity};
      spawn_both(context, channel, flow);
      context.run();
    } else {
      boost::asio::thread_pool pool{shape_.workers};
      AsioConcurrentChannel channel{pool, shape_.capacity};
      spawn_both(pool, channel, flow);
      pool.join();
    }
  }

  static std::string version() { return boost_version(); }

 private:
  template <typename Context, typename Channel>
  static void spawn_both(Context& context, Channel& channel, Flow& flow) {
    using boost::asio::co_spawn;
    using boost::asio::detached;
    co_spawn(context, asio_receive_all(channel, flow.receiver), detached);
    co_spawn(context, asio_send_all(channel, flow.senders[0]), detached);
  }

  const FlowShape shape_;
};

}  // namespace bench
