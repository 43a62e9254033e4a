// Queues, workflows, schedules; and what only those do who have the file.
#include <fmt/format.h>

#include "tasks/remote/remote_transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {

constexpr Millis for_many = std::chrono::minutes(10);

std::string queue_path(std::string_view queue, std::string_view what = "") {
  return fmt::format("/v1/queues/{}{}", escaped(queue), what);
}
std::string workflow_path(const WorkflowId& id, std::string_view what = "") {
  return fmt::format("/v1/workflows/{}{}", id.to_string(), what);
}
std::string schedule_path(std::string_view name, std::string_view what = "") {
  return fmt::format("/v1/schedules/{}{}", escaped(name), what);
}

[[noreturn]] void refuse(std::string_view what) {
  throw StoreFailure({.code = TaskError::Code::bad_request,
                      .message = fmt::format("{}; a server is not asked for that: do it on its "
                                             "machine, with --store sqlite:<path>",
                                             what),
                      .field = {}});
}

[[noreturn]] void keeps_time_itself() { refuse("a server keeps time itself"); }

}  // namespace

// -- Queues ---------------------------------------------------------------------------------------

QueueLook RemoteTransaction::look(std::string_view queue) {
  return wire::read_queue(ask({.path = queue_path(queue)}), now());
}

std::vector<QueueLook> RemoteTransaction::look_at_all() {
  std::vector<QueueLook> looks;
  std::string cursor;
  do {
    const std::string path = cursor.empty() ? "/v1/queues" : "/v1/queues?cursor=" + escaped(cursor);
    cursor = wire::read_queues(ask({.path = path}), now(), looks);
  } while (!cursor.empty());
  return looks;
}

void RemoteTransaction::configure(std::string_view queue, const QueueSettings& settings) {
  std::string body = wire::write_settings(settings, look(queue).settings);
  if (body.empty()) body = "{}";  // A queue that is set exists.
  ask({.method = "PUT", .path = queue_path(queue), .body = body});
}

void RemoteTransaction::pause(std::string_view queue, bool is_paused) {
  ask({.method = "POST", .path = queue_path(queue, is_paused ? "/pause" : "/resume")});
}

Chore RemoteTransaction::purge(std::string_view queue, TaskState state, int) {
  const std::string body = fmt::format(R"({{"state":"{}"}})", to_string(state));
  const std::string answer = ask(
      {.method = "POST", .path = queue_path(queue, "/purge"), .body = body, .timeout = for_many});
  return {.done = static_cast<int>(wire::read_count(answer)), .has_more = false};
}

// -- Workflows ------------------------------------------------------------------------------------

std::expected<StartedWorkflow, TaskError> RemoteTransaction::start(const NewWorkflow& workflow) {
  const std::string body = wire::write_workflow(workflow);
  const auto answer = send({.method = "POST", .path = "/v1/workflows", .body = body});
  if (!answer) return std::unexpected(answer.error().error);
  return wire::read_started(*answer);
}

std::optional<WorkflowLook> RemoteTransaction::workflow(const WorkflowId& id) {
  const auto body = ask_for(workflow_path(id));
  if (!body) return std::nullopt;
  return wire::read_workflow(*body, store_.has_codec());
}

WorkflowPage RemoteTransaction::workflows(int limit, std::optional<std::int64_t> before) {
  std::string path = fmt::format("/v1/workflows?limit={}", limit);
  if (before) path += fmt::format("&cursor={}", *before);
  return wire::read_workflows(ask({.path = path}));
}

std::expected<void, TaskError> RemoteTransaction::cancel_workflow(const WorkflowId& id,
                                                                  std::string_view reason) {
  const std::string body = wire::write_reason(reason);
  const auto answer = send({.method = "POST", .path = workflow_path(id, "/cancel"), .body = body});
  if (!answer) return std::unexpected(answer.error().error);
  return {};
}

std::expected<int, TaskError> RemoteTransaction::replay_workflow(const WorkflowId& id) {
  const auto answer = send({.method = "POST", .path = workflow_path(id, "/retry")});
  if (!answer) return std::unexpected(answer.error().error);
  return static_cast<int>(wire::read_count(*answer));
}

// -- Schedules ------------------------------------------------------------------------------------

std::expected<ScheduleLook, TaskError> RemoteTransaction::put_schedule(const Schedule& schedule) {
  const std::string body = wire::write_schedule(schedule);
  const auto answer = send({.method = "PUT", .path = schedule_path(schedule.name), .body = body});
  if (!answer) return std::unexpected(answer.error().error);
  return wire::read_schedule(*answer, store_.has_codec());
}

std::optional<ScheduleLook> RemoteTransaction::schedule(std::string_view name) {
  const auto body = ask_for(schedule_path(name));
  if (!body) return std::nullopt;
  return wire::read_schedule(*body, store_.has_codec());
}

std::vector<ScheduleLook> RemoteTransaction::schedules() {
  return wire::read_schedules(ask({.path = "/v1/schedules"}), store_.has_codec());
}

bool RemoteTransaction::remove_schedule(std::string_view name) {
  return change("DELETE", schedule_path(name)).has_value();
}

bool RemoteTransaction::pause_schedule(std::string_view name, bool is_paused) {
  return change("POST", schedule_path(name, is_paused ? "/pause" : "/resume")).has_value();
}

// -- Not for clients ------------------------------------------------------------------------------

std::vector<DeliveringQueue> RemoteTransaction::delivering() {
  refuse("only a server delivers tasks");
}

bool RemoteTransaction::add_token(const TokenRow&) { refuse("tokens are made where the store is"); }

bool RemoteTransaction::remove_token(std::string_view) {
  refuse("tokens are revoked where the store is");
}

std::vector<TokenRow> RemoteTransaction::tokens() {
  refuse("tokens are listed where the store is");
}

std::vector<std::pair<std::int64_t, TaskId>> RemoteTransaction::find(const TaskFilter&,
                                                                     std::int64_t) {
  refuse("tasks are changed in bulk by the server");
}
std::int64_t RemoteTransaction::count(const TaskFilter&) {
  refuse("tasks are counted by the server");
}

Chore RemoteTransaction::promote(int) { keeps_time_itself(); }
Chore RemoteTransaction::reclaim(int) { keeps_time_itself(); }
Chore RemoteTransaction::reclaim_process(std::int64_t, int) { keeps_time_itself(); }
Chore RemoteTransaction::expire(int) { keeps_time_itself(); }
Chore RemoteTransaction::fire(int) { keeps_time_itself(); }
Chore RemoteTransaction::prune(int) { keeps_time_itself(); }
bool RemoteTransaction::has_finished() { keeps_time_itself(); }
std::optional<Millis> RemoteTransaction::next_due() { keeps_time_itself(); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
