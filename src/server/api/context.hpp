// What all handlers of the API share.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/future.hpp"
#include "handoff/pool.hpp"
#include "handoff/tasks/tasks.hpp"
#include "server/api/call.hpp"
#include "server/api/rate_turns.hpp"
#include "server/api/remote_workers.hpp"
#include "server/api/stats_board.hpp"
#include "server/api/store_line.hpp"
#include "server/api/task_body.hpp"
#include "server/events/event_log.hpp"
#include "server/events/meters.hpp"
#include "server/http/router.hpp"
#include "server/push/push_hosts.hpp"
#include "tasks/core.hpp"

namespace handoff::server {

class Demo;

struct ApiContext {
  tasks::Tasks tasks;
  std::shared_ptr<tasks::TasksCore> core;  // Of the same store.
  WorkerPool& pool;                        // For what only looks, or takes one commit.
  WorkerPool& long_pool;  // For what goes through many tasks: nobody else waits for that.
  RemoteWorkers& workers;
  EventLog& events;
  Meters& meters;
  StatsBoards& stats;
  RateTurns& rate_turns;
  StoreLine& line;
  tasks::Time started_at;
  std::size_t payload_limit;
  std::stop_token shutdown;                  // Requested when the server begins to end.
  PushHosts push_hosts;                      // Whom tasks may be sent to.
  Demo* demo = nullptr;                      // Nothing without --demo.
  std::function<void()> settings_changed{};  // Called after those of a queue were.
  // For those who have waited, before they are told anything: their token may have been revoked meanwhile. Throws 401.
  std::function<void(const Request&)> must_be_let_in_still{};

  // For every way in which tasks come in. `trace` is that of the request.
  TaskOrigin origin_of(std::string_view trace) const {
    return {.trace = trace, .hosts = &push_hosts, .payload_limit = payload_limit};
  }
};

// How many were changed; and if the server ends, that these may not be all.
Response bulk_response(const ApiContext& api, std::int64_t count);

// 503: there is no room for a request that looks at the store.
ApiFailure too_busy();

// A request that waits for a commit. Throws too_busy() if too many do.
class StorePlace {
 public:
  explicit StorePlace(ApiContext& api) : line_(api.line) {
    if (!line_.enter()) throw too_busy();
  }
  StorePlace(const StorePlace&) = delete;
  StorePlace& operator=(const StorePlace&) = delete;
  ~StorePlace() { leave(); }
  // For good: it waits for something else from now on.
  void leave() {
    if (std::exchange(is_in_, false)) line_.leave();
  }

 private:
  StoreLine& line_;
  bool is_in_ = true;
};

// What `work` returns, on a thread that may wait for the store.
template <typename Work>
Lazy<std::invoke_result_t<Work&>> on_pool_thread(WorkerPool& pool, Work work) {
  auto future = pool.submit(work);
  if (!future) throw too_busy();
  auto result = co_await *future;
  if (!result) throw too_busy();
  co_return *std::move(result);
}

// A handler that may wait for the store, and so runs on the pool. It throws ApiFailure.
using BlockingHandler = Response (*)(ApiContext& api, const Call& call);
Handler on_pool(ApiContext& api, BlockingHandler handler);
Handler on_long_pool(ApiContext& api, BlockingHandler handler);

// Each file of the API adds its own.
void add_task_routes(Router& router, ApiContext& api);
void add_bulk_routes(Router& router, ApiContext& api);
void add_claim_routes(Router& router, ApiContext& api);
void add_outcome_routes(Router& router, ApiContext& api);
void add_totals_routes(Router& router, ApiContext& api);
void add_queue_routes(Router& router, ApiContext& api);
void add_workflow_routes(Router& router, ApiContext& api);
void add_schedule_routes(Router& router, ApiContext& api);
void add_event_routes(Router& router, ApiContext& api);
void add_pages(Router& router);
void add_demo_routes(Router& router, ApiContext& api);

}  // namespace handoff::server
