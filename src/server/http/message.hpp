// A request and its answer, as the API sees them. How they come over the wire is connection.cpp's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/lazy.hpp"

namespace handoff::server {

enum class Method : std::uint8_t { get, post, put, del, other };

std::string_view to_string(Method method);

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
  Method method = Method::get;
  std::string path{};                   // Without the query, as it was sent.
  std::vector<std::string> segments{};  // Of the path, decoded: "v1", "tasks", ...
  Pairs query{};                        // Decoded, in order.
  std::string body{};

  std::string content_type{};
  std::string authorization{};
  std::string traceparent{};
  std::string last_event_id{};
  std::string accept_encoding{};
  std::string if_none_match{};
  std::string peer{};  // An address, for the audit log.

  // Asked to stop when the client is gone or the server shuts down: those who wait for something answer at once. Only looked after for requests of which Service::may_wait() says so.
  std::stop_token hurry{};
};

struct Response {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  Pairs headers{};

  // If it is there it is called again and again for what comes after the body, until it returns nothing: for event streams, which have no length. Each part is
  // written before the next is asked for. It waits no longer than `hurry` allows.
  using NextPart = std::function<Lazy<std::optional<std::string>>()>;
  NextPart next_part{};
  // Called if the answer could not be sent: whoever it was for has not got it.
  std::function<void()> on_lost{};
};

// "/v1/tasks/a%20b?wait=30s" into segments and query. Nothing if it is no path: not decodable, too long, or with "..".
struct Target {
  std::string path;
  std::vector<std::string> segments;
  Pairs query;
};
std::optional<Target> parse_target(std::string_view target);

}  // namespace handoff::server
