// A server with one thread: an event loop of Boost.Asio, which speaks in lines with everybody at once.
//
//   ping 7             pong 7
//   hash 20000000 x    hash 6bf1c0d2a1b3c4d5, or "busy" if the pool is full. So many rounds are work for the processor.
//
// Where the work is done makes the difference: on the loop, where everybody waits meanwhile, or on a pool.
#pragma once

#include <atomic>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "handoff/pool.hpp"

namespace event_loop {

enum class Where : std::uint8_t { on_pool, on_loop };

// Each round needs the result of the one before: nothing but time makes it faster.
std::uint64_t hash(std::uint64_t rounds, std::string_view text);

class Server {
 public:
  Server(Where where, std::size_t workers);
  // Ends when the last client has gone.
  ~Server();

  std::uint16_t port() const { return port_; }

  // Facts about the past, whatever the machine: pings that were answered while a hash was being computed.
  std::uint64_t pings_during_work() const { return pings_during_work_; }
  std::uint64_t pings() const { return pings_; }
  std::uint64_t hashes() const { return hashes_; }

 private:
  using Tcp = boost::asio::ip::tcp;
  template <typename T = void>
  using Awaitable = boost::asio::awaitable<T>;

  Awaitable<> accept_all();
  Awaitable<> serve(Tcp::socket client);
  Awaitable<std::string> answer(std::string line);
  Awaitable<std::string> hash_on_pool(std::uint64_t rounds, std::string text);
  std::string pong(std::string_view rest);
  std::string compute(std::uint64_t rounds, std::string_view text);

  const Where where_;
  boost::asio::io_context io_{1};
  Tcp::acceptor acceptor_;
  const std::uint16_t port_;
  std::atomic<std::uint64_t> working_ = 0;  // Hashes that are being computed.
  std::atomic<std::uint64_t> pings_during_work_ = 0;
  std::atomic<std::uint64_t> pings_ = 0;
  std::atomic<std::uint64_t> hashes_ = 0;
  handoff::WorkerPool pool_;  // Its jobs use the others.
  std::thread loop_;
};

}  // namespace event_loop
