// How calls of users reach the store, and how what is wrong reaches them.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tasks/core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

inline std::unexpected<TaskError> bad_request(std::string field, std::string message) {
  return std::unexpected(TaskError{.code = TaskError::Code::bad_request,
                                   .message = std::move(message),
                                   .field = std::move(field)});
}

// Runs it in a shared transaction. What the store cannot do is a value.
template <typename T, typename Work>
std::expected<T, TaskError> transact(TasksCore& core, Work work) {
  std::expected<T, TaskError> result = std::unexpected(TaskError());
  try {
    core.batcher().run([&](Transaction& transaction) { result = work(transaction); });
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
  return result;
}

// The same for what only looks.
template <typename T, typename Work>
std::expected<T, TaskError> look(TasksCore& core, Work work) {
  try {
    std::optional<T> result;
    core.store().read([&](Transaction& transaction) { result = work(transaction); });
    return std::move(*result);
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

// What `work` returns, or throws.
template <typename T, typename Work>
std::expected<T, TaskError> or_error(Work work) {
  try {
    return work();
  } catch (...) {
    return std::unexpected(to_error(std::current_exception()));
  }
}

inline TaskError no_such(std::string_view what, const TaskId& id) {
  return {.code = TaskError::Code::not_found,
          .message = fmt::format("there is no {} {}", what, id.to_string()),
          .field = "id"};
}

// A cursor of a page: a row's number.
inline std::expected<std::optional<std::int64_t>, TaskError> read_cursor(std::string_view cursor) {
  if (cursor.empty()) return std::nullopt;
  std::int64_t before = 0;
  const char* const end = cursor.data() + cursor.size();
  if (std::from_chars(cursor.data(), end, before).ptr != end) {
    return bad_request("cursor", "cursor must be the next_cursor of an earlier page");
  }
  return before;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
