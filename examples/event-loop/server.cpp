#include "server.hpp"

#include <fmt/core.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/system/error_code.hpp>
#include <charconv>
#include <exception>
#include <utility>

#include "handoff/asio.hpp"
#include "handoff/offload.hpp"
#include "handoff/waits.hpp"

namespace event_loop {

namespace asio = boost::asio;

namespace {
constexpr std::size_t longest_line = 1'000;
constexpr auto as_result = asio::as_tuple(asio::use_awaitable);  // Errors as values.

void rethrow(const std::exception_ptr& error) {
  if (error) std::rethrow_exception(error);
}
}  // namespace

std::uint64_t hash(std::uint64_t rounds, std::string_view text) {
  std::uint64_t state = 14695981039346656037ULL;
  for (const char each : text)
    state = (state ^ static_cast<unsigned char>(each)) * 1099511628211ULL;
  for (std::uint64_t i = 0; i < rounds; ++i) {
    state = (state ^ (state >> 31)) * 0x9e3779b97f4a7c15ULL;
  }
  return state;
}

Server::Server(Where where, std::size_t workers)
    : where_(where),
      acceptor_(io_, Tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      port_(acceptor_.local_endpoint().port()),
      // Rejects rather than waits: the loop must never wait.
      pool_({.workers = workers,
             .capacity = 16,
             .when_full = handoff::WhenFull::reject,
             .name = "hashes"}) {
  asio::co_spawn(io_, accept_all(), rethrow);
  loop_ = std::thread([this] {
    handoff::name_this_thread("event loop");
    io_.run();
  });
}

Server::~Server() {
  asio::post(io_, [this] { acceptor_.close(); });
  loop_.join();  // The loop has nothing more to do once the clients are gone.
}

Server::Awaitable<> Server::accept_all() {
  while (true) {
    auto [error, client] = co_await acceptor_.async_accept(as_result);
    if (error == asio::error::operation_aborted) co_return;
    if (!error) asio::co_spawn(io_, serve(std::move(client)), rethrow);
  }
}

Server::Awaitable<> Server::serve(Tcp::socket client) {
  boost::system::error_code ignored;
  client.set_option(Tcp::no_delay(true), ignored);  // Answers do not wait for company.
  std::string received;
  while (true) {
    auto [error, size] = co_await asio::async_read_until(
        client, asio::dynamic_buffer(received, longest_line), '\n', as_result);
    if (error) co_return;  // It has gone, or its line is too long.
    auto line = received.substr(0, size - 1);
    received.erase(0, size);

    const std::string told = co_await answer(std::move(line)) + '\n';
    auto [not_sent, sent] = co_await asio::async_write(client, asio::buffer(told), as_result);
    if (not_sent) co_return;
  }
}

Server::Awaitable<std::string> Server::answer(std::string line) {
  if (line.starts_with("ping ")) co_return pong(std::string_view(line).substr(5));
  const auto text = line.find(' ', 5);
  if (!line.starts_with("hash ") || text == std::string::npos) co_return std::string("what?");

  std::uint64_t rounds = 0;
  const auto read = std::from_chars(line.data() + 5, line.data() + text, rounds);
  if (read.ec != std::errc() || read.ptr != line.data() + text) co_return std::string("what?");
  if (where_ == Where::on_loop) co_return compute(rounds, line.substr(text + 1));
  co_return co_await hash_on_pool(rounds, line.substr(text + 1));
}

// The loop goes on with the others, and comes back to this client when the result is there.
Server::Awaitable<std::string> Server::hash_on_pool(std::uint64_t rounds, std::string text) {
  auto work = [this, rounds, text] { return compute(rounds, text); };
  auto offloaded = handoff::offload(pool_, work);
  if (!offloaded) co_return std::string("busy");
  auto result = co_await handoff::in_asio(*offloaded);
  co_return result ? *result : std::string("busy");
}

std::string Server::pong(std::string_view rest) {
  ++pings_;
  if (working_ > 0) ++pings_during_work_;
  return fmt::format("pong {}", rest);
}

std::string Server::compute(std::uint64_t rounds, std::string_view text) {
  ++working_;
  const auto result = hash(rounds, text);
  --working_;
  ++hashes_;
  return fmt::format("hash {:016x}", result);
}

}  // namespace event_loop
