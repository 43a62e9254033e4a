// One thread of the server, and the connections that live on it. Nothing here is locked: all but the counters is the thread's own.
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "handoff/thread.hpp"
#include "server/http/shared.hpp"

namespace handoff::server {

using Io = boost::asio::io_context::executor_type;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Io>;
template <typename T = void>
using Await = boost::asio::awaitable<T, Io>;

inline constexpr boost::asio::use_awaitable_t<Io> use_await{};
// The error comes first in the tuple, instead of as an exception.
inline constexpr boost::asio::as_tuple_t<boost::asio::use_awaitable_t<Io>> await_tuple{use_await};

class Connection;

// Written by one thread, read by any.
class Count {
 public:
  void add(std::uint64_t amount) {
    // Nobody else writes it, and nothing is published with it.
    value_.store(value_.load(detail::relaxed) + amount, detail::relaxed);
  }
  std::uint64_t get() const { return value_.load(detail::relaxed); }

 private:
  detail::atomic<std::uint64_t> value_{0};
};

class IoThread {
 public:
  explicit IoThread(Shared& shared);
  // Ends what is left on it; nobody may be running it.
  ~IoThread();

  // Any thread.
  void start();
  void join();
  boost::asio::io_context& io() { return io_; }
  struct Counts {
    Count requests;
    Count bytes_received;
    Count bytes_sent;
  };
  const Counts& counts() const { return counts_; }

  // The rest: its own thread.
  Counts& counts() { return counts_; }
  void add(Connection& connection);
  void remove(Connection& connection);

  // Time in coarse steps, which costs nothing to look at. It stands still while there are no connections.
  std::uint64_t tick() const { return tick_; }
  std::uint64_t ticks(std::chrono::milliseconds time) const;
  std::string_view date() const { return date_; }
  // For the making of answers. Whoever waits in between takes it away.
  std::string& scratch() { return scratch_; }
  // False if there were many lines lately.
  bool may_log() { return ++lines_ <= most_lines; }

  void begin_closing();
  bool is_closing() const { return is_closing_; }
  void cut_all();

 private:
  static constexpr int most_lines = 10;  // Between two ticks.

  void run();
  void tick_soon();
  void on_tick();

  Shared& shared_;
  Counts counts_;
  std::vector<Connection*> connections_;
  std::string scratch_;
  std::string date_;
  std::uint64_t tick_ = 1;
  int lines_ = 0;
  bool is_closing_ = false;
  bool is_ticking_ = false;
  const std::chrono::milliseconds interval_;

  boost::asio::io_context io_{1};  // Runs on one thread: then most of what it does needs no lock.
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Io>
      timer_;
  std::optional<boost::asio::executor_work_guard<Io>> work_;
  Thread thread_;
};

}  // namespace handoff::server
