#include "server/http/listener.hpp"

#include <fmt/format.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/socket_base.hpp>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "server/http/connection.hpp"

namespace handoff::server {

namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr auto pause_without_files = std::chrono::milliseconds(100);
constexpr std::uint64_t failures_per_line = 300;  // About half a minute.

std::string_view what_to_do(const error_code& error) {
  using namespace boost::asio::error;
  if (error == address_in_use) return "stop the program that uses it, or choose another port";
  if (error == access_denied) return "ports below 1024 need special rights; choose another port";
  if (error == boost::system::errc::address_not_available)
    return "this machine has no such address";
  return "choose another address or port";
}

[[noreturn]] void fail(const HttpOptions& options, const error_code& error) {
  throw std::runtime_error(fmt::format("cannot listen on {} port {}: {}; {}", options.address,
                                       options.port, error.message(), what_to_do(error)));
}

tcp::endpoint endpoint_of(const HttpOptions& options) {
  error_code error;
  const auto address = boost::asio::ip::make_address(
      options.address == "localhost" ? "127.0.0.1" : options.address, error);
  if (!error) return {address, options.port};
  throw std::invalid_argument(fmt::format(
      "\"{}\" is no IP address to listen on; for example 127.0.0.1 or 0.0.0.0", options.address));
}

std::string address_of(const tcp::endpoint& peer) { return peer.address().to_string(); }

// It is destroyed when it has ended, or with the thread.
void spawn(Shared& shared, IoThread& thread, std::unique_ptr<Connection> connection) {
  auto running = connection->run();
  auto ended = [&shared, owner = std::move(connection)](const std::exception_ptr& thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      shared.log(LogLevel::error, std::string("http: a connection failed: ") + error.what());
    }
  };
  boost::asio::co_spawn(thread.io().get_executor(), std::move(running), std::move(ended));
}

}  // namespace

Listener::Listener(Shared& shared, Threads& threads)
    : shared_(shared), threads_(threads), acceptor_(threads.front()->io().get_executor()) {
  const auto endpoint = endpoint_of(shared.options);
  error_code error;
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(boost::asio::socket_base::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  if (!error) acceptor_.listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) fail(shared.options, error);
  port_ = acceptor_.local_endpoint().port();
}

void Listener::start() {
  boost::asio::co_spawn(acceptor_.get_executor(), accept_all(), boost::asio::detached);
}

void Listener::close() {
  error_code ignored;
  acceptor_.close(ignored);
}

Await<> Listener::accept_all() {
  while (acceptor_.is_open()) {
    IoThread& thread = *threads_[next_ % threads_.size()];
    Socket socket(thread.io().get_executor());
    Endpoint peer;
    const auto [error] = co_await acceptor_.async_accept(socket, peer, await_tuple);
    if (!acceptor_.is_open()) break;
    if (error) {
      co_await back_off(error);
    } else {
      failures_ = 0;
      ++next_;
      deal(thread, std::move(socket), peer);
    }
  }
}

// Most often there are no files left, and it helps to wait until some connections end. Those who come meanwhile wait as well.
Await<> Listener::back_off(const error_code& error) {
  if (error == boost::asio::error::connection_aborted) co_return;
  if (failures_++ % failures_per_line == 0) {
    shared_.log(LogLevel::warning,
                "http: cannot accept a connection, will try again: " + error.message());
  }
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Io>
      pause(acceptor_.get_executor(), pause_without_files);
  const auto [ignored] = co_await pause.async_wait(await_tuple);
  static_cast<void>(ignored);
}

void Listener::deal(IoThread& thread, Socket socket, const Endpoint& peer) {
  const auto admission = shared_.admit();
  if (admission == Shared::Admission::drop) return;
  const bool is_surplus = admission == Shared::Admission::refuse;
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  auto begin = [this, &thread, is_surplus, given = std::move(socket),
                from = address_of(peer)]() mutable {
    spawn(shared_, thread,
          std::make_unique<Connection>(shared_, thread, std::move(given), std::move(from),
                                       is_surplus));
  };
  boost::asio::post(thread.io().get_executor(), std::move(begin));
}

}  // namespace handoff::server
