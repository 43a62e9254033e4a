// A task as a request asks for it.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/tasks/limits.hpp"
#include "handoff/tasks/payload.hpp"
#include "handoff/tasks/task.hpp"
#include "server/api/duration_field.hpp"
#include "server/api/error.hpp"
#include "server/push/push_hosts.hpp"

namespace handoff::server {

struct NotifyBody {
  std::string url;
};
BOOST_DESCRIBE_STRUCT(NotifyBody, (), (url))

// What is not there is as NewTask has it.
struct TaskBody {
  std::string queue;
  std::string kind;
  tasks::Json payload;
  std::optional<DurationField> delay;
  std::optional<tasks::Time> run_at;
  int priority = 0;
  std::optional<int> max_attempts;
  std::optional<DurationField> timeout;
  std::optional<tasks::TaskId> id;
  std::optional<std::string> unique_key;
  std::optional<DurationField> unique_for;
  std::optional<DurationField> expires_in;
  std::optional<NotifyBody> notify;
  std::optional<std::string> group;
  std::vector<tasks::TaskId> after;
  std::optional<std::string> trace;

  static constexpr auto optional_fields =
      std::to_array<std::string_view>({"payload", "priority", "after"});
};
BOOST_DESCRIBE_STRUCT(TaskBody, (),
                      (queue, kind, payload, delay, run_at, priority, max_attempts, timeout, id,
                       unique_key, unique_for, expires_in, notify, group, after, trace))

// What a task takes from the request that asks for it, and from the server.
struct TaskOrigin {
  std::string_view trace{};  // Of the request, for a task that has none of its own.
  // Whom it may tell of its end. Null: that is said only by who delivers the news.
  const PushHosts* hosts = nullptr;
  std::size_t payload_limit = tasks::limits::payload_size;  // 413 for what is larger.
};

// `prefix` stands before the names of its fields: "task.". Throws ApiFailure.
tasks::NewTask to_task(TaskBody body, const TaskOrigin& origin, std::string_view prefix = "");

// One object; an array of them, or one in each line. Unknown fields are errors.
std::expected<tasks::NewTask, ApiError> read_task(std::string_view json, const TaskOrigin& origin);
std::expected<std::vector<tasks::NewTask>, ApiError> read_array(std::string_view json,
                                                                const TaskOrigin& origin);
std::expected<std::vector<tasks::NewTask>, ApiError> read_lines(std::string_view lines,
                                                                const TaskOrigin& origin);

}  // namespace handoff::server
