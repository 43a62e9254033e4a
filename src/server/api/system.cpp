// What is not about tasks: whether the server lives, how it is doing, what it offers.
#include <fmt/format.h>

#include <utility>

#include "server/api/api.hpp"
#include "server/api/metrics.hpp"
#include "server/api/openapi.hpp"
#include "server/version.hpp"

namespace handoff::server {

namespace {

Lazy<Response> at_once(Response response) { co_return response; }

}  // namespace

// The store answers, and nobody shuts down.
Response Api::readiness() {
  if (is_shutting_down_) {
    return refuse(503, "unavailable", "the server is shutting down");
  }
  context_.core->store().read([](tasks::Transaction& transaction) { transaction.tokens(); });
  return json_response(200, R"({"status":"ready"})");
}

Response Api::metrics() {
  return {.status = 200,
          .body = metrics_text(context_, counters_ ? counters_() : HttpCounters(), *requests_),
          .content_type = "text/plain; version=0.0.4"};
}

Response Api::about(const Request& request) {
  const Role role = must(tokens_.holder(request.authorization)).role;
  return json_response(
      200,
      fmt::format(
          R"({{"version":"{}","started_at":"{}","now":"{}","store":"{}","demo":{},"auth":{},"role":"{}"}})",
          version(), tasks::to_text(context_.started_at),
          tasks::to_text(context_.core->clock().now()), store_, context_.demo != nullptr,
          tokens_.are_needed(), to_string(role)));
}

void Api::add_system_routes() {
  const auto on_the_pool = [this](Response (Api::*work)()) {
    return [this, work](Call) -> Lazy<Response> {
      return [](Api& api, Response (Api::*what)()) -> Lazy<Response> {
        const auto run = [&api, what] { return (api.*what)(); };
        auto lazy = on_pool_thread(api.pool_, run);
        co_return co_await std::move(lazy);
      }(*this, work);
    };
  };
  router_.add({.method = Method::get,
               .pattern = "/v1/server",
               .role = Role::any,
               .summary = "What this server is, and who you are to it",
               .handler = [this](Call call) { return at_once(about(call.request)); }});
  router_.add({.method = Method::get,
               .pattern = "/healthz",
               .role = Role::nobody,
               .summary = "The server lives",
               .strangers = Strangers::ignored,
               .handler = [](Call) { return at_once(json_response(200, R"({"status":"ok"})")); }});
  router_.add({.method = Method::get,
               .pattern = "/readyz",
               .role = Role::nobody,
               .summary = "The store answers, and the server does not shut down",
               .strangers = Strangers::ignored,
               .handler = on_the_pool(&Api::readiness)});
  router_.add({.method = Method::get,
               .pattern = "/metrics",
               .role = Role::any,
               .summary = "How it is doing, for Prometheus",
               .strangers = Strangers::ignored,
               .handler = on_the_pool(&Api::metrics)});
  router_.add(
      {.method = Method::get,
       .pattern = "/openapi.json",
       .role = Role::nobody,
       .summary = "This API as OpenAPI 3.1",
       .handler = [this](Call) { return at_once(json_response(200, openapi_text(router_))); }});
}

}  // namespace handoff::server
