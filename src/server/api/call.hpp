// What handlers do with a call: read it, or say what is wrong with it.
#pragma once

#include <exception>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "server/api/error.hpp"
#include "server/http/router.hpp"

namespace handoff::server {

// Thrown by what is below, and caught in one place: Api::answer().
class ApiFailure : public std::exception {
 public:
  explicit ApiFailure(ApiError error) : error_(std::move(error)) {}
  const ApiError& error() const { return error_; }
  const char* what() const noexcept override { return error_.message.c_str(); }

 private:
  ApiError error_;
};

// The value, or the answer that says why there is none. Taken by reference: g++ 12 warns of moves out of one it has copied.
template <typename Expected>
auto must(Expected&& result) -> typename std::remove_cvref_t<Expected>::value_type {
  using Error = typename std::remove_cvref_t<Expected>::error_type;
  if (!result) {
    if constexpr (std::is_same_v<Error, ApiError>) {
      throw ApiFailure(result.error());
    } else {
      throw ApiFailure(ApiError::from(result.error()));
    }
  }
  if constexpr (!std::is_void_v<typename std::remove_cvref_t<Expected>::value_type>) {
    return *std::forward<Expected>(result);
  }
}

// Of a path such as /v1/tasks/{id}. `what` is the name of the parameter.
tasks::TaskId id_of(const Call& call, std::string_view what = "id");
// Of a path such as /v1/queues/{name}: checked.
const std::string& queue_of(const Call& call);

// 415 if it is something else. curl sends forms unless told otherwise.
void must_be_json(const Request& request);

inline constexpr tasks::ReadOptions strictly{.unknown_fields = tasks::UnknownFields::refuse};

// Unknown fields are errors.
template <typename T>
T body_of(const Call& call) {
  must_be_json(call.request);
  return must(tasks::from_json<T>(call.request.body, strictly));
}

// The same; without a body it is as a new T.
template <typename T>
T body_if_any(const Call& call) {
  if (call.request.body.empty()) return T();
  return body_of<T>(call);
}

// Throws ApiFailure if the request has a parameter or a body that its route does not take, or a parameter twice.
void check_strangers(const Route& route, const Request& request);

// The parameters behind the question mark: those that the route names.
class Query {
 public:
  explicit Query(const Call& call) : pairs_(call.request.query) {}

  std::string text(std::string_view name) const;  // Empty if it is not there.
  std::optional<std::chrono::milliseconds> duration(std::string_view name) const;
  int number(std::string_view name, int otherwise, int least, int most) const;
  std::optional<tasks::TaskState> state(std::string_view name) const;
  bool flag(std::string_view name, bool otherwise) const;  // true or false.
  tasks::TaskId id(std::string_view name) const;

 private:
  const Pairs& pairs_;
};

tasks::TaskState state_of(std::string_view text, std::string_view field);

inline Response json_response(int status, std::string body) {
  return {.status = status, .body = std::move(body)};
}

}  // namespace handoff::server
