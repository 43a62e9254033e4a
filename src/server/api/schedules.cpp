// /v1/schedules: tasks that come again and again.
#include <fmt/format.h>

#include <utility>

#include "server/api/context.hpp"
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

Response list(ApiContext& api, const Call& call) {
  const Query query(call, {});
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
  const auto add = [&](Method method, std::string pattern, Role role, std::string summary,
                       BlockingHandler handler) {
    router.add({.method = method,
                .pattern = std::move(pattern),
                .role = role,
                .summary = std::move(summary),
                .handler = on_pool(api, handler)});
  };
  add(Method::get, "/v1/schedules", Role::produce, "All schedules", list);
  add(Method::get, "/v1/schedules/{name}", Role::produce, "One schedule", show);
  add(Method::put, "/v1/schedules/{name}", Role::admin, "Make it, or change it", put);
  add(Method::del, "/v1/schedules/{name}", Role::admin, "Remove it", remove);
  add(Method::post, "/v1/schedules/{name}/pause", Role::admin, "It makes no tasks", pause);
  add(Method::post, "/v1/schedules/{name}/resume", Role::admin, "It makes tasks again", resume);
}

}  // namespace handoff::server
