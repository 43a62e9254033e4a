#include "server/api/api.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "server/api/request_meters.hpp"

namespace handoff::server {

namespace {
constexpr auto between_sweeps = std::chrono::seconds(15);
constexpr std::size_t most_long = 64;  // That wait.

ApiError current_error() {
  try {
    throw;
  } catch (const ApiFailure& failure) {
    return failure.error();
  } catch (const std::exception&) {
    return ApiError::from(tasks::to_error(std::current_exception()));
  }
}

bool is_change(const Route& route) { return route.method != Method::get; }

// Whether the answer may take its time by design.
bool takes_its_time(const Route& route, const Request& request) {
  const auto asks = [&] {
    return std::ranges::find(request.query, "wait", &Pairs::value_type::first) !=
           request.query.end();
  };
  return route.waits == Waits::always || (route.waits == Waits::if_asked && asks());
}
}  // namespace

Api::Api(tasks::Tasks tasks, ApiOptions options, Log& log)
    : log_(log),
      store_(options.store),
      line_(options.waiting_limit),
      context_{.tasks = tasks,
               .core = tasks::TasksAccess::shared_core(tasks),
               .pool = pool_,
               .long_pool = long_pool_,
               .workers = workers_,
               .events = events_,
               .meters = meters_,
               .stats = stats_,
               .rate_turns = rate_turns_,
               .line = line_,
               .started_at = tasks::TasksAccess::shared_core(tasks)->clock().now(),
               .payload_limit = options.payload_limit,
               .shutdown = shutting_down_.get_token(),
               .push_hosts = std::move(options.push_hosts),
               .demo = options.demo},
      tokens_(*context_.core),
      long_pool_({.workers = options.long_threads,
                  .capacity = most_long,
                  .when_full = WhenFull::reject,
                  .name = "goes through many tasks"}),
      pool_({.workers = options.threads,
             .capacity = options.looks_limit,
             .when_full = WhenFull::reject,
             .name = "looks at the store"}) {
  context_.must_be_let_in_still = [this](const Request& request) {
    must(tokens_.holder(request.authorization));
  };
  add_task_routes(router_, context_);
  add_bulk_routes(router_, context_);
  add_claim_routes(router_, context_);
  add_outcome_routes(router_, context_);
  add_totals_routes(router_, context_);
  add_queue_routes(router_, context_);
  add_workflow_routes(router_, context_);
  add_schedule_routes(router_, context_);
  add_event_routes(router_, context_);
  add_pages(router_);
  if (options.demo != nullptr) add_demo_routes(router_, context_);
  add_system_routes();
  requests_ = std::make_unique<RequestMeters>(router_);
  context_.core->observe([this](const tasks::Changes& changes) {
    events_.add(changes);
    meters_.add(changes);
  });
  // Whoever wanted to hand them in: a request, or somebody beside it.
  context_.core->observe_full(
      [this](std::string_view queue, std::size_t number) { meters_.reject(queue, number); });
  meters_.set_counts(tasks.queues());
  static_cast<void>(pool_.every(between_sweeps, [this] { look_after_workers(); }));
}

void Api::look_after_workers() {
  std::vector<tasks::AtWork> at_work;
  context_.core->store().read(
      [&](tasks::Transaction& transaction) { at_work = transaction.at_work_elsewhere(); });
  std::map<std::string, std::vector<std::string>> unlisted;
  std::vector<std::string> busy;
  for (const tasks::AtWork& each : at_work) {
    busy.push_back(each.worker);
    if (!each.is_listed) unlisted[each.worker].push_back(each.queue);
  }
  const auto forgotten = workers_.forget(busy);
  for (const auto& [name, queues] : unlisted) list_worker(name, queues);
  for (const std::int64_t row : forgotten) {
    context_.core->batcher().run(
        [row](tasks::Transaction& transaction) { transaction.remove_worker(row); });
  }
}

// It has claimed from a server that is gone, and works on.
void Api::list_worker(const std::string& name, const std::vector<std::string>& queues) {
  if (workers_.knows(name)) return;
  tasks::WorkerRow worker{.name = name, .queues = {}, .kinds = {}};
  for (const std::string& each : queues) worker.queues.push_back({.name = each, .concurrency = 1});
  const auto arrival = workers_.come(std::move(worker), RemoteWorkers::Says::some_queues);
  std::optional<std::int64_t> number;
  try {
    if (arrival) {
      context_.core->batcher().run(
          [&](tasks::Transaction& transaction) { number = store_worker(transaction, *arrival); });
    }
  } catch (const std::exception&) {  // The next time, then.
  }
  if (arrival) workers_.stored(name, number);
  workers_.go(name);
}

Api::~Api() {
  context_.core->observe({});
  context_.core->observe_full({});
  finish(within(std::chrono::seconds(10)));
}

void Api::finish(Deadline deadline) {
  const auto left = [&] { return std::max(deadline.when() - now(), Duration(0)); };
  long_pool_.shutdown(finish_within(left()));
  pool_.shutdown(finish_within(left()));
}

bool Api::may_wait(const Request& request) const {
  const auto match = router_.find(request);
  return match && takes_its_time(*match->route, request);
}

Response Api::refuse(int status, std::string_view code, std::string_view message) const {
  ApiError error{.status = status, .code = std::string(code), .message = std::string(message)};
  if (status == 503) error.retry_after = std::chrono::seconds(1);
  return to_response(error);
}

void Api::let_in(const Route& route, const Request& request, Tokens::Holder& holder) {
  if (route.role == Role::nobody) return;
  holder = must(tokens_.holder(request.authorization));
  if (holder.role >= route.role) return;
  throw ApiFailure(
      {.status = 403,
       .code = "forbidden",
       .message = fmt::format("this takes a token with the role {}; \"{}\" has the role {}",
                              to_string(route.role), holder.name, to_string(holder.role))});
}

// Who has changed what; with what, the store knows.
void Api::audit(const Route& route, const Request& request, const Tokens::Holder& who, int status) {
  if (route.role != Role::admin || !is_change(route)) return;
  const auto others = turn_to_audit(route, who);
  if (!others) return;
  log_.info("audit", {{"action", fmt::format("{} {}", to_string(request.method), request.path)},
                      {"token", who.name.empty() ? "(none)" : std::string_view(who.name)},
                      {"peer", request.peer},
                      {"status", fmt::to_string(status)},
                      {"others_before", fmt::to_string(*others)}});
}

// Whoever may, gets a line for each change. Others could fill the disk with lines: of them there are a few, counted apart, so that strangers hide nobody who is known.
std::optional<std::uint64_t> Api::turn_to_audit(const Route& route, const Tokens::Holder& who) {
  if (who.role >= route.role) return 0;
  return who.role == Role::nobody ? strangers_.next() : overreaching_.next();
}

// A store that fails, fails all who come: of many lines in a second, one is enough.
void Api::note_failure(const Request& request, const ApiError& error) {
  if (error.cause.empty()) return;
  const auto others = failures_.next();
  if (!others) return;
  log_.error("a request failed", {{"path", request.path},
                                  {"code", error.code},
                                  {"why", error.cause},
                                  {"others_before", fmt::to_string(*others)}});
}

Response Api::to_answer(const Request& request, const ApiError& error) {
  note_failure(request, error);
  return to_response(error);
}

void Api::note(const Request& request, const Asking& asking, int status) {
  const Route* const route = asking.route;
  if (route != nullptr) audit(*route, request, asking.who, status);
  const bool is_long = route != nullptr && takes_its_time(*route, request);
  requests_->add(route, is_long, status, now() - asking.began);
}

// Who may not, or asks for something that takes no such body, is told what he would be told after it.
std::optional<Response> Api::refuse_large(const Request& head) {
  Asking asking;
  ApiError error{.status = 413, .code = "too_large", .message = "no large body is taken here"};
  try {
    asking.route = must(router_.find(head)).route;
    let_in(*asking.route, head, asking.who);
    if (asking.route->body) return std::nullopt;
  } catch (const std::exception&) {
    error = current_error();
  }
  Response response = to_answer(head, error);
  note(head, asking, response.status);
  return response;
}

Lazy<Response> Api::answer(Request given) {
  const auto kept = std::make_shared<const Request>(std::move(given));
  const Request& request = *kept;
  Asking asking;
  Response response;
  try {
    auto match = must(router_.find(request));
    asking.route = match.route;
    let_in(*match.route, request, asking.who);
    check_strangers(*match.route, request);
    Call call(kept, std::move(match.parameters));
    auto lazy = match.route->handler(std::move(call));
    response = co_await std::move(lazy);
  } catch (const std::exception&) {
    response = to_answer(request, current_error());
  }
  note(request, asking, response.status);
  co_return response;
}

}  // namespace handoff::server
