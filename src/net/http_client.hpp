// Asks HTTP/1.1 servers, and waits for their answers.
//
//   net::HttpClient client({.timeout = 10s, .most_connections = 8});
//   const auto reply = client.send({.method = "POST", .url = "http://127.0.0.1:8077/v1/tasks", .body = json, .stop = stop});
//   if (!reply) return try_later(reply.error().message);              // there was no answer
//   if (reply->status != 202) return refused(reply->body);            // there was one
//
//            waits for the whole answer    is called for each part of it
//   ask      send                          stream
//
// - Connections are kept and used again. There are never more than `most_connections`: who comes when all are in use waits for one. Streams have each one of their own besides.
// - Only http and https; redirects are answers like others, unless followed by option; no proxy, whatever the environment says. All that comes has a limit.
// - A stop ends the waiting at once, also while it connects.
// - Nothing is asked twice: whoever knows that this does no harm looks at HttpFailure::may_have_happened and asks again. One exception: on a connection that
//   the server closes the very moment it is used again, the request is sent once more, over a new one.
//
// Thread safety: any member, any thread. The destructor waits for nobody: all calls must have returned.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::net {

struct HttpClientOptions {
  std::chrono::milliseconds timeout = std::chrono::seconds(30);  // For one request as a whole.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(5);
  std::size_t most_connections = 16;                   // At least 1.
  bool follow_redirects = false;                       // At most 5, to http and https only.
  std::size_t response_limit = std::size_t{64} << 20;  // Of a body, in bytes; a part of a stream.
  std::string ca_file{};  // Whom to trust over https: a PEM file. Empty: as the system does.
  bool verifies_tls = true;
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method = "GET";
  std::string url;
  HttpHeaders headers{};
  std::string_view body{};                             // Must stay until the call returns.
  std::optional<std::chrono::milliseconds> timeout{};  // Instead of that of the client; 0: none.
  std::stop_token stop{};
};

struct HttpReply {
  int status = 0;
  HttpHeaders headers{};  // Names in lower case.
  std::string body{};

  // Empty if there is none. `name` in lower case.
  std::string_view header(std::string_view name) const;
};

struct HttpFailure {
  enum class Kind : std::uint8_t {
    could_not_connect,  // Also: an address that makes no sense.
    no_tls,  // It is there, but is not trusted, or cannot speak TLS with us. Also: a ca_file that cannot be read.
    timed_out,
    lost,  // The connection broke before the answer was there.
    stopped,
    too_large,  // The answer.
  };
  Kind kind = Kind::lost;
  std::string message;  // With the URL: "http://127.0.0.1:8077/v1/tasks: connection refused".
  bool may_have_happened =
      false;       // Something of the request was sent: it may have been carried out.
  int status = 0;  // Of the answer, as far as there is one: too_large.
};

class HttpClient {
 public:
  // Throws std::invalid_argument if most_connections is 0, std::runtime_error if libcurl cannot be used.
  explicit HttpClient(HttpClientOptions options = {});
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  std::expected<HttpReply, HttpFailure> send(const HttpRequest& request);

  // `part` is called with each piece of a 2xx answer as it comes, by the calling thread; it returns false to end it (`stopped`), and what it throws is thrown here. Other answers are as with
  // send(). Returns the answer without its body when it is complete. There is no timeout but that of connecting, and `silence`: so long without a byte.
  using OnPart = std::function<bool(std::string_view part)>;
  std::expected<HttpReply, HttpFailure> stream(const HttpRequest& request, const OnPart& part,
                                               std::chrono::seconds silence = {});

  // False in a build without libcurl: then all requests fail, and say so.
  static bool is_built_in();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
