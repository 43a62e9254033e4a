// Boost.Asio: a parallel_group of four receives that waits for the first. It is no select: receives that complete before
// the others are cancelled take an item too. So all results are looked at; operator|| would lose those items.
#include <array>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>

#include "../support/channels/asio.hpp"
#include "workload.hpp"

namespace {

namespace asio = boost::asio;

template <typename Channel>
asio::awaitable<void> select_all(bench::SelectedChannels<Channel>& channels,
                                 bench::ItemReceiver& receiver) {
  namespace experimental = asio::experimental;
  std::array<bool, bench::select_channels> has_ended{};
  while (!has_ended[0] && !has_ended[1] && !has_ended[2] && !has_ended[3]) {
    auto group = experimental::make_parallel_group(
        channels[0].async_receive(asio::deferred), channels[1].async_receive(asio::deferred),
        channels[2].async_receive(asio::deferred), channels[3].async_receive(asio::deferred));
    const auto [order, e0, i0, e1, i1, e2, i2, e3, i3] =
        co_await group.async_wait(experimental::wait_for_one(), asio::use_awaitable);
    const std::array errors{e0, e1, e2, e3};
    const std::array items{i0, i1, i2, i3};
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (!errors[i]) receiver.add(items[i]);
      if (errors[i] == asio::error::eof) has_ended[i] = true;
    }
  }
  for (std::size_t i = 0; i < has_ended.size(); ++i) {
    if (!has_ended[i]) co_await bench::asio_receive_all(channels[i], receiver);
  }
}

class AsioSelect {
 public:
  explicit AsioSelect(const bench::FlowShape& shape) : shape_(shape) {}

  void run(bench::Flow& flow) {
    if (shape_.workers == 1) {
      asio::io_context context{1};
      bench::SelectedChannels<bench::AsioChannel> channels{context.get_executor(), shape_.capacity};
      spawn_all(context, channels, flow);
      context.run();
    } else {
      asio::thread_pool pool{shape_.workers};
      bench::SelectedChannels<bench::AsioConcurrentChannel> channels{pool.get_executor(),
                                                                     shape_.capacity};
      spawn_all(pool, channels, flow);
      pool.join();
    }
  }

  static std::string version() { return bench::boost_version(); }

 private:
  template <typename Context, typename Channels>
  static void spawn_all(Context& context, Channels& channels, bench::Flow& flow) {
    asio::co_spawn(context, select_all(channels, flow.receiver), asio::detached);
    for (std::size_t i = 0; i < flow.senders.size(); ++i) {
      asio::co_spawn(context, bench::asio_send_all(channels[i], flow.senders[i]), asio::detached);
    }
  }

  const bench::FlowShape shape_;
};

}  // namespace

int main(int argc, char** argv) { return bench::channel_select<AsioSelect>(argc, argv); }
