#include "tasks/remote/remote_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/tasks/duration.hpp"
#include "tasks/remote/remote_transaction.hpp"
#include "tasks/remote/wire.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote {

namespace {

constexpr Millis longest_wait = std::chrono::seconds(60);  // For one answer; then it is asked anew.
constexpr Millis for_the_way = std::chrono::seconds(15);
constexpr Millis for_many = std::chrono::minutes(10);

TaskError not_finished(std::string_view what, const TaskId& id, TaskError::Code code) {
  return {.code = code,
          .message = fmt::format("{} {} is not finished yet", what, id.to_string()),
          .field = {}};
}

// Whether the waiting is over, and how.
std::optional<TaskError::Code> over(const Wait& limits) {
  if (limits.stop.stop_requested()) return TaskError::Code::stopped;
  if (limits.deadline.has_passed()) return TaskError::Code::timed_out;
  return std::nullopt;
}

}  // namespace

RemoteStore::RemoteStore(RemoteOptions options)
    : options_(std::move(options)), server_(options_.server) {
  // Something small that takes a token, if the server wants one.
  const auto answer = server_.ask_once({.path = "/v1/queues/default"});
  if (!answer) throw StoreFailure(answer.error().error);
}

RemoteStore::~RemoteStore() { close(); }

void RemoteStore::tell(Hooks hooks) {
  hooks_ = std::move(hooks);
  events_ = std::make_unique<EventStream>(
      server_, "/v1/events?stats=none",
      EventStream::Hooks{.happened = hooks_.happened,
                         .missed = [this](std::optional<std::uint64_t> number) {
                           hooks_.missed(number.value_or(1));
                           hooks_.may_have_happened();
                         }});
  cancellations_ = std::make_unique<EventStream>(
      server_, "/v1/events?stats=none&state=cancelled",
      EventStream::Hooks{.happened =
                             [this](const Changes& changes) {
                               std::vector<TaskId> ids;
                               for (const StateChange& each : changes.states) {
                                 if (each.state == TaskState::cancelled) ids.push_back(each.id);
                               }
                               hooks_.cancelled(ids);
                             },
                         .missed = [](std::optional<std::uint64_t>) {}});  // Heartbeats tell.
}

void RemoteStore::close() {
  closes_.request_stop();
  std::map<std::int64_t, std::shared_ptr<Claims>> all;
  {
    const auto turn = lock_.hold();
    all = std::exchange(claims_, {});
  }
  all.clear();
  if (events_) events_->end();
  if (cancellations_) cancellations_->end();
}

Changes RemoteStore::transact(const std::function<void(Transaction&)>& work) {
  RemoteTransaction transaction(*this);
  try {
    work(transaction);
  } catch (...) {
    transaction.undo();
    throw;
  }
  return std::move(transaction.changes());
}

void RemoteStore::read(const std::function<void(Transaction&)>& work) {
  static_cast<void>(transact(work));
}

// -- Waiting --------------------------------------------------------------------------------------

std::expected<std::string, TaskError> RemoteStore::wait_at(const std::string& path,
                                                           const Wait& limits) {
  Millis wait = longest_wait;
  if (!limits.deadline.is_never()) {
    const auto left = std::chrono::ceil<Millis>(limits.deadline.when() - handoff::now());
    wait = std::clamp(left, Millis(0), longest_wait);
  }
  // The server watches the deadline; here is only seen to it that it answers.
  auto answer = server_.ask({.path = fmt::format("{}?wait={}", path, to_text(wait)),
                             .timeout = wait + for_the_way,
                             .is_wait = true,
                             .limits = {.deadline = {}, .stop = limits.stop}});
  if (answer) return std::move(*answer);
  return std::unexpected(std::move(answer.error().error));
}

std::expected<Task, TaskError> RemoteStore::wait_for_task(const TaskId& id, const Wait& limits) {
  for (;;) {
    const auto ended = over(limits);
    if (ended == TaskError::Code::stopped) return std::unexpected(not_finished("task", id, *ended));
    const auto body = wait_at("/v1/tasks/" + id.to_string(), limits);
    if (!body && body.error().code == TaskError::Code::stopped) {
      return std::unexpected(not_finished("task", id, body.error().code));
    }
    if (!body) return std::unexpected(body.error());
    Task task = wire::read_task(*body, has_codec());
    if (is_finished(task.state)) return task;
    if (ended) return std::unexpected(not_finished("task", id, *ended));
  }
}

std::expected<WorkflowLook, TaskError> RemoteStore::wait_for_workflow(const WorkflowId& id,
                                                                      const Wait& limits) {
  for (;;) {
    const auto ended = over(limits);
    if (ended == TaskError::Code::stopped) {
      return std::unexpected(not_finished("workflow", id, *ended));
    }
    const auto body = wait_at("/v1/workflows/" + id.to_string(), limits);
    if (!body && body.error().code == TaskError::Code::stopped) {
      return std::unexpected(not_finished("workflow", id, body.error().code));
    }
    if (!body) return std::unexpected(body.error());
    WorkflowLook look = wire::read_workflow(*body, has_codec());
    if (is_finished(look.state)) return look;
    if (ended) return std::unexpected(not_finished("workflow", id, *ended));
  }
}

void RemoteStore::listen() { events_->start(); }

// -- Many at a time -------------------------------------------------------------------------------

std::expected<std::int64_t, TaskError> RemoteStore::ask_for_count(const std::string& body) {
  const auto answer =
      server_.ask({.method = "POST", .path = "/v1/tasks/bulk", .body = body, .timeout = for_many});
  if (!answer) return std::unexpected(answer.error().error);
  return wire::read_count(*answer);
}

std::expected<std::int64_t, TaskError> RemoteStore::retry_all(const BulkFilter& filter) {
  return ask_for_count(wire::write_bulk(filter, "retry", "", false));
}

std::expected<std::int64_t, TaskError> RemoteStore::cancel_all(const BulkFilter& filter,
                                                               std::string_view reason) {
  return ask_for_count(wire::write_bulk(filter, "cancel", reason, false));
}

std::expected<std::int64_t, TaskError> RemoteStore::count(const BulkFilter& filter) {
  const auto action = is_finished(filter.state) ? "retry" : "cancel";
  return ask_for_count(wire::write_bulk(filter, action, "", true));
}

// -- Workers --------------------------------------------------------------------------------------

// The server knows them by their claims.
std::int64_t RemoteStore::add_worker(const WorkerRow& worker) {
  auto claims = std::make_shared<Claims>(
      server_, ClaimsOptions{.worker = worker, .has_codec = has_codec(), .ring = [this] {
                               hooks_.has_claimed();
                             }});
  std::int64_t number = 0;
  {
    const auto turn = lock_.hold();
    number = ++last_worker_;
    claims_.emplace(number, std::move(claims));
  }
  cancellations_->start();
  return number;
}

void RemoteStore::remove_worker(std::int64_t worker) {
  end_claims(worker);
  std::shared_ptr<Claims> removed;  // Destroyed without the lock.
  const auto turn = lock_.hold();
  if (const auto found = claims_.find(worker); found != claims_.end()) {
    removed = std::move(found->second);
    claims_.erase(found);
  }
}

std::shared_ptr<Claims> RemoteStore::claims_of(std::int64_t worker) {
  const auto turn = lock_.hold();
  const auto found = claims_.find(worker);
  return found == claims_.end() ? nullptr : found->second;
}

void RemoteStore::wait_for_nothing(std::int64_t worker) {
  if (const auto claims = claims_of(worker)) claims->wait_for_nothing();
}

void RemoteStore::end_claims(std::int64_t worker) {
  if (const auto claims = claims_of(worker)) claims->end();
}

ClaimResult RemoteStore::claim(const ClaimRequest& request) {
  const auto claims = claims_of(request.worker_row);
  return claims ? claims->claim(request) : ClaimResult();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote
