// /v1/tasks: handing tasks in, looking at them, and changing what becomes of one.
#include <fmt/format.h>

#include <utility>

#include "handoff/future.hpp"
#include "server/api/context.hpp"
#include "server/api/full_queue.hpp"
#include "server/api/media_type.hpp"
#include "server/api/schema.hpp"
#include "server/api/task_body.hpp"
#include "server/api/task_json.hpp"
#include "server/api/waiting.hpp"
#include "tasks/enqueue.hpp"

namespace handoff::server {

namespace {

using tasks::Enqueued;
using tasks::NewTask;

constexpr auto longest_wait = std::chrono::minutes(5);

Response accepted(const Enqueued& task) {
  const std::string id = task.id.to_string();
  Response response = json_response(task.is_duplicate ? 200 : 202,
                                    fmt::format(R"({{"id":"{}","state":"{}","duplicate":{}}})", id,
                                                to_string(task.state), task.is_duplicate));
  response.headers.emplace_back("Location", "/v1/tasks/" + id);
  return response;
}

using AllEnqueued = std::expected<std::vector<Enqueued>, tasks::TaskError>;

// Who waits for room does so until the server shuts down, at most. He is not counted any more, not even while he tries again: with many of them, each task
// that is done would keep out the next claim.
Lazy<AllEnqueued> hand_in(ApiContext& api, std::vector<NewTask> all) {
  StorePlace place(api);
  tasks::WhileFull while_full{.stop = api.shutdown, .begins = [&place] { place.leave(); }};
  auto lazy = tasks::enqueue_into(api.core, std::move(all), std::move(while_full));
  co_return co_await std::move(lazy);
}

std::expected<Enqueued, tasks::TaskError> only_one(AllEnqueued all) {
  if (!all) return std::unexpected(tasks::without_index(std::move(all.error())));
  return all->front();
}

Lazy<Response> enqueue(ApiContext& api, Call call) {
  must_be_json(call.request);
  NewTask task = must(read_task(call.request.body, api.origin_of(call.request.traceparent)));
  std::vector<NewTask> only;
  only.push_back(std::move(task));  // Not copied, as it would be by the vector's constructor.
  auto lazy = hand_in(api, std::move(only));
  auto enqueued = co_await std::move(lazy);
  co_return accepted(must_have_room(api, 1, only_one(std::move(enqueued))));
}

std::vector<NewTask> read_batch(const ApiContext& api, const Request& request) {
  if (is_media_type(request.content_type, "application/x-ndjson")) {
    return must(read_lines(request.body, api.origin_of(request.traceparent)));
  }
  must_be_json(request);
  return must(read_array(request.body, api.origin_of(request.traceparent)));
}

// What is not as it usually is: those that are not ready, and those that were there already.
std::string rest_of(const std::vector<Enqueued>& all) {
  std::string states;
  std::string duplicates;
  bool are_ready = true;
  for (std::size_t i = 0; i < all.size(); ++i) {
    are_ready &= all[i].state == tasks::TaskState::ready;
    if (all[i].is_duplicate) duplicates += fmt::format("{}{}", duplicates.empty() ? "" : ",", i);
  }
  for (std::size_t i = 0; !are_ready && i < all.size(); ++i) {
    states += fmt::format("{}\"{}\"", i == 0 ? "" : ",", to_string(all[i].state));
  }
  return (are_ready ? "" : fmt::format(R"(,"states":[{}])", states)) +
         (duplicates.empty() ? "" : fmt::format(R"(,"duplicates":[{}])", duplicates));
}

Response accepted(const std::vector<Enqueued>& all) {
  std::string ids;
  ids.reserve(all.size() * 39);
  for (const Enqueued& each : all) {
    if (!ids.empty()) ids += ',';
    ids += '"';
    ids += each.id.to_string();
    ids += '"';
  }
  return json_response(202, fmt::format(R"({{"ids":[{}]{}}})", ids, rest_of(all)));
}

Lazy<Response> enqueue_batch(ApiContext& api, Call call) {
  std::vector<NewTask> all = read_batch(api, call.request);
  const std::size_t wanted = all.size();
  auto lazy = hand_in(api, std::move(all));
  const auto enqueued = co_await std::move(lazy);
  co_return accepted(must_have_room(api, wanted, enqueued));
}

tasks::Task found(ApiContext& api, const tasks::TaskId& id) {
  auto task = api.tasks.get(id);
  if (!task) {
    throw ApiFailure(ApiError::not_found(fmt::format("there is no task {}", id.to_string())));
  }
  return *std::move(task);
}

Response look(ApiContext& api, const Call& call) {
  return json_response(200, to_json_text(found(api, id_of(call))));
}

// With ?wait it is answered when the task has finished, or the time is up.
Lazy<Response> show(ApiContext& api, Call call) {
  const Query query(call);
  const auto wait = query.duration("wait");
  const tasks::TaskId id = id_of(call);
  if (wait) {
    must(tasks::check_range(*wait, tasks::Millis(0), longest_wait, "wait"));
    auto end = wait_for_end(api, id, within(*wait), call.request.hurry);
    co_await std::move(end);
    api.must_be_let_in_still(call.request);
  }
  auto lazy = on_pool(api, look)(std::move(call));
  co_return co_await std::move(lazy);
}

// One, or none.
tasks::TaskList page_of(ApiContext& api, const tasks::TaskId& id) {
  tasks::TaskList page;
  if (auto task = api.tasks.get(id)) page.tasks.push_back(*std::move(task));
  return page;
}

// Step by step: of an aggregate in a conditional, g++ 12 destroys members that it has not made if one of them throws.
tasks::TaskList page_of(ApiContext& api, const Query& query, Payloads payloads) {
  if (!query.text("id").empty()) return page_of(api, query.id("id"));
  tasks::ListOptions filter;
  filter.queue = query.text("queue");
  filter.kind = query.text("kind");
  filter.state = query.state("state");
  filter.group = query.text("group");
  filter.error = query.text("error");
  filter.limit = query.number("limit", 100, 1, 1000);
  filter.cursor = query.text("cursor");
  filter.has_payloads = payloads == Payloads::shown;
  return must(api.tasks.list(filter));
}

Response list(ApiContext& api, const Call& call) {
  const Query query(call);
  const Payloads payloads = query.flag("payload", true) ? Payloads::shown : Payloads::left_out;
  const auto page = page_of(api, query, payloads);
  std::vector<std::string> items;
  for (const tasks::Task& each : page.tasks) items.push_back(to_json_text(each, payloads));
  return json_response(200, page_text("tasks", items, page.next_cursor));
}

Response explain(ApiContext& api, const Call& call) {
  const tasks::TaskId id = id_of(call);
  return json_response(200, to_json_text(id, must(api.tasks.explain(id))));
}

Response show_log(ApiContext& api, const Call& call) {
  const tasks::TaskId id = id_of(call);
  found(api, id);
  std::vector<std::string> items;
  for (const tasks::LogLine& each : api.tasks.log(id)) items.push_back(to_json_text(each));
  return json_response(200, page_text("lines", items, ""));
}

struct CancelBody {
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(CancelBody, (), (reason))

// As it is now, and the state in which it was.
Response changed(ApiContext& api, const tasks::TaskId& id, tasks::TaskState was) {
  std::string text = to_json_text(found(api, id));
  text.pop_back();
  return json_response(200, fmt::format(R"({},"was":"{}"}})", text, to_string(was)));
}

Response cancel(ApiContext& api, const Call& call) {
  const tasks::TaskId id = id_of(call);
  const auto body = body_if_any<CancelBody>(call);
  const auto was = must(api.tasks.cancel(id, body.reason.value_or("")));
  return changed(api, id, was);
}

Response retry(ApiContext& api, const Call& call) {
  const tasks::TaskId id = id_of(call);
  const auto was = must(api.tasks.retry(id));
  return changed(api, id, was);
}

}  // namespace

void add_task_routes(Router& router, ApiContext& api) {
  using Kind = Parameter::Kind;
  router.add({.method = Method::post,
              .pattern = "/v1/tasks",
              .role = Role::produce,
              .summary = "Hand in one task",
              .body = takes<TaskBody>(),
              .answers = {202, 200},
              .handler = [&api](Call call) { return enqueue(api, std::move(call)); }});
  router.add({.method = Method::post,
              .pattern = "/v1/tasks/batch",
              .role = Role::produce,
              .summary = "Hand in many tasks, all or none",
              .body = takes_many<TaskBody>(),
              .answers = {202},
              .handler = [&api](Call call) { return enqueue_batch(api, std::move(call)); }});
  router.add({.method = Method::get,
              .pattern = "/v1/tasks",
              .role = Role::produce,
              .summary = "A page of tasks, newest first",
              .query = {{"id", Kind::id},
                        {"queue"},
                        {"kind"},
                        {"state", Kind::state},
                        {"group"},
                        {"error"},
                        {"limit", Kind::number},
                        {"cursor"},
                        {"payload", Kind::flag}},
              .handler = on_pool(api, list)});
  router.add({.method = Method::get,
              .pattern = "/v1/tasks/{id}",
              .role = Role::produce,
              .summary = "One task; with ?wait, when it has finished",
              .query = {{"wait", Kind::duration}},
              .waits = Waits::if_asked,
              .handler = [&api](Call call) { return show(api, std::move(call)); }});
  router.add({.method = Method::get,
              .pattern = "/v1/tasks/{id}/explain",
              .role = Role::produce,
              .summary = "Why it is not running",
              .handler = on_pool(api, explain)});
  router.add({.method = Method::get,
              .pattern = "/v1/tasks/{id}/log",
              .role = Role::produce,
              .summary = "What its handlers have said",
              .handler = on_pool(api, show_log)});
  router.add({.method = Method::post,
              .pattern = "/v1/tasks/{id}/cancel",
              .role = Role::admin,
              .summary = "Cancel it, also while it runs",
              .body = takes_if_any<CancelBody>(),
              .handler = on_pool(api, cancel)});
  router.add({.method = Method::post,
              .pattern = "/v1/tasks/{id}/retry",
              .role = Role::admin,
              .summary = "Run a finished one again",
              .handler = on_pool(api, retry)});
}

}  // namespace handoff::server
