// How a connection sends an answer. Most fit into the buffer of the socket, so that there is nothing to wait for.
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <exception>
#include <utility>

#include "handoff/asio.hpp"
#include "server/http/connection.hpp"

namespace handoff::server {

namespace {

constexpr std::size_t largest_copy = 256 * 1024;  // Of a body, into one text with its header.

bool is_copied(const Response& response) {
  return response.body.size() <= largest_copy || response.next_part;
}

// A coroutine that waits on its own socket may be told to try later.
bool is_again(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

// -- An answer ------------------------------------------------------------------------------------

void Connection::begin_sending(const Response& response, const Framing& framing) {
  std::string& text = thread_.scratch();
  text.clear();
  append_head(text, response, framing);
  if (is_copied(response)) append_body(text, response, framing);
  const auto sent = write_now(text).bytes;
  if (sent == text.size()) return;
  unsent_ = std::exchange(text, {});
  unsent_.erase(0, sent);
}

bool Connection::has_more_to_send(const Response& response, const Framing& framing) const {
  return !unsent_.empty() ||
         (!framing.without_body && (response.next_part || !is_copied(response)));
}

Await<bool> Connection::finish_sending(const Response& response, const Framing& framing) {
  const std::string text = std::exchange(unsent_, {});
  bool was_sent = co_await write(text);
  if (was_sent && !is_copied(response) && !framing.without_body)
    was_sent = co_await write(response.body);
  if (was_sent && response.next_part && !framing.without_body) {
    was_sent = co_await send_parts(response, framing);
  }
  co_return was_sent;
}

// An answer that ends too early must not look as if it were whole, so after an exception there is no last chunk.
Await<bool> Connection::send_parts(const Response& response, const Framing& framing) {
  is_streaming_ = true;
  try {
    bool was_sent = true;
    while (was_sent) {
      auto next = response.next_part();
      const auto part = co_await in_asio(std::move(next), use_await);
      if (!part) break;
      if (!part->empty())
        was_sent = co_await send_part(*part, framing);  // An empty chunk would be the last.
    }
    if (was_sent && is_chunked(response, framing)) was_sent = co_await write(last_chunk);
    is_streaming_ = false;
    co_return was_sent;
  } catch (const std::exception& error) {
    log(LogLevel::error, "an answer in parts ended early", error.what());
  }
  co_return false;
}

Await<bool> Connection::send_part(std::string_view part, const Framing& framing) {
  std::string text;
  if (framing.is_http_10) {
    text = part;
  } else {
    append_chunk(text, part);
  }
  const bool was_sent = co_await write(text);
  co_return was_sent;
}

// A client that has ended its side may be gone altogether. Then its machine answers our bytes with a reset.
Await<bool> Connection::was_received() {
  if (!watch_->has_client_ended()) co_return true;
  limit_time(shared_.limits.progress);
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Io>
      pause(thread_.io().get_executor());
  while (!is_late_) {
    tcp_info info{};
    socklen_t size = sizeof info;
    const int failed = ::getsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_INFO, &info, &size);
    if (failed != 0 || info.tcpi_state == TCP_CLOSE) break;
    if (info.tcpi_unacked == 0) co_return true;
    pause.expires_after(std::chrono::milliseconds(2));
    const auto [error] = co_await pause.async_wait(await_tuple);
    if (error) break;
  }
  co_return false;
}

// -- Bytes ----------------------------------------------------------------------------------------

Await<bool> Connection::write(std::string_view bytes) {
  std::size_t sent = 0;
  begin_transfer();
  while (true) {
    const IoResult result = write_now(bytes);
    bytes.remove_prefix(result.bytes);
    sent += result.bytes;
    if (bytes.empty()) break;
    limit_transfer(sent);
    const bool is_ready = co_await wait_until_ready(result.state);
    if (!is_ready) co_return false;
  }
  unlimit_time();
  co_return true;
}

// As many of them as can be sent without waiting.
IoResult Connection::write_now(std::string_view bytes) {
  std::size_t sent = 0;
  IoResult result{.state = IoResult::State::done};
  while (sent < bytes.size() && result.state == IoResult::State::done) {
    result = write_some(bytes.substr(sent));
    sent += result.bytes;
  }
  thread_.counts().bytes_sent.add(sent);
  return {.state = result.state, .bytes = sent};
}

IoResult Connection::write_some(std::string_view bytes) {
  using enum IoResult::State;
  if (tls_) return tls_->write(bytes);
  const auto sent =
      ::send(socket_.native_handle(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return {.state = done, .bytes = static_cast<std::size_t>(sent)};
  return {.state = is_again(errno) ? wants_write : failed};
}

Await<bool> Connection::wait_until_ready(IoResult::State wanted) {
  using enum IoResult::State;
  if (wanted != wants_read && wanted != wants_write) co_return false;
  const auto what = wanted == wants_read ? Socket::wait_read : Socket::wait_write;
  const auto [error] = co_await socket_.async_wait(what, await_tuple);
  co_return !error;
}

// -- The last answer ------------------------------------------------------------------------------

Await<> Connection::refuse(const Problem& problem) {
  const Response response = response_to(problem);
  co_await answer_last(response);
}

Await<> Connection::answer_last(const Response& response) {
  const Framing framing{.keep_alive = false, .date = thread_.date()};
  begin_sending(response, framing);
  bool was_sent = true;
  if (has_more_to_send(response, framing)) was_sent = co_await finish_sending(response, framing);
  if (was_sent) co_await linger();
}

// Reads what the client still sends. A socket that is closed with something unread is reset, and the client may lose the answer.
Await<> Connection::linger() {
  if (tls_) tls_->end();
  ::shutdown(socket_.native_handle(), SHUT_WR);
  limit_time(shared_.limits.linger);
  phase_ = Phase::idle;
  while (!thread_.is_closing() && !is_late_) {
    buffer_.consume(buffer_.data().size());
    const auto room = buffer_.room();
    const auto to = boost::asio::buffer(room.to, room.size);
    const auto [error, bytes] = co_await socket_.async_read_some(to, await_tuple);
    if (error) break;
    thread_.counts().bytes_received.add(bytes);
  }
}

}  // namespace handoff::server
