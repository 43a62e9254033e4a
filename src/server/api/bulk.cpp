// Many tasks at once, dead ones by reason, and who works.
#include <fmt/format.h>

#include "server/api/context.hpp"
#include "server/api/schema.hpp"
#include "server/api/task_json.hpp"

namespace handoff::server {

namespace {

struct FilterBody {
  std::optional<std::string> queue;
  std::optional<std::string> kind;
  std::optional<std::string> group;
  std::optional<std::string> state;
  std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(FilterBody, (), (queue, kind, group, state, error))

struct BulkBody {
  FilterBody filter;
  std::string action;
  bool dry_run = false;
  std::optional<std::string> reason;

  static constexpr auto optional_fields = std::to_array<std::string_view>({"dry_run"});
};
BOOST_DESCRIBE_STRUCT(BulkBody, (), (filter, action, dry_run, reason))

tasks::BulkFilter to_filter(const FilterBody& body) {
  tasks::BulkFilter filter{.queue = body.queue.value_or(""),
                           .kind = body.kind.value_or(""),
                           .group = body.group.value_or(""),
                           .error = body.error.value_or("")};
  if (body.state) filter.state = state_of(*body.state, "filter.state");
  return filter;
}

Response bulk(ApiContext& api, const Call& call) {
  const auto body = body_of<BulkBody>(call);
  if (body.action != "retry" && body.action != "cancel") {
    throw ApiFailure(ApiError::bad_request(
        "action", fmt::format("action must be \"retry\" or \"cancel\", got \"{}\"", body.action)));
  }
  const tasks::BulkFilter filter = to_filter(body.filter);
  const bool retries = body.action == "retry";
  if (retries != is_finished(filter.state)) {
    throw ApiFailure(ApiError::bad_request(
        "filter.state", retries ? "filter.state must be done, dead or cancelled to retry"
                                : "filter.state must be scheduled, waiting, ready or running to "
                                  "cancel"));
  }
  const std::int64_t count =
      must(body.dry_run ? api.tasks.count(filter)
           : retries    ? api.tasks.retry_all(filter, api.shutdown)
                        : api.tasks.cancel_all(filter, body.reason.value_or(""), api.shutdown));
  return bulk_response(api, count);
}

Response show_dead(ApiContext& api, const Call& call) {
  const Query query(call);
  std::vector<std::string> items;
  for (const auto& each : api.tasks.dead(query.text("queue"))) items.push_back(to_json_text(each));
  return json_response(200, page_text("dead", items, ""));
}

Response show_workers(ApiContext& api, const Call&) {
  std::vector<std::string> items;
  for (tasks::WorkerLook& each : api.tasks.workers()) {
    // The store has when it was first seen.
    if (const auto since = api.workers.unseen_for(each.name)) {
      each.seen_at = api.core->clock().now() - *since;
    }
    items.push_back(to_json_text(each));
  }
  return json_response(200, page_text("workers", items, ""));
}

}  // namespace

void add_bulk_routes(Router& router, ApiContext& api) {
  router.add({.method = Method::post,
              .pattern = "/v1/tasks/bulk",
              .role = Role::admin,
              .summary = "Retry or cancel all tasks that a filter means",
              .body = takes<BulkBody>(),
              .handler = on_long_pool(api, bulk)});
  router.add({.method = Method::get,
              .pattern = "/v1/dead",
              .role = Role::produce,
              .summary = "Dead tasks by kind and reason",
              .query = {{"queue"}},
              .handler = on_long_pool(api, show_dead)});
  router.add({.method = Method::get,
              .pattern = "/v1/workers",
              .role = Role::produce,
              .summary = "Who takes tasks",
              .handler = on_pool(api, show_workers)});
}

}  // namespace handoff::server
