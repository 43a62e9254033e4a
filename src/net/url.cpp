#include "net/url.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <memory>

namespace handoff::inline HANDOFF_FLAVOUR::net {

namespace {

struct Free {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
  void operator()(char* text) const { curl_free(text); }
};

// Empty if it has no such part.
std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return {};
  const std::unique_ptr<char, Free> owned(text);
  return text;
}

std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::expected<Url, std::string> parse_url(const std::string& text) {
  if (text.find('\0') != std::string::npos) return std::unexpected("must be a URL");
  const std::unique_ptr<CURLU, Free> url(curl_url());
  if (!url) throw std::bad_alloc();
  const CURLUcode code = curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER);
  if (code == CURLUE_USER_NOT_ALLOWED) {
    return std::unexpected("must be without a user or a password");
  }
  if (code != CURLUE_OK) {
    return std::unexpected(std::string("must be a URL: ") + curl_url_strerror(code));
  }
  Url parts{.scheme = part_of(url.get(), CURLUPART_SCHEME),
            .host = lowered(part_of(url.get(), CURLUPART_HOST)),
            .port = part_of(url.get(), CURLUPART_PORT)};
  if (parts.scheme != "http" && parts.scheme != "https") {
    return std::unexpected("must begin with http:// or https://");
  }
  if (!part_of(url.get(), CURLUPART_ZONEID).empty() || parts.host.empty()) {
    return std::unexpected("must have a host without a zone");
  }
  if (parts.host.starts_with('[') && parts.host.ends_with(']')) {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
  }
  return parts;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
