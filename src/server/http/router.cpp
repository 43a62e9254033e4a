#include "server/http/router.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>

namespace handoff::server {

namespace {

bool is_parameter(const std::string& segment) { return segment.front() == '{'; }

std::optional<std::vector<std::string>> match(const std::vector<std::string>& pattern,
                                              const std::vector<std::string>& segments) {
  if (pattern.size() != segments.size()) return std::nullopt;
  std::vector<std::string> parameters;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (is_parameter(pattern[i])) {
      parameters.push_back(segments[i]);
    } else if (pattern[i] != segments[i]) {
      return std::nullopt;
    }
  }
  return parameters;
}

}  // namespace

void Router::add(Route route) {
  patterns_.push_back(parse_target(route.pattern).value().segments);
  routes_.push_back(std::move(route));
}

std::expected<Router::Match, ApiError> Router::find(const Request& request) const {
  std::string allow;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    auto parameters = match(patterns_[i], request.segments);
    if (!parameters) continue;
    if (routes_[i].method == request.method) return Match{&routes_[i], std::move(*parameters)};
    if (!allow.empty()) allow += ", ";
    allow += to_string(routes_[i].method);
  }
  if (allow.empty()) {
    return std::unexpected(
        ApiError::not_found(fmt::format("there is nothing at {}", request.path)));
  }
  return std::unexpected(ApiError{.status = 405,
                                  .code = "method_not_allowed",
                                  .message = fmt::format("{} allows {}", request.path, allow),
                                  .allow = allow});
}

}  // namespace handoff::server
