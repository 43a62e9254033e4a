// Boost.Asio: concurrent_channel::async_receive() in awaitables on a thread_pool.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>
#include <stdexcept>

#include "../support/boost_version.hpp"
#include "workload.hpp"

namespace {

namespace asio = boost::asio;
using Channel =
    asio::experimental::concurrent_channel<void(boost::system::error_code, std::uint64_t)>;

asio::awaitable<void> take_one(Channel& channel) {
  bench::JobCounts::mine().add_spawned(1);
  bench::JobCounts::mine().add_job(co_await channel.async_receive(asio::use_awaitable));
}

class Waiting {
 public:
  static constexpr bool is_stackless = true;

  Waiting(std::size_t workers, std::uint64_t coroutines)
      : coroutines_(coroutines), pool_{workers}, channel_{pool_, 0} {}

  void start() {
    for (std::uint64_t i = 0; i < coroutines_; ++i) {
      asio::co_spawn(pool_, take_one(channel_), asio::detached);
    }
  }

  void finish() {
    for (std::uint64_t item = 1; item <= coroutines_; ++item) {
      if (!channel_.try_send(boost::system::error_code{}, item)) {
        throw std::runtime_error("nobody waits for an item");
      }
    }
    pool_.join();
  }

  static std::string version() { return bench::boost_version(); }

 private:
  const std::uint64_t coroutines_;
  asio::thread_pool pool_;
  Channel channel_;
};

}  // namespace

int main(int argc, char** argv) { return bench::coroutine_memory<Waiting>(argc, argv); }
