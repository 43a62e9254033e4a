// Boost.Asio: two awaitables on an io_context of one thread that post themselves; and an awaited awaitable.
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "../support/boost_version.hpp"
#include "workload.hpp"

namespace {

namespace asio = boost::asio;

asio::awaitable<void> take_half(bench::Turns& turns, int who) {
  for (std::uint64_t i = 0; i < turns.each(); ++i) {
    turns.take(who);
    co_await asio::post(asio::use_awaitable);
  }
}

asio::awaitable<std::uint64_t> give(std::uint64_t number) { co_return number; }

asio::awaitable<void> add_up(std::uint64_t count, std::uint64_t& sum) {
  for (std::uint64_t number = 1; number <= count; ++number) sum += co_await give(number);
}

class AsioSwitching {
 public:
  void take_turns(bench::Turns& turns) {
    asio::co_spawn(context_, take_half(turns, 0), asio::detached);
    asio::co_spawn(context_, take_half(turns, 1), asio::detached);
    context_.run();
  }

  std::uint64_t call(std::uint64_t count) {
    std::uint64_t sum = 0;
    asio::co_spawn(context_, add_up(count, sum), asio::detached);
    context_.run();
    return sum;
  }

  static std::string version() { return bench::boost_version(); }

 private:
  asio::io_context context_{1};
};

}  // namespace

int main(int argc, char** argv) { return bench::coroutine_switch<AsioSwitching>(argc, argv); }
