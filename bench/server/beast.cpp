// The floor: a server on bare Beast, as its examples write one, that reads a request and answers 202.
//
//   beast <port> <threads>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "answer.hpp"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;

class Session : public std::enable_shared_from_this<Session> {
 public:
  explicit Session(tcp::socket socket) : socket_(std::move(socket)) {}

  void read() {
    parser_.emplace();
    parser_->body_limit(8 * 1024 * 1024);
    http::async_read(socket_, buffer_, *parser_,
                     [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                       if (!error) self->write();
                     });
  }

 private:
  void write() {
    response_ = {http::status::accepted, parser_->get().version()};
    response_.set(http::field::content_type, "application/json");
    response_.set(http::field::location, bench::location);
    response_.keep_alive(parser_->get().keep_alive());
    response_.body() = bench::body;
    response_.prepare_payload();
    http::async_write(socket_, response_,
                      [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                        if (!error && self->response_.keep_alive()) self->read();
                      });
  }

  tcp::socket socket_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  http::response<http::string_body> response_;
};

class Server {
 public:
  Server(std::uint16_t port, int threads) : contexts_(static_cast<std::size_t>(threads)) {
    for (auto& each : contexts_) each = std::make_unique<asio::io_context>(1);
    acceptor_.emplace(*contexts_[0], tcp::endpoint(asio::ip::make_address("127.0.0.1"), port));
    accept();
  }

  void run() {
    std::vector<std::jthread> threads;
    for (auto& each : contexts_) {
      threads.emplace_back([&io = *each] {
        const auto work = asio::make_work_guard(io);
        io.run();
      });
    }
  }

 private:
  void accept() {
    auto& io = *contexts_[next_++ % contexts_.size()];
    acceptor_->async_accept(io, [this, &io](boost::system::error_code error, tcp::socket socket) {
      if (!error) begin(io, std::move(socket));
      accept();
    });
  }
  static void begin(asio::io_context& io, tcp::socket socket) {
    socket.set_option(tcp::no_delay(true));
    auto session = std::make_shared<Session>(std::move(socket));
    asio::post(io, [session] { session->read(); });
  }

  std::vector<std::unique_ptr<asio::io_context>> contexts_;
  std::optional<tcp::acceptor> acceptor_;
  std::size_t next_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Server(static_cast<std::uint16_t>(std::atoi(argv[1])), std::atoi(argv[2])).run();
}
