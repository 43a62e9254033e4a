// All that a connection would make of some bytes, without a connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/host_policy.hpp"
#include "server/http/request_parser.hpp"

namespace http_test {

// The requests in order, each as a line and its body, and at the end what was wrong, if anything.
struct Parsed {
  std::vector<std::string> requests{};
  int problem = 0;  // The status. 0: none.

  friend bool operator==(const Parsed&, const Parsed&) = default;
};

inline std::string summary(const handoff::server::Request& request) {
  std::string text(to_string(request.method));
  text.append(" ")
      .append(request.path)
      .append("|")
      .append(request.authorization)
      .append("|")
      .append(request.body);
  for (const auto& [name, value] : request.query)
    text.append("&").append(name).append("=").append(value);
  return text;
}

// Gives the bytes to the parser in pieces: `next_size` says how large each is, at least 1.
template <typename NextSize>
Parsed parse_all(std::string_view bytes, NextSize next_size) {
  using handoff::server::RequestParser;
  using enum RequestParser::State;
  const handoff::server::HostPolicy hosts("127.0.0.1", {});
  RequestParser parser({.header = 1024, .body = 4096}, hosts);
  Parsed parsed;
  std::string held;
  while (!bytes.empty() && parser.state() != broken) {
    const auto size = std::min(bytes.size(), next_size());
    held += bytes.substr(0, size);
    bytes.remove_prefix(size);
    held.erase(0, parser.feed(held));
    while (parser.state() == whole) {
      parsed.requests.push_back(summary(parser.take()));
      parser.reset();
      held.erase(0, parser.feed(held));
    }
  }
  parser.feed_end();
  if (parser.state() == broken) parsed.problem = parser.problem().status;
  return parsed;
}

inline Parsed parse_at_once(std::string_view bytes) {
  return parse_all(bytes, [&] { return bytes.size(); });
}

}  // namespace http_test
