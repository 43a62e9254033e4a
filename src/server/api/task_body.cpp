#include "server/api/task_body.hpp"

#include <fmt/format.h>

#include <utility>

#include "handoff/tasks/duration.hpp"
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

std::optional<ApiError> problem_of(const tasks::Json& payload, std::size_t most,
                                   std::string_view prefix) {
  if (payload.depth() > deepest) return depth_problem(payload, fmt::format("{}payload", prefix));
  if (payload.text().size() <= most) return std::nullopt;
  return ApiError::too_large(fmt::format("{}payload", prefix), most, payload.text().size());
}

// "At once" is no time to start by. For a NewTask it means that there is no such time.
tasks::Checked check_expires_in(std::chrono::milliseconds time, std::string_view field) {
  return tasks::check_range(time, std::chrono::milliseconds(1), tasks::longest_duration, field);
}

// What a NewTask has where nothing was given, "" and 0, is no value that can be given. The whole name is made only for an error.
std::optional<ApiError> problem_of_given(const TaskBody& body, std::string_view prefix) {
  std::optional<ApiError> problem;
  const auto check = [&](std::string_view field, const auto& given, const auto& checked) {
    if (problem || !given || checked(*given, field)) return;
    problem = ApiError::from(checked(*given, fmt::format("{}{}", prefix, field)).error());
  };
  const auto checked_time = [&](std::string_view field, const auto& given, const auto& checked) {
    check(field, given, [&](const DurationField& each, std::string_view name) {
      return checked(each.value, name);
    });
  };
  check("max_attempts", body.max_attempts, tasks::check_max_attempts);
  checked_time("timeout", body.timeout, tasks::check_timeout);
  checked_time("expires_in", body.expires_in, check_expires_in);
  check("unique_key", body.unique_key, tasks::check_unique_key);
  check("group", body.group, tasks::check_group);
  check("trace", body.trace, tasks::check_trace);
  return problem;
}

// What is not seen any more once it is a NewTask. The rest is checked where that is stored.
std::optional<ApiError> problem_of(const TaskBody& body, const TaskOrigin& origin,
                                   std::string_view prefix) {
  if (body.notify) {
    if (auto problem = problem_of(*body.notify, origin.hosts, prefix)) return problem;
  }
  if (auto problem = problem_of(body.payload, origin.payload_limit, prefix)) return problem;
  return problem_of_given(body, prefix);
}

tasks::NewTask make_task(TaskBody body, const TaskOrigin& origin) {
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

// Which one of them it is, is written only for one that is wrong.
std::optional<ApiError> problem_in_batch(const TaskBody& body, const TaskOrigin& origin,
                                         std::size_t index) {
  if (!problem_of(body, origin, "")) return std::nullopt;
  return problem_of(body, origin, fmt::format("[{}].", index));
}

}  // namespace

tasks::NewTask to_task(TaskBody body, const TaskOrigin& origin, std::string_view prefix) {
  if (auto problem = problem_of(body, origin, prefix)) throw ApiFailure(*std::move(problem));
  return make_task(std::move(body), origin);
}

std::expected<tasks::NewTask, ApiError> read_task(std::string_view json, const TaskOrigin& origin) {
  auto body = tasks::from_json<TaskBody>(json, strictly);
  if (!body) return std::unexpected(ApiError::from(body.error()));
  if (auto problem = problem_of(*body, origin, "")) return std::unexpected(*std::move(problem));
  return make_task(*std::move(body), origin);
}

std::expected<std::vector<tasks::NewTask>, ApiError> read_array(std::string_view json,
                                                                const TaskOrigin& origin) {
  auto bodies = tasks::from_json<std::vector<TaskBody>>(json, strictly);
  if (!bodies) return std::unexpected(ApiError::from(bodies.error()));
  if (bodies->size() > most_in_a_batch) return std::unexpected(too_many());
  std::vector<tasks::NewTask> tasks;
  tasks.reserve(bodies->size());
  for (TaskBody& each : *bodies) {
    if (auto problem = problem_in_batch(each, origin, tasks.size())) {
      return std::unexpected(*std::move(problem));
    }
    tasks.push_back(make_task(std::move(each), origin));
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
    if (auto problem = problem_in_batch(*body, origin, tasks.size())) {
      return std::unexpected(*std::move(problem));
    }
    tasks.push_back(make_task(*std::move(body), origin));
  }
  return tasks;
}

}  // namespace handoff::server
