// A request and its answer, as the API sees them. How they come over the wire is connection.cpp's.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace handoff::server {

enum class Method : std::uint8_t { get, post, put, del, other };

std::string_view to_string(Method method);

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Request {
  Method method = Method::get;
  std::string path;                   // Without the query, as it was sent.
  std::vector<std::string> segments;  // Of the path, decoded: "v1", "tasks", ...
  Pairs query;                        // Decoded, in order.
  std::string body;

  std::string content_type;
  std::string authorization;
  std::string traceparent;
  std::string last_event_id;
  std::string peer;  // An address, for the audit log.
};

struct Response {
  int status = 200;
  std::string body{};
  std::string content_type = "application/json";
  Pairs headers{};
};

// "/v1/tasks/a%20b?wait=30s" into segments and query. Nothing if it is no path: not decodable, too long, or with "..".
struct Target {
  std::string path;
  std::vector<std::string> segments;
  Pairs query;
};
std::optional<Target> parse_target(std::string_view target);

}  // namespace handoff::server
