// The clients: one sends a ping every few milliseconds, and some want hashes, one after the other.
//
// Pings are sent when they are due, answered or not: a client that waited for its answer would ask seldom just when the
// server is frozen, and its times would look good.
#pragma once

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"

namespace event_loop {

// A connection that waits on the calling thread.
class Connection {
 public:
  explicit Connection(std::uint16_t port);
  void send(std::string_view line);
  // Empty if the server has hung up.
  std::string receive();

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  std::string received_;
};

struct Pings {
  std::uint64_t sent = 0;
  std::vector<handoff::Duration> took;  // From the moment each was due until its answer.
};

// Sends pings until it is stopped, and then waits for the answers that are due.
Pings send_pings(std::uint16_t port, handoff::Duration period, const std::stop_token& stop);

struct Hashes {
  std::uint64_t sent = 0;
  std::uint64_t right = 0;
  std::uint64_t busy = 0;  // Told to come again.
};

Hashes send_hashes(std::uint16_t port, std::uint64_t rounds, const std::stop_token& stop);

}  // namespace event_loop
