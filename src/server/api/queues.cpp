// /v1/queues: how they are set, how they are doing, and what an operator does with them.
#include <fmt/format.h>

#include "server/api/context.hpp"
#include "server/api/queue_json.hpp"
#include "tasks/call.hpp"

namespace handoff::server {

namespace {

std::string text_of(ApiContext& api, const tasks::QueueLook& look) {
  return to_json_text(look, api.meters.look(look.name), api.core->clock().now());
}

Response list(ApiContext& api, const Call& call) {
  const Query query(call, {});
  std::vector<std::string> items;
  for (const auto& each : api.tasks.queues()) items.push_back(text_of(api, each));
  return json_response(200, fmt::format(R"({{"queues":[{}]}})", fmt::join(items, ",")));
}

// One that was never used is as it would be.
Response show(ApiContext& api, const Call& call) {
  return json_response(200, text_of(api, api.tasks.queue(queue_of(call))));
}

// Read and written in one transaction: of two who change different things, both are heard.
Response configure(ApiContext& api, const Call& call) {
  const std::string& queue = queue_of(call);
  changed(tasks::QueueSettings(), call,
          api.push_hosts);  // What is wrong with it is said before anybody waits.
  must(tasks::transact<bool>(
      *api.core, [&](tasks::Transaction& transaction) -> std::expected<bool, tasks::TaskError> {
        const auto settings = changed(transaction.look(queue).settings, call, api.push_hosts);
        if (auto error = tasks::check_settings(settings)) return std::unexpected(*error);
        transaction.configure(queue, settings);
        return true;
      }));
  if (api.settings_changed) api.settings_changed();
  return show(api, call);
}

Response pause(ApiContext& api, const Call& call) {
  must(api.tasks.pause(queue_of(call)));
  return show(api, call);
}

Response resume(ApiContext& api, const Call& call) {
  must(api.tasks.resume(queue_of(call)));
  return show(api, call);
}

struct PurgeBody {
  std::string state;
};
BOOST_DESCRIBE_STRUCT(PurgeBody, (), (state))

Response purge(ApiContext& api, const Call& call) {
  const auto state = state_of(body_of<PurgeBody>(call).state, "state");
  return bulk_response(api, must(api.tasks.purge(queue_of(call), state, api.shutdown)));
}

Response retry(ApiContext& api, const Call& call) {
  return bulk_response(api, must(api.tasks.retry_all({.queue = queue_of(call)}, api.shutdown)));
}

}  // namespace

void add_queue_routes(Router& router, ApiContext& api) {
  router.add({.method = Method::get,
              .pattern = "/v1/queues",
              .role = Role::produce,
              .summary = "All queues",
              .handler = on_pool(api, list)});
  router.add({.method = Method::get,
              .pattern = "/v1/queues/{name}",
              .role = Role::produce,
              .summary = "One queue: its settings, and how it is doing",
              .handler = on_pool(api, show)});
  router.add({.method = Method::put,
              .pattern = "/v1/queues/{name}",
              .role = Role::admin,
              .summary = "Change some of its settings",
              .handler = on_pool(api, configure)});
  const auto add = [&](std::string action, std::string summary, BlockingHandler handler) {
    router.add({.method = Method::post,
                .pattern = "/v1/queues/{name}/" + action,
                .role = Role::admin,
                .summary = std::move(summary),
                .handler = on_pool(api, handler)});
  };
  add("pause", "No task of it begins", pause);
  add("resume", "They begin again", resume);
  add("purge", "Forget its tasks in one state", purge);
  add("retry", "Run all its dead tasks again", retry);
}

}  // namespace handoff::server
