// What all handlers of the API share.
#pragma once

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "handoff/future.hpp"
#include "handoff/pool.hpp"
#include "handoff/tasks/tasks.hpp"
#include "server/api/call.hpp"
#include "server/api/remote_workers.hpp"
#include "server/api/stats_board.hpp"
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
  WorkerPool& pool;                        // For what only looks, and what takes several commits.
  RemoteWorkers& workers;
  EventLog& events;
  Meters& meters;
  StatsBoards& stats;
  tasks::Time started_at;
  std::size_t payload_limit;
  PushHosts push_hosts;                      // Whom tasks may be sent to.
  Demo* demo = nullptr;                      // Nothing without --demo.
  std::function<void()> settings_changed{};  // Called after those of a queue were.
};

// 503: there is no room for a request that looks at the store.
ApiFailure too_busy();

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
