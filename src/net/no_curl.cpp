// In the place of what uses libcurl, where that is missing.
#include "net/curl_line.hpp"
#include "net/retry_after.hpp"
#include "net/url.hpp"

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

std::expected<Url, std::string> parse_url(const std::string&) {
  return std::unexpected("cannot be used: handoff was built without libcurl");
}

std::optional<std::chrono::seconds> retry_after(const std::string&, std::chrono::sys_seconds) {
  return std::nullopt;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
