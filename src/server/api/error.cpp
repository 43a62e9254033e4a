#include "server/api/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace handoff::server {

namespace {

int status_of(tasks::TaskError::Code code) {
  using enum tasks::TaskError::Code;
  switch (code) {
    case full:
    case closed:
    case timed_out:
    case stopped:
    case unavailable: return 503;
    case bad_request: return 400;
    case not_found: return 404;
    case conflict:
    case stale_lease:
    case cancelled: return 409;
    case too_large: return 413;
    case forbidden: return 403;
    case internal: break;
  }
  return 500;
}

// The API has fewer.
std::string_view code_of(tasks::TaskError::Code code) {
  using enum tasks::TaskError::Code;
  if (code == closed || code == timed_out || code == stopped) return to_string(unavailable);
  return to_string(code);
}

// What the store says names files and whoever holds them: that is for the log.
std::optional<std::string_view> instead_of(const tasks::TaskError& error) {
  using enum tasks::TaskError::Code;
  if (error.code == internal) return "something went wrong here; the log of the server has more";
  if (error.code != unavailable) return std::nullopt;
  if (error.message.find("the disk is full") != std::string::npos) {
    return "the disk is full: the server can store nothing until somebody makes room";
  }
  return "the store cannot be used now; the log of the server has more";
}

// What can be trusted to hold is written without asking.
void write_error(tasks::JsonWriter& writer, const ApiError& error) {
  static_cast<void>(writer.begin_object());
  static_cast<void>(writer.key("error"));
  static_cast<void>(writer.begin_object());
  static_cast<void>(writer.key("code"));
  static_cast<void>(writer.string(error.code));
  static_cast<void>(writer.key("message"));
  if (!writer.string(error.message)) static_cast<void>(writer.string(""));
  static_cast<void>(writer.key("field"));
  if (error.field.empty() || !writer.string(error.field)) writer.null();
  writer.end_object();
  writer.end_object();
}

}  // namespace

ApiError ApiError::bad_request(std::string field, std::string message) {
  return {.status = 400,
          .code = "bad_request",
          .message = std::move(message),
          .field = std::move(field)};
}

ApiError ApiError::too_large(std::string field, std::size_t most, std::size_t got) {
  std::string message = fmt::format("{} must have {} bytes at most, got {}", field, most, got);
  return {
      .status = 413, .code = "too_large", .message = std::move(message), .field = std::move(field)};
}

ApiError ApiError::not_found(std::string message) {
  return {.status = 404, .code = "not_found", .message = std::move(message)};
}

ApiError ApiError::from(const tasks::TaskError& error) {
  ApiError api{.status = status_of(error.code),
               .code = std::string(code_of(error.code)),
               .message = error.message,
               .field = error.field};
  if (api.status == 503) api.retry_after = std::chrono::seconds(1);
  if (const auto message = instead_of(error)) {
    api.cause = std::exchange(api.message, std::string(*message));
  }
  return api;
}

ApiError ApiError::from(const tasks::Invalid& invalid) {
  return bad_request(invalid.field, invalid.message);
}

ApiError ApiError::from(const tasks::JsonError& error, std::string_view where) {
  std::string field(where);
  if (!field.empty() && !error.path.empty() && error.path.front() != '[') field += '.';
  field += error.path;
  const std::string message = field.empty() ? error.message : field + ": " + error.message;
  return bad_request(field, message);
}

std::optional<ApiError> depth_problem(const tasks::Json& json, std::string_view field) {
  if (json.depth() <= deepest) return std::nullopt;
  return ApiError::bad_request(
      std::string(field),
      fmt::format("{} must be nested {} deep at most, got {}", field, deepest, json.depth()));
}

Response to_response(const ApiError& error) {
  tasks::JsonWriter writer;
  write_error(writer, error);
  Response response{.status = error.status, .body = std::move(writer).finish().text()};
  if (error.retry_after) {
    const auto seconds = std::max(error.retry_after->count(), std::int64_t{1});
    response.headers.emplace_back("Retry-After", std::to_string(seconds));
  }
  if (!error.allow.empty()) response.headers.emplace_back("Allow", error.allow);
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace handoff::server
