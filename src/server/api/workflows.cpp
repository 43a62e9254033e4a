// /v1/workflows: steps that depend on each other, as one thing.
#include <fmt/format.h>

#include <utility>

#include "server/api/context.hpp"
#include "server/api/full_queue.hpp"
#include "server/api/schema.hpp"
#include "server/api/task_body.hpp"
#include "server/api/task_json.hpp"
#include "server/api/waiting.hpp"

namespace handoff::server {

namespace {

constexpr auto longest_wait = std::chrono::minutes(5);

struct StepBody {
  std::string name;
  std::vector<std::string> after;
  TaskBody task;
  std::optional<tasks::Json> compensate;
  static constexpr auto optional_fields = std::to_array<std::string_view>({"after"});
};
BOOST_DESCRIBE_STRUCT(StepBody, (), (name, after, task, compensate))

struct WorkflowBody {
  std::optional<std::string> name;
  std::optional<tasks::TaskId> id;
  std::vector<StepBody> steps;
};
BOOST_DESCRIBE_STRUCT(WorkflowBody, (), (name, id, steps))

// Compensation is for a later version: better refused than forgotten.
tasks::Workflow to_workflow(WorkflowBody body, const TaskOrigin& origin) {
  tasks::Workflow workflow(std::move(body.name).value_or("workflow"));
  if (body.id) workflow.id(*body.id);
  for (StepBody& each : body.steps) {
    if (each.compensate) {
      const std::string field = fmt::format("steps.{}.compensate", each.name);
      throw ApiFailure(ApiError::bad_request(field, field + " is not supported yet"));
    }
    auto task = to_task(std::move(each.task), origin, fmt::format("steps.{}.", each.name));
    workflow.step(std::move(each.name), std::move(task), std::move(each.after));
  }
  return workflow;
}

Response start(ApiContext& api, const Call& call) {
  auto body = body_of<WorkflowBody>(call);
  const std::size_t wanted = body.steps.size();
  auto workflow = to_workflow(std::move(body), api.origin_of(call.request.traceparent));
  const auto started = must_have_room(api, wanted, api.tasks.start(std::move(workflow)));
  std::vector<std::string> items;
  for (const auto& [name, id] : started.tasks) {
    items.push_back(fmt::format(R"("{}":"{}")", name, id.to_string()));
  }
  Response response = json_response(
      started.is_duplicate ? 200 : 202,
      fmt::format(R"({{"id":"{}","tasks":{{{}}},"duplicate":{}}})", started.id.to_string(),
                  fmt::join(items, ","), started.is_duplicate));
  response.headers.emplace_back("Location", "/v1/workflows/" + started.id.to_string());
  return response;
}

Response list(ApiContext& api, const Call& call) {
  const Query query(call);
  const auto page =
      must(api.tasks.workflows(query.number("limit", 100, 1, 1000), query.text("cursor")));
  std::vector<std::string> items;
  for (const auto& each : page.workflows) items.push_back(to_json_text(each));
  return json_response(200, page_text("workflows", items, page.next_cursor));
}

Response look(ApiContext& api, const Call& call) {
  const auto id = id_of(call);
  const auto workflow = api.tasks.workflow(id);
  if (!workflow) {
    throw ApiFailure(ApiError::not_found(fmt::format("there is no workflow {}", id.to_string())));
  }
  return json_response(200, to_json_text(*workflow));
}

Lazy<Response> show(ApiContext& api, Call call) {
  const Query query(call);
  const auto wait = query.duration("wait");
  if (wait) {
    must(tasks::check_range(*wait, tasks::Millis(0), longest_wait, "wait"));
    auto end = wait_for_workflow(api, id_of(call), within(*wait), call.request.hurry);
    co_await std::move(end);
    api.must_be_let_in_still(call.request);
  }
  auto lazy = on_pool(api, look)(std::move(call));
  co_return co_await std::move(lazy);
}

struct CancelBody {
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(CancelBody, (), (reason))

Response cancel(ApiContext& api, const Call& call) {
  const auto body = body_if_any<CancelBody>(call);
  must(api.tasks.cancel_workflow(id_of(call), body.reason.value_or("")));
  return look(api, call);
}

Response retry(ApiContext& api, const Call& call) {
  const int count = must(api.tasks.retry_workflow(id_of(call)));
  Response response = look(api, call);
  response.body.pop_back();
  response.body += fmt::format(R"(,"count":{}}})", count);
  return response;
}

}  // namespace

void add_workflow_routes(Router& router, ApiContext& api) {
  router.add({.method = Method::post,
              .pattern = "/v1/workflows",
              .role = Role::produce,
              .summary = "Start a workflow: all of its tasks, or none",
              .body = takes<WorkflowBody>(),
              .answers = {202, 200},
              .handler = on_pool(api, start)});
  router.add({.method = Method::get,
              .pattern = "/v1/workflows",
              .role = Role::produce,
              .summary = "A page of workflows, newest first",
              .query = {{"limit", Parameter::Kind::number}, {"cursor"}},
              .handler = on_pool(api, list)});
  router.add({.method = Method::get,
              .pattern = "/v1/workflows/{id}",
              .role = Role::produce,
              .summary = "One workflow with its steps; with ?wait, when it has ended",
              .query = {{"wait", Parameter::Kind::duration}},
              .waits = Waits::if_asked,
              .handler = [&api](Call call) { return show(api, std::move(call)); }});
  router.add({.method = Method::post,
              .pattern = "/v1/workflows/{id}/cancel",
              .role = Role::admin,
              .summary = "Cancel what of it has not ended",
              .body = takes_if_any<CancelBody>(),
              .handler = on_long_pool(api, cancel)});
  router.add({.method = Method::post,
              .pattern = "/v1/workflows/{id}/retry",
              .role = Role::admin,
              .summary = "Run its steps again that are dead or cancelled",
              .handler = on_long_pool(api, retry)});
}

}  // namespace handoff::server
