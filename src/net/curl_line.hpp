// One connection at a time, with libcurl: a request is run by the thread that asks, which sleeps in curl_multi_poll(). That can be woken at any moment, so a stop is heard at once.
#pragma once

#include <chrono>
#include <memory>

#include "handoff/clock.hpp"
#include "net/http_client.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::net {

class CurlLine {
 public:
  // Throws std::runtime_error if libcurl cannot be used. The options must stay.
  explicit CurlLine(const HttpClientOptions& options);
  ~CurlLine();

  struct Limits {
    Deadline deadline{};
    const HttpClient::OnPart* part = nullptr;  // For those who stream.
    std::chrono::seconds silence{};            // 0: for ever.
  };
  std::expected<HttpReply, HttpFailure> run(const HttpRequest& request, const Limits& limits);

 private:
  struct Handles;
  const HttpClientOptions& options_;
  const std::unique_ptr<Handles> handles_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
