// One client, from the first byte to the last. A coroutine on the thread that the connection was dealt to.
//
//   idle -> reading -> answering -> writing -> idle ...     A problem at any of them: it is told, what still comes is thrown away
//                                                           for a moment (a reset would overtake the answer), and that is the end.
//
// A limit in time is a number of ticks after which on_tick() cancels what the coroutine waits for, and goes on doing so with each tick: what has come meanwhile cannot be
// cancelled any more, so who reads looks at is_late_ as well.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "server/http/client_watch.hpp"
#include "server/http/io_result.hpp"
#include "server/http/io_thread.hpp"
#include "server/http/memory_budget.hpp"
#include "server/http/read_buffer.hpp"
#include "server/http/request_parser.hpp"
#include "server/http/response_text.hpp"
#include "server/http/tls.hpp"

namespace handoff::server {

class Connection {
 public:
  // `is_surplus`: there are too many, and it is to be told so.
  Connection(Shared& shared, IoThread& thread, Socket socket, std::string peer, bool is_surplus);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Await<> run();

  // For its thread.
  void on_tick();
  void close_soon();  // At once if it is idle. Otherwise its request is hurried, and the last.
  void cut();
  std::size_t place = 0;  // Among the connections of the thread.

 private:
  static constexpr std::size_t small_body = 64 * 1024;  // Neither asked for nor counted.

  // idle: may be closed at any time. head, body: within a request. busy: all else.
  enum class Phase : std::uint8_t { idle, head, body, busy };

  Await<bool> shake_hands();
  Await<bool> serve_one();

  // Reading: connection_read.cpp. False: there is no request; if the parser is broken, that has to be told.
  Await<bool> read_request();
  bool feed_parser();
  void ask_for_large_body();
  Await<> invite_body();
  void limit_read();
  Await<IoResult> read_more();
  Await<IoResult> read_tls(ReadBuffer::Room room);
  void end_of_input(IoResult::State how);

  // Answering.
  Await<Response> answer();
  std::stop_token watch_client();
  Response internal_error(std::string_view what);
  Response response_to(const Problem& problem) const;
  Framing framing_of(const Response& response) const;

  // Writing: connection_write.cpp. What cannot be sent at once is finished later. False: it could not be sent.
  void begin_sending(const Response& response, const Framing& framing);
  bool has_more_to_send(const Response& response, const Framing& framing) const;
  Await<bool> finish_sending(const Response& response, const Framing& framing);
  Await<bool> send_parts(const Response& response, const Framing& framing);
  Await<bool> send_part(std::string_view part, const Framing& framing);
  Await<bool> write(std::string_view bytes);
  IoResult write_now(std::string_view bytes);
  IoResult write_some(std::string_view bytes);
  Await<bool> wait_until_ready(IoResult::State wanted);
  Await<bool> was_received();

  // Ending.
  Await<> refuse(const Problem& problem);
  Await<> answer_last(const Response& response);
  Await<> linger();
  bool may_refuse(const Response& response) const;
  void lose(const Response& response);
  void log(LogLevel level, std::string_view what, std::string_view why);

  void limit_time(std::chrono::milliseconds time);
  void begin_transfer();
  void limit_transfer(std::size_t bytes);
  void unlimit_time() { last_tick_ = 0; }
  bool hold_body();

  Shared& shared_;
  IoThread& thread_;
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // Null: plain.
  const std::string peer_;
  ReadBuffer buffer_;
  RequestParser parser_;
  std::optional<Response> refusal_;     // By the service, of a large body.
  std::string unsent_;                  // Of an answer.
  std::shared_ptr<ClientWatch> watch_;  // While somebody waits who must be hurried.
  HeldMemory body_memory_;
  HeldMemory answer_memory_;
  std::uint64_t last_tick_ = 0;       // After it the time is up. 0: there is no limit.
  std::uint64_t end_tick_ = 0;        // Past which it gets no time. 0: that is not so yet.
  std::uint64_t transfer_began_ = 0;  // At which tick: of a body, or of an answer.
  std::uint64_t lost_ticks_ = 0;      // Of that transfer: earned, but more than can be saved.
  Phase phase_ = Phase::busy;
  bool is_late_ = false;
  bool was_idle_ = false;     // Before this request.
  bool was_in_head_ = false;  // Of this one, or of half an empty line before it.
  bool was_invited_ = false;  // Was told to go on with its body.
  bool was_asked_ = false;    // The service, for a large body.
  bool is_streaming_ = false;
  bool is_get_ = false;  // The request, which has changed nothing then.
  const bool is_surplus_;
};

}  // namespace handoff::server
