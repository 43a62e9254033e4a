#include "net/http_client.hpp"

#include <algorithm>
#include <stdexcept>

#include "handoff/mutex.hpp"
#include "handoff/semaphore.hpp"
#include "net/curl_line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::net {

// Lines are kept when they are not in use, the one that was used last on top: its connection is the warmest.
class HttpClient::Impl {
 public:
  explicit Impl(HttpClientOptions options)
      : options_(std::move(options)),
        turns_({.permits = options_.most_connections, .name = "HTTP connections"}) {
    // What libcurl has to do first, once in a process, does not count against the timeout of a request.
    put_back(std::make_unique<CurlLine>(options_));
  }

  std::expected<HttpReply, HttpFailure> send(const HttpRequest& request) {
    const auto timeout = request.timeout.value_or(options_.timeout);
    const Deadline deadline = timeout.count() > 0 ? within(timeout) : Deadline();
    const auto turn = turns_.acquire(1, {.deadline = deadline, .stop = request.stop});
    if (!turn) return std::unexpected(no_turn(request, turn.error()));
    const TurnOver over{turns_};
    std::unique_ptr<CurlLine> line = take();
    auto reply = line->run(request, {.deadline = deadline, .part = nullptr, .silence = {}});
    put_back(std::move(line));
    return reply;
  }

  std::expected<HttpReply, HttpFailure> stream(const HttpRequest& request, const OnPart& part,
                                               std::chrono::seconds silence) {
    CurlLine line(options_);
    return line.run(request, {.deadline = {}, .part = &part, .silence = silence});
  }

 private:
  struct TurnOver {
    Semaphore& turns;
    ~TurnOver() { turns.release(); }
  };

  static HttpFailure no_turn(const HttpRequest& request, Refusal refusal) {
    const bool is_stopped = refusal == Refusal::stopped;
    return {.kind = is_stopped ? HttpFailure::Kind::stopped : HttpFailure::Kind::timed_out,
            .message = request.url + (is_stopped ? ": stopped" : ": all connections are in use")};
  }
  std::unique_ptr<CurlLine> take() {
    const auto turn = lock_.hold();
    if (free_.empty()) return std::make_unique<CurlLine>(options_);
    auto line = std::move(free_.back());
    free_.pop_back();
    return line;
  }
  void put_back(std::unique_ptr<CurlLine> line) {
    const auto turn = lock_.hold();
    free_.push_back(std::move(line));
  }

  const HttpClientOptions options_;
  Semaphore turns_;
  Mutex lock_{{.name = "HTTP connections that are free"}};
  std::vector<std::unique_ptr<CurlLine>> free_;  // Guarded by lock_.
};

HttpClient::HttpClient(HttpClientOptions options) {
  if (options.most_connections == 0) {
    throw std::invalid_argument("most_connections must be at least 1, got 0");
  }
  impl_ = std::make_unique<Impl>(std::move(options));
}

HttpClient::~HttpClient() = default;

std::expected<HttpReply, HttpFailure> HttpClient::send(const HttpRequest& request) {
  return impl_->send(request);
}

std::expected<HttpReply, HttpFailure> HttpClient::stream(const HttpRequest& request,
                                                         const OnPart& part,
                                                         std::chrono::seconds silence) {
  return impl_->stream(request, part, silence);
}

std::string_view HttpReply::header(std::string_view name) const {
  const auto found = std::ranges::find(headers, name, &HttpHeaders::value_type::first);
  return found == headers.end() ? std::string_view() : found->second;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
