// /v1/demo: things to try. There only with `handoff serve --demo`.
#include "server/demo/demo.hpp"

#include <fmt/format.h>

#include "server/api/context.hpp"

namespace handoff::server {

namespace {

struct ThingJson {
  std::string name;
  std::string title;
  std::string description;
  std::string queue;
};
BOOST_DESCRIBE_STRUCT(ThingJson, (), (name, title, description, queue))

struct ThingsJson {
  std::vector<ThingJson> things;
};
BOOST_DESCRIBE_STRUCT(ThingsJson, (), (things))

struct StartedJson {
  std::string message;
  std::vector<tasks::TaskId> tasks;
  std::optional<tasks::TaskId> workflow;
};
BOOST_DESCRIBE_STRUCT(StartedJson, (), (message, tasks, workflow))

template <typename T>
Response json_of(int status, const T& value) {
  auto json = tasks::to_json(value);
  return json_response(status, json ? std::move(*json).text() : "{}");
}

Response list(ApiContext&, const Call&) {
  ThingsJson json;
  for (const Demo::Thing& each : Demo::things()) {
    json.things.push_back({.name = std::string(each.name),
                           .title = std::string(each.title),
                           .description = std::string(each.description),
                           .queue = std::string(each.queue)});
  }
  return json_of(200, json);
}

Response start(ApiContext& api, const Call& call) {
  auto started = must(api.demo->start(call.parameters.front()));
  return json_of(202, StartedJson{.message = std::move(started.message),
                                  .tasks = std::move(started.tasks),
                                  .workflow = started.workflow});
}

}  // namespace

void add_demo_routes(Router& router, ApiContext& api) {
  router.add({.method = Method::get,
              .pattern = "/v1/demo",
              .role = Role::produce,
              .summary = "Things to try",
              .handler = on_pool(api, list)});
  router.add({.method = Method::post,
              .pattern = "/v1/demo/{name}",
              .role = Role::produce,
              .summary = "Try one",
              .answers = {202},
              .handler = on_pool(api, start)});
}

}  // namespace handoff::server
