#include "server/http/connection.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/system/error_code.hpp>
#include <exception>
#include <utility>

#include "handoff/asio.hpp"

namespace handoff::server {

namespace {

constexpr std::size_t memory_step = 1024 * 1024;  // In which the memory of bodies is counted.
// For readers of a stream to take what they were being sent when the server began to end.
constexpr auto end_of_stream = std::chrono::seconds(1);

constexpr Problem too_many_connections{
    .status = 503,
    .code = "unavailable",
    .message = "there are too many connections; try again later"};

constexpr Problem too_many_answers{
    .status = 503,
    .code = "unavailable",
    .message = "too many large answers are being read at once; try again later"};

}  // namespace

Connection::Connection(Shared& shared, IoThread& thread, Socket socket, std::string peer,
                       bool is_surplus)
    : shared_(shared),
      thread_(thread),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      parser_({.header = shared.limits.header, .body = shared.limits.body}, shared.hosts),
      body_memory_(shared.body_memory),
      answer_memory_(shared.answer_memory),
      is_surplus_(is_surplus) {
  if (shared.tls) tls_ = std::make_unique<TlsSession>(*shared.tls, socket_.native_handle());
  thread_.add(*this);
}

Connection::~Connection() {
  if (watch_) watch_->end();
  thread_.remove(*this);
  shared_.connection_has_ended();
}

// -- From the first byte to the last --------------------------------------------------------------

Await<> Connection::run() {
  bool goes_on = true;
  if (tls_) goes_on = co_await shake_hands();
  if (goes_on && is_surplus_) {
    co_await refuse(too_many_connections);
    goes_on = false;
  }
  while (goes_on) goes_on = co_await serve_one();
  if (tls_) tls_->end();
  ::shutdown(socket_.native_handle(), SHUT_WR);
}

Await<bool> Connection::shake_hands() {
  phase_ = Phase::idle;
  limit_time(shared_.limits.header_read);
  IoResult result = tls_->handshake();
  while (result.state == IoResult::State::wants_read ||
         result.state == IoResult::State::wants_write) {
    const bool is_ready = co_await wait_until_ready(result.state);
    if (!is_ready) co_return false;
    result = tls_->handshake();
  }
  phase_ = Phase::busy;
  co_return result.state == IoResult::State::done;
}

// False: it was the last.
Await<bool> Connection::serve_one() {
  const bool is_there = co_await read_request();
  if (!is_there) {
    if (refusal_) {
      co_await answer_last(*refusal_);
    } else if (parser_.state() == RequestParser::State::broken) {
      co_await refuse(parser_.problem());
    }
    co_return false;
  }
  thread_.counts().requests.add(1);
  Response response = co_await answer();
  // It may wait for its reader as long as it likes to read slowly.
  if (response.body.size() > small_body && !answer_memory_.hold(response.body.size())) {
    if (may_refuse(response)) {
      lose(response);
      response = response_to(too_many_answers);
    } else {
      answer_memory_.hold_anyway(response.body.size());
    }
  }
  const Framing framing = framing_of(response);
  begin_sending(response, framing);
  bool was_sent = true;
  if (has_more_to_send(response, framing)) was_sent = co_await finish_sending(response, framing);
  if (watch_ && was_sent && response.on_lost) was_sent = co_await was_received();
  if (watch_) std::exchange(watch_, nullptr)->end();
  body_memory_.release();
  answer_memory_.release();
  if (!was_sent) lose(response);
  co_return was_sent&& framing.keep_alive;
}

Framing Connection::framing_of(const Response& response) const {
  const auto& head = parser_.head();
  const bool ends_by_closing = head.is_http_10 && response.next_part;
  return {.is_http_10 = head.is_http_10,
          .keep_alive = head.keep_alive && !shared_.is_stopping() && !ends_by_closing,
          .without_body = head.is_head,
          .date = thread_.date()};
}

// -- Answering ------------------------------------------------------------------------------------

Await<Response> Connection::answer() {
  Response response;
  try {
    Request request = parser_.take();
    request.peer = peer_;
    is_get_ = request.method == Method::get;
    if (shared_.service.may_wait(request)) request.hurry = watch_client();
    auto lazy = shared_.service.answer(std::move(request));
    response = co_await in_asio(std::move(lazy), use_await);
  } catch (const std::exception& error) {
    response = internal_error(error.what());
  } catch (...) {
    response = internal_error("what was thrown is no std::exception");
  }
  co_return response;
}

std::stop_token Connection::watch_client() {
  watch_ = std::make_shared<ClientWatch>(socket_, tls_ != nullptr);
  if (thread_.is_closing()) watch_->hurry();
  watch_->begin();
  return watch_->token();
}

Response Connection::internal_error(std::string_view what) {
  log(LogLevel::error, "a request could not be answered", what);
  return shared_.service.refuse(500, "internal",
                                "something went wrong here; the log of the server has more");
}

// Who is to come again later has to know when.
Response Connection::response_to(const Problem& problem) const {
  Response response = shared_.service.refuse(problem.status, problem.code, problem.message);
  const auto is_retry_after = [](const auto& header) { return header.first == "Retry-After"; };
  if (problem.status == 503 && std::ranges::none_of(response.headers, is_retry_after)) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

// Who has changed something and is told to come again later would do it twice.
bool Connection::may_refuse(const Response& response) const { return is_get_ || response.on_lost; }

void Connection::lose(const Response& response) {
  if (!response.on_lost) return;
  try {
    response.on_lost();
  } catch (const std::exception& error) {
    log(LogLevel::error, "an answer was lost, and so was what it held", error.what());
  }
}

void Connection::log(LogLevel level, std::string_view what, std::string_view why) {
  if (thread_.may_log())
    shared_.log(level, fmt::format("http: {}: {} (client {})", what, why, peer_));
}

// -- Time -----------------------------------------------------------------------------------------

void Connection::limit_time(std::chrono::milliseconds time) {
  is_late_ = false;
  last_tick_ = thread_.tick() + thread_.ticks(time);
  if (end_tick_ != 0) last_tick_ = std::min(last_tick_, end_tick_);
}

void Connection::begin_transfer() {
  transfer_began_ = thread_.tick();
  lost_ticks_ = 0;
}

// Some more must come soon, and all of it must not be too slow. Who was fast has earned time, but cannot save much of it: otherwise who has sent a lot could drip for hours.
void Connection::limit_transfer(std::size_t bytes) {
  const auto& limits = shared_.limits;
  limit_time(limits.progress);
  const auto earned =
      std::chrono::milliseconds(static_cast<std::int64_t>(bytes * 1000 / limits.least_rate));
  auto end = transfer_began_ + thread_.ticks(limits.progress + earned) - lost_ticks_;
  const auto latest = thread_.tick() + thread_.ticks(2 * limits.progress);
  if (end > latest) {
    lost_ticks_ += end - latest;
    end = latest;
  }
  last_tick_ = std::min(last_tick_, end);
}

void Connection::on_tick() {
  if (watch_) watch_->on_tick();
  if (last_tick_ == 0 || thread_.tick() <= last_tick_) return;
  is_late_ = true;
  boost::system::error_code ignored;
  socket_.cancel(ignored);
}

void Connection::close_soon() {
  if (watch_) watch_->hurry();
  // An answer is worth waiting for; a stream never ends by itself, and goes on at the next server.
  if (is_streaming_) {
    end_tick_ = thread_.tick() + thread_.ticks(end_of_stream);
    if (last_tick_ != 0) last_tick_ = std::min(last_tick_, end_tick_);
  }
  boost::system::error_code ignored;
  if (phase_ == Phase::idle) socket_.cancel(ignored);
}

// Not closed, lest another connection gets the number of its socket while it is still used here.
void Connection::cut() {
  ::shutdown(socket_.native_handle(), SHUT_RDWR);
  boost::system::error_code ignored;
  socket_.cancel(ignored);
  if (watch_) watch_->hurry();
}

// -- Memory ---------------------------------------------------------------------------------------

bool Connection::hold_body() {
  const auto size = parser_.body_size();
  return size <= small_body ||
         body_memory_.hold((size + memory_step - 1) / memory_step * memory_step);
}

}  // namespace handoff::server
