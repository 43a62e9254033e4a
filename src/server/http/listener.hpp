// Accepts connections and deals them to the threads, one after the other: so that few connections are spread as evenly as many.
#pragma once

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "server/http/io_thread.hpp"
#include "server/http/shared.hpp"

namespace handoff::server {

class Listener {
 public:
  using Threads = std::vector<std::unique_ptr<IoThread>>;

  // Lives on the first of the threads. Throws std::runtime_error if it cannot listen.
  Listener(Shared& shared, Threads& threads);

  std::uint16_t port() const { return port_; }
  void start();
  // On its thread.
  void close();

 private:
  using Endpoint = boost::asio::ip::tcp::endpoint;

  Await<> accept_all();
  Await<> back_off(const boost::system::error_code& error);
  void deal(IoThread& thread, Socket socket, const Endpoint& peer);

  Shared& shared_;
  Threads& threads_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Io> acceptor_;
  std::uint16_t port_ = 0;
  std::size_t next_ = 0;
  std::uint64_t failures_ = 0;  // In a row.
};

}  // namespace handoff::server
