// Speaks HTTP/1.1 over TCP or TLS, and asks a Service for the answers.
//
//   server::HttpServer http({.address = "127.0.0.1", .port = 8080}, service);
//   http.start();
//   ...
//   http.stop(handoff::within(10s));   // answers what was asked, then returns
//
// - Keep-alive and pipelining: one request of a connection at a time, answers in order. A half-closed client gets its answer.
// - A few threads, each with connections of its own that stay there. Handlers run on them: who computes or blocks for long gives
//   that to a pool.
// - All that comes from outside has a limit, see HttpOptions. Who exceeds one is told (Service::refuse) before the connection is closed.
// - The Host must be ours and an Origin, if there is one, must be the same: a web page elsewhere cannot make a browser talk to us.
//
// Thread safety: stop(), port() and counters() from any thread, except that a handler must not stop it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "handoff/clock.hpp"
#include "server/http/service.hpp"

namespace handoff::server {

enum class LogLevel : std::uint8_t { info, warning, error };

struct HttpLimits {
  std::size_t header = 16 * 1024;
  std::size_t body = 8 * 1024 * 1024;
  // Of all requests that are being read or answered, as far as they are large: past it they are refused with 503.
  std::size_t all_bodies = 512 * 1024 * 1024;
  // Of all answers that are not sent yet, as far as they are large: past it they are not sent, but a 503.
  std::size_t all_answers = 512 * 1024 * 1024;
  std::size_t connections = 10'000;

  // Times are looked at about once a second, or more often if they are short: what ends, ends a little late.
  std::chrono::milliseconds idle =
      std::chrono::seconds(60);  // Between requests, and before the first.
  std::chrono::milliseconds header_read =
      std::chrono::seconds(10);  // From its first byte on. Also a TLS handshake.
  std::chrono::milliseconds progress =
      std::chrono::seconds(30);  // Without a byte of a body received, or of an answer sent.
  // Bytes a second of a body, or of an answer, on average, once `progress` is over: who is slower is cut, however often some come. Who was faster may rest later, but never for longer than twice `progress`.
  std::size_t least_rate = 1024;
  std::chrono::milliseconds linger =
      std::chrono::seconds(2);  // What a client that was refused still sends is thrown away.
};

struct HttpOptions {
  std::string address = "127.0.0.1";  // An IP address, or "localhost".
  std::uint16_t port = 0;             // 0: any.
  int threads = 0;                    // 0: as many as cores, at most 8.
  std::string
      tls_certificate{};  // Paths of PEM files, the certificate with its chain. Empty: no TLS.
  std::string tls_key{};
  std::vector<std::string>
      host_names{};  // By which clients may call us, beside localhost and IP addresses of ours.
  HttpLimits limits{};
  std::function<void(LogLevel, std::string)>
      log{};  // Called from any thread. Empty: as handoff/log.hpp.
};

struct HttpCounters {
  std::uint64_t connections_open = 0;
  std::uint64_t connections_total = 0;
  std::uint64_t connections_refused = 0;  // Of these: because there were too many.
  std::uint64_t requests = 0;             // That were read as a whole.
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
};

class HttpServer {
 public:
  // Listens from now on, and answers from start() on. Throws std::runtime_error, saying what to do, if it cannot listen there or
  // cannot use the certificate; std::invalid_argument if the options make no sense.
  HttpServer(HttpOptions options, Service& service);
  // Cuts what stop() has not ended.
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void start();
  // 1. Accepts no more, and closes connections that are idle. 2. Requests `hurry` of those who wait. 3. Open requests are read,
  // answered and their connections closed. 4. Returns when there are none left; at the deadline it cuts them. Again: waits likewise.
  void stop(Deadline deadline);

  std::uint16_t port() const;
  HttpCounters counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace handoff::server
