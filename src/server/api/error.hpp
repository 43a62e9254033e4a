// What is wrong with a request, in the one shape that every error has.
//
//   { "error": { "code": "full", "message": "queue \"email\" holds 10000 of 10000 tasks", "field": null } }
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "handoff/tasks/error.hpp"
#include "handoff/tasks/json.hpp"
#include "handoff/tasks/limits.hpp"
#include "server/http/message.hpp"

namespace handoff::server {

struct ApiError {
  int status = 500;
  std::string code = "internal";
  std::string message;
  std::string field{};                                // Empty: null.
  std::optional<std::chrono::seconds> retry_after{};  // Whole seconds, at least 1.
  std::string allow{};                                // Methods, for 405.
  std::string cause{};                                // For the log; nobody else gets it.

  static ApiError bad_request(std::string field, std::string message);
  static ApiError too_large(std::string field, std::size_t most, std::size_t got);  // Bytes.
  static ApiError not_found(std::string message);
  static ApiError from(const tasks::TaskError& error);
  static ApiError from(const tasks::Invalid& invalid);
  // `where` stands before the path of the error: "task".
  static ApiError from(const tasks::JsonError& error, std::string_view where = {});
};

Response to_response(const ApiError& error);

// Answers have payloads and results inside of something, and clients have limits of their own: so deep these may be.
inline constexpr std::size_t deepest = tasks::Json::most_depth - 8;
std::optional<ApiError> depth_problem(const tasks::Json& json, std::string_view field);

}  // namespace handoff::server
