// /v1/queues: how they are set, how they are doing, and what an operator does with them.
#include <fmt/format.h>

#include <algorithm>

#include "server/api/context.hpp"
#include "server/api/queue_json.hpp"
#include "server/api/schema.hpp"
#include "server/api/task_json.hpp"
#include "tasks/call.hpp"

namespace handoff::server {

namespace {

std::string text_of(ApiContext& api, const tasks::QueueLook& look) {
  return to_json_text(look, api.meters.look(look.name), api.core->clock().now());
}

constexpr int usual_page = 1000;

// Who is first, of two. By depth and age the fullest and the oldest; equal ones by name.
bool is_before(std::string_view order, const tasks::QueueLook& a, const tasks::QueueLook& b) {
  if (order == "depth" && a.unfinished() != b.unfinished()) return a.unfinished() > b.unfinished();
  if (order == "oldest" && a.oldest_ready != b.oldest_ready) {
    if (!a.oldest_ready || !b.oldest_ready) return a.oldest_ready.has_value();
    return *a.oldest_ready < *b.oldest_ready;
  }
  return a.name < b.name;
}

std::string order_of(const Query& query) {
  std::string order = query.text("order");
  if (order.empty()) return "name";
  if (order == "name" || order == "depth" || order == "oldest") return order;
  throw ApiFailure(ApiError::bad_request(
      "order", fmt::format("order must be name, depth or oldest, got \"{}\"", order)));
}

// Where a page begins: behind a name, or, since other orders change from page to page, at a number.
std::size_t beginning(const std::vector<tasks::QueueLook>& looks, std::string_view order,
                      const std::string& cursor) {
  if (cursor.empty()) return 0;
  if (order == "name") {
    const auto found = std::ranges::upper_bound(looks, cursor, {}, &tasks::QueueLook::name);
    return static_cast<std::size_t>(found - looks.begin());
  }
  const auto place = must(tasks::read_cursor(cursor)).value_or(0);
  return std::min(looks.size(), static_cast<std::size_t>(std::max<std::int64_t>(place, 0)));
}

Response list(ApiContext& api, const Call& call) {
  const Query query(call);
  const int limit = query.number("limit", usual_page, 1, usual_page);
  const std::string order = order_of(query);
  const std::string search = query.text("search");
  std::vector<tasks::QueueLook> looks = api.tasks.queues();
  std::erase_if(looks, [&](const auto& look) { return look.name.find(search) == look.name.npos; });
  std::ranges::sort(looks, [&](const auto& a, const auto& b) { return is_before(order, a, b); });
  const std::size_t begin = beginning(looks, order, query.text("cursor"));
  const std::size_t end = std::min(looks.size(), begin + static_cast<std::size_t>(limit));
  std::vector<std::string> items;
  for (std::size_t i = begin; i < end; ++i) items.push_back(text_of(api, looks[i]));
  std::string next;
  if (end < looks.size()) next = order == "name" ? looks[end - 1].name : fmt::to_string(end);
  return json_response(200, page_text("queues", items, next));
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
              .summary = "A page of queues, by name, depth or age",
              .query = {{"limit", Parameter::Kind::number}, {"cursor"}, {"order"}, {"search"}},
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
              .body = settings_body(),
              .handler = on_pool(api, configure)});
  const auto add = [&](std::string action, std::string summary, Handler handler,
                       std::optional<BodyTaken> body = {}) {
    router.add({.method = Method::post,
                .pattern = "/v1/queues/{name}/" + action,
                .role = Role::admin,
                .summary = std::move(summary),
                .body = std::move(body),
                .handler = std::move(handler)});
  };
  add("pause", "No task of it begins", on_pool(api, pause));
  add("resume", "They begin again", on_pool(api, resume));
  add("purge", "Forget its tasks in one state", on_long_pool(api, purge), takes<PurgeBody>());
  add("retry", "Run all its dead tasks again", on_long_pool(api, retry));
}

}  // namespace handoff::server
