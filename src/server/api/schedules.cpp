// /v1/schedules: tasks that come again and again.
#include <fmt/format.h>

#include <utility>

#include "server/api/context.hpp"
#include "server/api/schema.hpp"
#include "server/api/task_body.hpp"
#include "server/api/task_json.hpp"

namespace handoff::server {

namespace {

struct ScheduleBody {
  std::string cron;
  std::optional<std::string> timezone;
  std::optional<std::string> missed;
  TaskBody task;
};
BOOST_DESCRIBE_STRUCT(ScheduleBody, (), (cron, timezone, missed, task))

tasks::Missed to_missed(std::string_view text) {
  const auto missed = tasks::parse_missed(text);
  if (!missed) {
    throw ApiFailure(ApiError::bad_request(
        "missed", fmt::format("missed must be \"skip\", \"once\" or \"all\", got \"{}\"", text)));
  }
  return *missed;
}

const std::string& name_of(const Call& call) {
  must(tasks::check_queue(call.parameters.front(), "name"));
  return call.parameters.front();
}

Response put(ApiContext& api, const Call& call) {
  auto body = body_of<ScheduleBody>(call);
  tasks::Schedule schedule{.name = name_of(call),
                           .cron = std::move(body.cron),
                           .timezone = std::move(body.timezone).value_or("UTC"),
                           .task = to_task(std::move(body.task), api.origin_of(""), "task.")};
  if (body.missed) schedule.missed = to_missed(*body.missed);
  return json_response(200, to_json_text(must(api.tasks.schedule(schedule))));
}

Response list(ApiContext& api, const Call&) {
  std::vector<std::string> items;
  for (const auto& each : api.tasks.schedules()) items.push_back(to_json_text(each));
  return json_response(200, page_text("schedules", items, ""));
}

Response show(ApiContext& api, const Call& call) {
  const auto look = api.tasks.schedule(std::string_view(name_of(call)));
  if (!look) {
    throw ApiFailure(
        ApiError::not_found(fmt::format("there is no schedule \"{}\"", name_of(call))));
  }
  return json_response(200, to_json_text(*look));
}

Response remove(ApiContext& api, const Call& call) {
  must(api.tasks.unschedule(name_of(call)));
  return {.status = 204, .content_type = {}};
}

Response pause(ApiContext& api, const Call& call) {
  must(api.tasks.pause_schedule(name_of(call)));
  return show(api, call);
}

Response resume(ApiContext& api, const Call& call) {
  must(api.tasks.resume_schedule(name_of(call)));
  return show(api, call);
}

}  // namespace

void add_schedule_routes(Router& router, ApiContext& api) {
  const auto add = [&](Route route, BlockingHandler handler) {
    route.handler = on_pool(api, handler);
    router.add(std::move(route));
  };
  add({.pattern = "/v1/schedules", .role = Role::produce, .summary = "All schedules"}, list);
  add({.pattern = "/v1/schedules/{name}", .role = Role::produce, .summary = "One schedule"}, show);
  add({.method = Method::put,
       .pattern = "/v1/schedules/{name}",
       .summary = "Make it, or change it",
       .body = takes<ScheduleBody>()},
      put);
  add({.method = Method::del,
       .pattern = "/v1/schedules/{name}",
       .summary = "Remove it",
       .answers = {204}},
      remove);
  add({.method = Method::post,
       .pattern = "/v1/schedules/{name}/pause",
       .summary = "It makes no tasks"},
      pause);
  add({.method = Method::post,
       .pattern = "/v1/schedules/{name}/resume",
       .summary = "It makes tasks again"},
      resume);
}

}  // namespace handoff::server
