// Boost.Asio awaitables on a thread_pool. There is no scope: the pool is joined. In skynet a child sends its number to its
// parent over a concurrent_channel.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/concurrent_channel.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/error_code.hpp>

#include "../support/boost_version.hpp"
#include "workload.hpp"

namespace {

namespace asio = boost::asio;
using Sums = asio::experimental::concurrent_channel<void(boost::system::error_code, std::uint64_t)>;

asio::awaitable<void> count_itself() {
  bench::JobCounts::mine().add_job();
  co_return;
}

asio::awaitable<void> spawn_all(std::uint64_t count) {
  const auto executor = co_await asio::this_coro::executor;
  for (std::uint64_t i = 0; i < count; ++i)
    asio::co_spawn(executor, count_itself(), asio::detached);
}

asio::awaitable<void> node(Sums& parent, std::uint64_t first, std::uint64_t leaves) {
  std::uint64_t sum = 0;
  if (leaves == 1) {
    sum = first;
  } else {
    const auto executor = co_await asio::this_coro::executor;
    Sums sums{executor, bench::skynet_children};
    const std::uint64_t each = leaves / bench::skynet_children;
    for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
      asio::co_spawn(executor, node(sums, first + i * each, each), asio::detached);
    }
    for (std::uint64_t i = 0; i < bench::skynet_children; ++i) {
      sum += co_await sums.async_receive(asio::use_awaitable);
    }
  }
  parent.try_send(boost::system::error_code{}, sum);  // There is room for all children.
}

asio::awaitable<void> root(std::uint64_t leaves, std::uint64_t& result) {
  const auto executor = co_await asio::this_coro::executor;
  Sums sums{executor, 1};
  asio::co_spawn(executor, node(sums, 0, leaves), asio::detached);
  result = co_await sums.async_receive(asio::use_awaitable);
}

class AsioAwaitables {
 public:
  explicit AsioAwaitables(std::size_t workers) : pool_{workers} {}

  void spawn_and_join(std::uint64_t count) {
    asio::co_spawn(pool_, spawn_all(count), asio::detached);
    pool_.join();
  }

  std::uint64_t skynet(std::uint64_t leaves) {
    std::uint64_t result = 0;
    asio::co_spawn(pool_, root(leaves, result), asio::detached);
    pool_.join();
    return result;
  }

  static std::string version() { return bench::boost_version(); }

 private:
  asio::thread_pool pool_;
};

}  // namespace

int main(int argc, char** argv) { return bench::spawn_join<AsioAwaitables>(argc, argv); }
