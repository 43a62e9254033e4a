// All of Boost.Beast is in this file: it takes its time to compile.
#include "server.hpp"

#include <fmt/core.h>

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <chrono>
#include <exception>
#include <string_view>
#include <thread>
#include <utility>

#include "handoff/asio.hpp"
#include "handoff/event.hpp"
#include "handoff/waits.hpp"
#include "page.hpp"
#include "session.hpp"

namespace chat {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace websocket = beast::websocket;
using Tcp = asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);  // Errors as values.
constexpr std::size_t largest_request = 8'192;
constexpr std::size_t enough_for_a_write = 16'384;
constexpr auto time_for_request = 10s;
constexpr auto longest_silence = 60s;    // Then the client is asked whether it is there.
constexpr int bytes_in_kernel = 65'536;  // Of what waits to be sent to one client.

using Request = http::request<http::empty_body>;
// Without compression: that would cost some hundred kilobytes a client.
using Stream = websocket::stream<Tcp::socket, false>;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

// A whole answer, after which we hang up. Nothing but what comes from here may be part of the page, and no script that is
// in the page itself: whatever somebody may smuggle in does not run.
std::string response(std::string_view status, std::string_view type, std::string_view text) {
  return fmt::format(
      "HTTP/1.1 {}\r\n"
      "Content-Type: {}\r\n"
      "Content-Length: {}\r\n"
      "Connection: close\r\n"
      "Cache-Control: no-store\r\n"
      "X-Content-Type-Options: nosniff\r\n"
      "X-Frame-Options: DENY\r\n"
      "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
      "\r\n{}",
      status, type, text.size(), text);
}

void break_off(Stream& stream) {
  boost::system::error_code ignored;
  stream.next_layer().close(ignored);
}

websocket::close_reason reason_of(Goodbye why) {
  switch (why) {
    case Goodbye::going_away: return {websocket::close_code::going_away, "the server is ending"};
    case Goodbye::not_wanted: return {websocket::close_code::policy_error, "you did not log in"};
    case Goodbye::too_slow: return {websocket::close_code::policy_error, "you are too slow"};
  }
  return {};
}

}  // namespace

class Server::Loop {
 public:
  Loop(const ServerOptions& options, std::shared_ptr<Counts> counts, MakeSession make_session)
      : options_(options),
        counts_(std::move(counts)),
        make_session_(std::move(make_session)),
        acceptor_(*io_, Tcp::endpoint(asio::ip::make_address(options.address), options.port)),
        port_(acceptor_.local_endpoint().port()) {
    asio::co_spawn(*io_, accept_all(), &report);
    thread_ = std::thread([this] {
      handoff::name_this_thread("event loop");
      io_->run();
      is_over_.set();
    });
  }
  ~Loop() { end(handoff::Duration::zero()); }

  std::uint16_t port() const { return port_; }

  void stop_listening() {
    asio::post(*io_, [this] {
      boost::system::error_code ignored;
      acceptor_.close(ignored);
    });
  }

  void end(handoff::Duration patience) {
    if (!thread_.joinable()) return;
    stop_listening();
    // The loop has nothing more to do once the clients are gone.
    if (!is_over_.wait({.deadline = handoff::within(patience)})) io_->stop();
    thread_.join();
  }

 private:
  template <typename T = void>
  using Awaitable = asio::awaitable<T>;

  // What a client's coroutine throws, such as bad_alloc, ends that client.
  static void report(const std::exception_ptr& error) {
    if (!error) return;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& thrown) {
      fmt::print(stderr, "chat: a connection failed: {}\n", thrown.what());
    }
  }

  Awaitable<> accept_all() {
    asio::steady_timer pause(*io_);
    while (acceptor_.is_open()) {
      auto [error, socket] = co_await acceptor_.async_accept(as_result);
      if (!error) {
        asio::co_spawn(*io_, serve(std::move(socket)), &report);
      } else if (acceptor_.is_open()) {  // Too many open files, as a rule.
        pause.expires_after(50ms);
        auto [ended] = co_await pause.async_wait(as_result);
        static_cast<void>(ended);
      }
    }
  }

  // Whether the browser meant us, and not a name that somebody has made point here.
  bool is_ours(std::string_view host) const {
    const auto is = [&](std::string_view name) {
      return host == fmt::format("{}:{}", name, port_);
    };
    return is("localhost") || is("127.0.0.1") || is(options_.host) || host == options_.host;
  }
  // Whether a page of ours has opened the WebSocket: browsers say whose it was. Who is no browser may say nothing.
  bool is_from_us(const Request& request) const {
    const auto origin = request.find(http::field::origin);
    if (origin == request.end()) return true;
    const auto text = view(origin->value());
    constexpr std::string_view scheme = "http://";
    return text.starts_with(scheme) &&
           text.substr(scheme.size()) == view(request[http::field::host]);
  }

  // A connection that is closed if it takes too long. Shared with the timer, which may be late.
  std::shared_ptr<Tcp::socket> limited(Tcp::socket&& socket, asio::steady_timer& timer) {
    auto shared = std::make_shared<Tcp::socket>(std::move(socket));
    timer.expires_after(time_for_request);
    timer.async_wait([weak = std::weak_ptr(shared)](boost::system::error_code cancelled) {
      boost::system::error_code ignored;
      const auto alive = weak.lock();
      if (alive && !cancelled) alive->close(ignored);
    });
    return shared;
  }

  Awaitable<> serve(Tcp::socket connection) {
    boost::system::error_code ignored;
    connection.set_option(Tcp::no_delay(true), ignored);
    connection.set_option(asio::socket_base::send_buffer_size(bytes_in_kernel), ignored);
    asio::steady_timer timer(*io_);
    const auto socket = limited(std::move(connection), timer);
    std::string received;
    auto [error, size] = co_await asio::async_read_until(
        *socket, asio::dynamic_buffer(received, largest_request), "\r\n\r\n", as_result);
    if (error) co_return;
    http::request_parser<http::empty_body> parser;
    parser.put(asio::buffer(received, size), error);
    if (error || !parser.is_header_done()) co_return;

    const Request request = parser.release();
    if (is_wanted_chat(request)) {
      timer.cancel();
      co_await chat_with(std::move(*socket), request);
      co_return;
    }
    const std::string answer = answer_to(request);
    auto [not_sent, sent] = co_await asio::async_write(*socket, asio::buffer(answer), as_result);
    if (!not_sent) socket->shutdown(Tcp::socket::shutdown_send, ignored);
  }

  bool is_wanted_chat(const Request& request) const {
    return websocket::is_upgrade(request) && view(request.target()) == "/chat" &&
           is_ours(view(request[http::field::host])) && is_from_us(request) &&
           counts_->clients < options_.most_clients;
  }

  std::string answer_to(const Request& request) const {
    const auto plain = [](std::string_view status, std::string_view text) {
      return response(status, "text/plain", text);
    };
    if (!is_ours(view(request[http::field::host]))) {
      return plain("403 Forbidden", "We are not called so.\n");
    }
    if (websocket::is_upgrade(request)) {
      if (!is_from_us(request)) return plain("403 Forbidden", "Not from that page.\n");
      if (view(request.target()) != "/chat") return plain("404 Not Found", "Not here.\n");
      return plain("503 Service Unavailable", "There are too many.\n");
    }
    if (request.method() != http::verb::get) {
      return plain("405 Method Not Allowed", "GET, please.\n");
    }
    const auto file = page::find(view(request.target()));
    return file ? response("200 OK", file->type, file->text)
                : plain("404 Not Found", "Not here.\n");
  }

  // -- One client ---------------------------------------------------------------------------------

  Awaitable<> chat_with(Tcp::socket connection, const Request& request) {
    const CountedIn counted(counts_);
    const auto stream = std::make_shared<Stream>(std::move(connection));
    stream->set_option(websocket::stream_base::timeout{.handshake_timeout = time_for_request,
                                                       .idle_timeout = longest_silence,
                                                       .keep_alive_pings = true});
    stream->read_message_max(longest_text + 100);
    stream->auto_fragment(false);
    stream->text(true);
    auto [error] = co_await stream->async_accept(request, as_result);
    if (error) co_return;

    // The session may outlive the stream, and the loop too.
    auto cut = [loop = std::weak_ptr(io_), weak = std::weak_ptr(stream)] {
      const auto io = loop.lock();
      if (!io) return;
      asio::post(*io, [weak] {
        if (const auto alive = weak.lock()) break_off(*alive);
      });
    };
    const auto outgoing = std::make_shared<Outgoing>(options_.backlog, std::move(cut));
    const auto session = make_session_(outgoing);
    asio::co_spawn(*io_, write_all(stream, outgoing), &report);
    co_await read_all(*stream, session);
    session.stop();
    outgoing->end(Goodbye::going_away);  // Also if the session has never begun.
  }

  Awaitable<> read_all(Stream& stream, const handoff::ActorRef<Session>& session) {
    beast::flat_buffer buffer;
    while (true) {
      auto [error, size] = co_await stream.async_read(buffer, as_result);
      if (error == websocket::error::closed) co_return;
      if (error || !stream.got_text()) break;
      Line line{.text = std::string(static_cast<const char*>(buffer.data().data()), size)};
      buffer.consume(size);
      // The next one is read when the session is done with this one: a client that floods us waits in its own connection.
      // Too long, and it is dropped.
      auto asking = session.async_ask(std::move(line), time_for_request);
      const auto answered = co_await handoff::in_asio(std::move(asking));
      if (!answered && answered.error() != handoff::AskError::Code::closed) break;
    }
    break_off(stream);
  }

  Awaitable<> write_all(std::shared_ptr<Stream> stream, std::shared_ptr<Outgoing> outgoing) {
    auto& queue = outgoing->queue();
    while (true) {
      auto frame = queue.poll();
      if (!frame) frame = co_await handoff::in_asio(queue.async_take());
      if (!frame) break;
      // What waits goes along: a write costs more than a copy.
      std::string several;
      std::uint64_t count = 1;
      while (several.size() < enough_for_a_write) {
        auto next = queue.poll();
        if (!next) break;
        if (count++ == 1) several = **frame;
        several.append("\n").append(**next);
      }
      const auto written = asio::buffer(count == 1 ? **frame : several);
      auto [error, size] = co_await stream->async_write(written, as_result);
      if (error) co_return;
      counts_->delivered += count;
    }
    // Closed, and all is written.
    auto [error] = co_await stream->async_close(reason_of(outgoing->why()), as_result);
    static_cast<void>(error);
  }

  struct CountedIn {
    explicit CountedIn(std::shared_ptr<Counts> all) : counts(std::move(all)) { ++counts->clients; }
    ~CountedIn() { --counts->clients; }
    CountedIn(const CountedIn&) = delete;
    CountedIn& operator=(const CountedIn&) = delete;
    const std::shared_ptr<Counts> counts;
  };

  const ServerOptions options_;
  const std::shared_ptr<Counts> counts_;
  const MakeSession make_session_;
  handoff::Event is_over_{{.name = "event loop has ended"}};
  // Shared with who is about to cut a connection.
  const std::shared_ptr<asio::io_context> io_ = std::make_shared<asio::io_context>(1);
  Tcp::acceptor acceptor_;
  const std::uint16_t port_;
  std::thread thread_;
};

Server::Server(const ServerOptions& options, std::shared_ptr<Counts> counts,
               MakeSession make_session)
    : loop_(std::make_unique<Loop>(options, std::move(counts), std::move(make_session))) {}
Server::~Server() = default;

std::uint16_t Server::port() const { return loop_->port(); }
void Server::stop_listening() { loop_->stop_listening(); }
void Server::end(handoff::Duration patience) { loop_->end(patience); }

}  // namespace chat
