// How a connection reads a request.
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <exception>
#include <utility>

#include "server/http/connection.hpp"

namespace handoff::server {

namespace {

constexpr Problem too_much_memory{.status = 503,
                                  .code = "unavailable",
                                  .message = "too many large requests at once; try again later"};
constexpr Problem too_slow{
    .status = 408, .code = "bad_request", .message = "the request took too long to arrive"};

}  // namespace

Await<bool> Connection::read_request() {
  parser_.reset();
  was_invited_ = false;
  was_idle_ = false;
  was_in_head_ = false;
  was_asked_ = false;
  while (!feed_parser()) {
    if (parser_.state() == RequestParser::State::body) co_await invite_body();
    limit_read();
    if (phase_ == Phase::idle && (thread_.is_closing() || is_late_)) co_return false;
    IoResult result = co_await read_more();
    if (is_late_ && phase_ != Phase::idle) result.state = IoResult::State::failed;
    if (result.state != IoResult::State::done) {
      end_of_input(result.state);
      break;
    }
    if (phase_ == Phase::idle) phase_ = Phase::busy;
  }
  phase_ = Phase::busy;
  unlimit_time();
  co_return parser_.state() == RequestParser::State::whole;
}

// Whether it needs no more.
bool Connection::feed_parser() {
  using enum RequestParser::State;
  if (!buffer_.is_empty()) buffer_.consume(parser_.feed(buffer_.data()));
  if (parser_.state() != broken && parser_.is_body_over(small_body)) ask_for_large_body();
  if (parser_.state() != broken && !hold_body()) parser_.fail(too_much_memory);
  return parser_.state() == whole || parser_.state() == broken;
}

// Once for each request. Memory for what it sends would be memory that others do not get, so who may not even ask gets none.
void Connection::ask_for_large_body() {
  if (std::exchange(was_asked_, true)) return;
  Request& head = parser_.request();
  head.peer = peer_;
  try {
    refusal_ = shared_.service.refuse_large(head);
  } catch (const std::exception& error) {
    refusal_ = internal_error(error.what());
  }
  if (refusal_) parser_.fail({});
}

// Who asked whether he may send his body, and has not begun with it, is told so.
Await<> Connection::invite_body() {
  const bool is_asking = parser_.head().expects_continue && parser_.body_size() == 0;
  if (!is_asking || std::exchange(was_invited_, true)) co_return;
  const bool was_written = co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  static_cast<void>(was_written);  // If not, the next read will tell.
}

// The time for a header is for all of it; that for a body is until some more of it comes, and grows with what has come.
void Connection::limit_read() {
  using enum RequestParser::State;
  if (parser_.state() == body) {
    if (std::exchange(phase_, Phase::body) != Phase::body) begin_transfer();
    limit_transfer(parser_.body_size());
  } else if (parser_.state() == nothing && buffer_.is_empty()) {
    phase_ = Phase::idle;
    buffer_.shrink();
    // Once for each request: empty lines before it are taken, but earn no more time.
    if (!std::exchange(was_idle_, true)) limit_time(shared_.limits.idle);
  } else if (phase_ != Phase::head) {
    phase_ = Phase::head;
    if (!std::exchange(was_in_head_, true)) limit_time(shared_.limits.header_read);  // The same.
  }
}

Await<IoResult> Connection::read_more() {
  const auto room = buffer_.room();
  IoResult result;
  if (tls_) {
    result = co_await read_tls(room);
  } else {
    const auto to = boost::asio::buffer(room.to, room.size);
    const auto [error, bytes] = co_await socket_.async_read_some(to, await_tuple);
    result.bytes = bytes;
    result.state = !error                             ? IoResult::State::done
                   : error == boost::asio::error::eof ? IoResult::State::ended
                                                      : IoResult::State::failed;
  }
  buffer_.add(result.bytes);
  thread_.counts().bytes_received.add(result.bytes);
  co_return result;
}

Await<IoResult> Connection::read_tls(ReadBuffer::Room room) {
  IoResult result = tls_->read(room.to, room.size);
  while (result.state == IoResult::State::wants_read ||
         result.state == IoResult::State::wants_write) {
    const bool is_ready = co_await wait_until_ready(result.state);
    if (!is_ready) co_return IoResult{};
    result = tls_->read(room.to, room.size);
  }
  co_return result;
}

// A client that has not begun, or is gone, is told nothing.
void Connection::end_of_input(IoResult::State how) {
  const bool has_begun = phase_ == Phase::head || phase_ == Phase::body;
  if (how == IoResult::State::ended) parser_.feed_end();
  if (how == IoResult::State::failed && is_late_ && has_begun) parser_.fail(too_slow);
}

}  // namespace handoff::server
