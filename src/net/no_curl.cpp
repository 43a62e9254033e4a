// In the place of curl_line.cpp where libcurl is missing.
#include "net/curl_line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::net {

struct CurlLine::Handles {};

CurlLine::CurlLine(const HttpClientOptions& options) : options_(options) {}

CurlLine::~CurlLine() = default;

std::expected<HttpReply, HttpFailure> CurlLine::run(const HttpRequest& request, const Limits&) {
  static_cast<void>(options_);
  return std::unexpected(HttpFailure{
      .kind = HttpFailure::Kind::could_not_connect,
      .message = request.url + ": handoff was built without libcurl (libcurl4-openssl-dev)"});
}

bool HttpClient::is_built_in() { return false; }

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
