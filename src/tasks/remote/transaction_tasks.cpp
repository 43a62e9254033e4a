// Handing tasks in, looking at them, changing what becomes of them.
#include <fmt/format.h>

#include <algorithm>

#include "tasks/remote/remote_transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {

// A queue may let who hands in wait for room.
constexpr Millis for_room = std::chrono::minutes(1);

std::string path_of(const TaskId& id, std::string_view what = "") {
  return fmt::format("/v1/tasks/{}{}", id.to_string(), what);
}

}  // namespace

Answer RemoteTransaction::send(Question question) {
  question.limits.stop = store_.closes();
  return store_.server().ask(question);
}

std::string RemoteTransaction::ask(const Question& question) {
  auto answer = send(question);
  if (!answer) throw StoreFailure(std::move(answer.error().error));
  return std::move(*answer);
}

std::optional<std::string> RemoteTransaction::ask_for(std::string path) {
  auto answer = send({.path = std::move(path)});
  if (answer) return std::move(*answer);
  if (answer.error().status == 404) return std::nullopt;
  throw StoreFailure(std::move(answer.error().error));
}

std::optional<std::string> RemoteTransaction::change(std::string method, std::string path,
                                                     std::string_view body) {
  auto answer = send({.method = std::move(method), .path = std::move(path), .body = body});
  if (answer) return std::move(*answer);
  if (answer.error().status == 404) return std::nullopt;
  throw StoreFailure(std::move(answer.error().error));
}

namespace {
// As a batch of one would have it.
TaskError with_index(TaskError error) {
  if (error.field.empty()) return error;
  // What is said of the queue `queue` does not begin with a field.
  const bool is_of_room =
      error.code == TaskError::Code::full || error.code == TaskError::Code::too_large;
  if (!is_of_room && error.message.starts_with(error.field)) error.message.insert(0, "[0].");
  error.field.insert(0, "[0].");
  return error;
}
}  // namespace

// They get their ids here, so that asking twice makes no second task.
std::expected<std::vector<Enqueued>, TaskError> RemoteTransaction::insert(
    std::span<const NewTask> tasks) {
  std::vector<NewTask> sent(tasks.begin(), tasks.end());
  for (NewTask& each : sent) {
    if (!each.id) each.id = TaskId::make(now());
  }
  const bool is_one = sent.size() == 1;
  const std::string body = is_one ? wire::write_task(sent.front()) : wire::write_batch(sent);
  const auto answer = send({.method = "POST",
                            .path = is_one ? "/v1/tasks" : "/v1/tasks/batch",
                            .body = body,
                            .timeout = for_room});
  if (!answer) {
    return std::unexpected(is_one ? with_index(answer.error().error) : answer.error().error);
  }
  std::vector<Enqueued> all;
  if (is_one) {
    all.push_back(wire::read_enqueued(*answer));
  } else {
    all = wire::read_batch(*answer);
  }
  if (all.size() != sent.size()) {
    return std::unexpected(TaskError{.code = TaskError::Code::internal,
                                     .message = "the server has answered for other tasks",
                                     .field = {}});
  }
  // One that has the id that was made for it is new, however often it was sent.
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!tasks[i].id && all[i].id == *sent[i].id) all[i].is_duplicate = false;
  }
  return all;
}

std::optional<Task> RemoteTransaction::get(const TaskId& id) {
  const auto body = ask_for(path_of(id));
  if (!body) return std::nullopt;
  return wire::read_task(*body, store_.has_codec());
}

TaskPage RemoteTransaction::list(const TaskFilter& filter) {
  std::string path = fmt::format("/v1/tasks?limit={}", filter.limit);
  const auto add = [&](std::string_view name, std::string_view value) {
    if (!value.empty()) path += fmt::format("&{}={}", name, escaped(value));
  };
  add("queue", filter.queue);
  add("kind", filter.kind);
  add("group", filter.group);
  add("error", filter.error);
  if (!filter.has_payloads) add("payload", "false");
  if (filter.state) add("state", to_string(*filter.state));
  if (filter.before) add("cursor", fmt::to_string(*filter.before));
  return wire::read_page(ask({.path = path}), store_.has_codec());
}

std::vector<LogLine> RemoteTransaction::lines_of(const TaskId& id) {
  const auto body = ask_for(path_of(id, "/log"));
  return body ? wire::read_lines(*body) : std::vector<LogLine>();
}

std::vector<std::optional<TaskState>> RemoteTransaction::states_of(std::span<const TaskId> ids) {
  std::vector<std::optional<TaskState>> states;
  for (const TaskId& each : ids) {
    const auto body = ask_for(path_of(each));
    states.push_back(body ? std::optional(wire::read_was(*body)) : std::nullopt);
  }
  return states;
}

std::optional<Explanation> RemoteTransaction::explain(const TaskId& id) {
  const auto body = ask_for(path_of(id, "/explain"));
  if (!body) return std::nullopt;
  return wire::read_explanation(*body);
}

std::vector<DeadGroup> RemoteTransaction::dead(std::string_view queue) {
  const std::string filter = queue.empty() ? "" : "?queue=" + escaped(queue);
  return wire::read_dead(ask({.path = "/v1/dead" + filter}));
}

std::vector<WorkerLook> RemoteTransaction::workers() {
  return wire::read_workers(ask({.path = "/v1/workers"}));
}

std::expected<TaskState, TaskError> RemoteTransaction::cancel(const TaskId& id,
                                                              std::string_view reason) {
  const std::string body = wire::write_reason(reason);
  const auto answer = send({.method = "POST", .path = path_of(id, "/cancel"), .body = body});
  if (!answer) return std::unexpected(answer.error().error);
  return wire::read_was(*answer);
}

std::expected<TaskState, TaskError> RemoteTransaction::replay(const TaskId& id) {
  const auto answer = send({.method = "POST", .path = path_of(id, "/retry")});
  if (!answer) return std::unexpected(answer.error().error);
  return wire::read_was(*answer);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
