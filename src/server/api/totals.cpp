// GET /v1/totals and /v1/queues/{name}/history: how all queues are doing, and how it was.
#include <fmt/format.h>

#include "server/api/context.hpp"
#include "server/api/figures_json.hpp"

namespace handoff::server {

namespace {

constexpr std::chrono::seconds all_of_it{Track::seconds};

std::chrono::seconds span_of(const Query& query, std::string_view name) {
  const auto given = query.duration(name).value_or(all_of_it);
  must(tasks::check_range(given, tasks::Millis(0), tasks::Millis(all_of_it), name));
  return std::chrono::ceil<std::chrono::seconds>(given);
}

Response show_totals(ApiContext& api, const Call& call) {
  const Query query(call);
  const auto span = span_of(query, "history");
  const auto board = api.stats.board(api);
  const std::string history = to_json_text(api.meters.history_of_sum(span), api.started_at);
  return json_response(200, fmt::format(R"({{"at":"{}",{},"history":{}}})",
                                        tasks::to_text(board->at), board->totals, history));
}

Response show_history(ApiContext& api, const Call& call) {
  const Query query(call);
  const auto span = span_of(query, "span");
  const std::string& queue = queue_of(call);
  const std::string history = to_json_text(api.meters.history(queue, span), api.started_at);
  return json_response(200, fmt::format(R"({{"queue":"{}","history":{}}})", queue, history));
}

}  // namespace

void add_totals_routes(Router& router, ApiContext& api) {
  router.add({.method = Method::get,
              .pattern = "/v1/totals",
              .role = Role::produce,
              .summary = "How all queues are doing, and how it was in the last 15 minutes",
              .query = {{"history", Parameter::Kind::duration}},
              .handler = on_pool(api, show_totals)});
  router.add({.method = Method::get,
              .pattern = "/v1/queues/{name}/history",
              .role = Role::produce,
              .summary = "The last 15 minutes of one queue, second by second",
              .query = {{"span", Parameter::Kind::duration}},
              .handler = on_pool(api, show_history)});
}

}  // namespace handoff::server
