#include "server/api/task_body.hpp"

#include <fmt/format.h>

#include <utility>

#include "server/api/call.hpp"

namespace handoff::server {

namespace {

constexpr std::size_t most_in_a_batch = 10'000;

ApiError too_many() {
  return ApiError::bad_request("", fmt::format("a batch has {} tasks at most", most_in_a_batch));
}

std::chrono::milliseconds or_none(const std::optional<DurationField>& field) {
  return field ? field->value : std::chrono::milliseconds(0);
}

// What is wrong with where its end is to be told, if anything.
std::optional<ApiError> problem_of(const NotifyBody& notify, const PushHosts* hosts,
                                   std::string_view prefix) {
  const std::string field = fmt::format("{}notify.url", prefix);
  if (const auto good = tasks::check_url(notify.url, field); !good) {
    return ApiError::from(good.error());
  }
  const auto why = hosts == nullptr ? std::nullopt : hosts->refusal(notify.url);
  if (!why) return std::nullopt;
  return ApiError::bad_request(field, fmt::format("{} {}", field, *why));
}

// Which one of a batch it is; made only for those that may need it.
std::string prefix_of(const TaskBody& body, std::size_t index) {
  const bool may_be_wrong = body.notify || body.payload.depth() > deepest;
  return may_be_wrong ? fmt::format("[{}].", index) : std::string();
}

std::expected<tasks::NewTask, ApiError> make_task(TaskBody body, const TaskOrigin& origin,
                                                  std::string_view prefix) {
  if (body.notify) {
    if (auto problem = problem_of(*body.notify, origin.hosts, prefix)) {
      return std::unexpected(*std::move(problem));
    }
  }
  if (body.payload.depth() > deepest) {
    return std::unexpected(*depth_problem(body.payload, fmt::format("{}payload", prefix)));
  }
  tasks::NewTask task;
  task.queue = std::move(body.queue);
  task.kind = std::move(body.kind);
  task.payload = std::move(body.payload).text();
  task.priority = body.priority;
  task.delay = or_none(body.delay);
  task.run_at = body.run_at;
  task.max_attempts = body.max_attempts.value_or(0);
  task.timeout = or_none(body.timeout);
  task.id = body.id;
  task.unique_key = std::move(body.unique_key).value_or("");
  task.unique_for = or_none(body.unique_for);
  task.expires_in = or_none(body.expires_in);
  task.group = std::move(body.group).value_or("");
  task.after = std::move(body.after);
  // One in a header that is no traceparent is somebody else's affair, and ignored; one in the body is the client's.
  const bool has_trace = !origin.trace.empty() && tasks::check_trace(origin.trace).has_value();
  task.trace = std::move(body.trace).value_or(has_trace ? std::string(origin.trace) : "");
  if (body.notify) task.notify_url = std::move(body.notify->url);
  return task;
}

}  // namespace

tasks::NewTask to_task(TaskBody body, const TaskOrigin& origin, std::string_view prefix) {
  return must(make_task(std::move(body), origin, prefix));
}

std::expected<tasks::NewTask, ApiError> read_task(std::string_view json, const TaskOrigin& origin) {
  auto body = tasks::from_json<TaskBody>(json, strictly);
  if (!body) return std::unexpected(ApiError::from(body.error()));
  return make_task(*std::move(body), origin, "");
}

std::expected<std::vector<tasks::NewTask>, ApiError> read_array(std::string_view json,
                                                                const TaskOrigin& origin) {
  auto bodies = tasks::from_json<std::vector<TaskBody>>(json, strictly);
  if (!bodies) return std::unexpected(ApiError::from(bodies.error()));
  if (bodies->size() > most_in_a_batch) return std::unexpected(too_many());
  std::vector<tasks::NewTask> tasks;
  tasks.reserve(bodies->size());
  for (TaskBody& each : *bodies) {
    const std::string prefix = prefix_of(each, tasks.size());
    auto task = make_task(std::move(each), origin, prefix);
    if (!task) return std::unexpected(std::move(task.error()));
    tasks.push_back(*std::move(task));
  }
  return tasks;
}

std::expected<std::vector<tasks::NewTask>, ApiError> read_lines(std::string_view lines,
                                                                const TaskOrigin& origin) {
  std::vector<tasks::NewTask> tasks;
  while (!lines.empty()) {
    const auto end = lines.find('\n');
    std::string_view line = lines.substr(0, end);
    lines = end == std::string_view::npos ? std::string_view() : lines.substr(end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto body = tasks::from_json<TaskBody>(line, strictly);
    if (!body) {
      return std::unexpected(ApiError::from(body.error(), fmt::format("[{}]", tasks.size())));
    }
    if (tasks.size() == most_in_a_batch) return std::unexpected(too_many());
    const std::string prefix = prefix_of(*body, tasks.size());
    auto task = make_task(*std::move(body), origin, prefix);
    if (!task) return std::unexpected(std::move(task.error()));
    tasks.push_back(*std::move(task));
  }
  return tasks;
}

}  // namespace handoff::server
