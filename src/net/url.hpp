// A URL of http or https, read by libcurl: by the very code that later finds the way there, so that what was checked is what is asked.
//
//   const auto url = net::parse_url("https://[::1]:8443/hook?a=b");      // std::expected<Url, std::string>
//   url->host                                                            // "::1"
//
// Strict: with a scheme, which is http or https; without a user or a password; with a host that has no zone. Other ways to write an IPv4 address are undone: "http://2130706433/" has the
// host "127.0.0.1".
#pragma once

#include <expected>
#include <string>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::net {

struct Url {
  std::string scheme;  // "http" or "https".
  std::string host;    // In lower case; an IPv6 address without its brackets.
  std::string port;
};

// Or what is wrong with it, so that its name can stand before that: "must be ...".
std::expected<Url, std::string> parse_url(const std::string& text);

}  // namespace handoff::inline HANDOFF_FLAVOUR::net
