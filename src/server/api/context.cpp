#include "server/api/context.hpp"

#include <fmt/format.h>

namespace handoff::server {

namespace {

Lazy<Response> run_on(WorkerPool& pool, ApiContext& api, BlockingHandler handler, Call call) {
  const auto kept = std::make_shared<const Call>(std::move(call));
  const auto work = [&api, handler, kept] { return handler(api, *kept); };
  auto lazy = on_pool_thread(pool, work);
  co_return co_await std::move(lazy);
}

}  // namespace

Response bulk_response(const ApiContext& api, std::int64_t count) {
  const bool is_cut_short = api.shutdown.stop_requested();
  return json_response(
      200, fmt::format(R"({{"count":{}{}}})", count, is_cut_short ? R"(,"complete":false)" : ""));
}

ApiFailure too_busy() {
  return ApiFailure({.status = 503,
                     .code = "unavailable",
                     .message = "too many requests are waiting for the store; try again",
                     .retry_after = std::chrono::seconds(1)});
}

Handler on_pool(ApiContext& api, BlockingHandler handler) {
  return [&api, handler](Call call) { return run_on(api.pool, api, handler, std::move(call)); };
}

Handler on_long_pool(ApiContext& api, BlockingHandler handler) {
  return
      [&api, handler](Call call) { return run_on(api.long_pool, api, handler, std::move(call)); };
}

}  // namespace handoff::server
