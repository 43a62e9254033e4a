// Whether what is asked for may be.
#include <fmt/format.h>

#include "handoff/tasks/json.hpp"
#include "handoff/tasks/limits.hpp"
#include "handoff/tasks/notify.hpp"
#include "tasks/core.hpp"
#include "tasks/utf8.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

TaskError bad(std::string field, std::string message) {
  return {.code = TaskError::Code::bad_request,
          .message = std::move(message),
          .field = std::move(field)};
}

// The first that is wrong.
class Checks {
 public:
  explicit Checks(std::string_view prefix) : prefix_(prefix) {}

  std::string name(std::string_view field) const { return prefix_ + std::string(field); }
  // `check(name)`, whose whole name is made only for an error.
  template <typename Check>
  void add(std::string_view field, Check check) {
    if (!error_ && !check(field)) add(check(name(field)));
  }
  void add(const Checked& checked) {
    if (!checked && !error_) error_ = bad(checked.error().field, checked.error().message);
  }
  void add(bool is_wrong, std::string_view field, std::string_view what) {
    if (is_wrong && !error_) error_ = bad(name(field), fmt::format("{} {}", name(field), what));
  }
  std::optional<TaskError> error() && { return std::move(error_); }

 private:
  const std::string prefix_;
  std::optional<TaskError> error_;
};

}  // namespace

std::optional<TaskError> check_task(const NewTask& task, std::string_view prefix) {
  Checks all(prefix);
  all.add("queue", [&](std::string_view name) { return check_queue(task.queue, name); });
  all.add(is_reserved(task.queue), "queue",
          "must not begin with \"handoff.\": such queues are for tasks that handoff itself makes");
  all.add("kind", [&](std::string_view name) { return check_kind(task.kind, name); });
  all.add("payload", [&](std::string_view name) {
    return check_payload_size(task.payload.size(), limits::payload_size, name);
  });
  all.add("priority", [&](std::string_view name) { return check_priority(task.priority, name); });
  if (task.max_attempts != 0)
    all.add("max_attempts",
            [&](std::string_view name) { return check_max_attempts(task.max_attempts, name); });
  all.add("delay", [&](std::string_view name) { return check_delay(task.delay, name); });
  all.add("unique_for", [&](std::string_view name) { return check_delay(task.unique_for, name); });
  all.add("expires_in", [&](std::string_view name) { return check_delay(task.expires_in, name); });
  if (task.timeout != Millis(0))
    all.add("timeout", [&](std::string_view name) { return check_timeout(task.timeout, name); });
  if (task.id) all.add("id", [&](std::string_view name) { return check_id(*task.id, name); });
  if (!task.unique_key.empty())
    all.add("unique_key",
            [&](std::string_view name) { return check_unique_key(task.unique_key, name); });
  if (!task.group.empty())
    all.add("group", [&](std::string_view name) { return check_group(task.group, name); });
  if (!task.trace.empty())
    all.add("trace", [&](std::string_view name) { return check_trace(task.trace, name); });
  if (!task.notify_url.empty())
    all.add("notify_url", [&](std::string_view name) { return check_url(task.notify_url, name); });
  all.add(task.run_at && task.delay != Millis(0), "run_at", "and delay cannot both be given");
  all.add(task.run_at && (*task.run_at < earliest_time || *task.run_at > latest_time), "run_at",
          "must be between 1970 and 2199");
  all.add(task.unique_for != Millis(0) && task.unique_key.empty(), "unique_for",
          "needs a unique_key");
  all.add(task.after.size() > 1000, "after", "must name at most 1000 tasks");
  if (const auto json = Json::parse(task.payload); !json) {
    all.add(true, "payload", fmt::format("must be JSON: {}", json.error().to_string()));
  }
  return std::move(all).error();
}

std::optional<TaskError> check_settings(const QueueSettings& settings) {
  constexpr std::int64_t most = 1'000'000'000'000;
  Checks all("");
  all.add(check_range(settings.capacity, 1, most, "capacity"));
  all.add(check_range(settings.capacity_bytes, 1, most * 1000, "capacity_bytes"));
  all.add(settings.when_full == WhenFull::drop_oldest, "when_full",
          "must be block, reject or drop_newest: what was accepted is not dropped");
  all.add(check_range(settings.block_for, Millis(0), std::chrono::minutes(10), "block_for"));
  all.add(!(settings.rate >= 0 && settings.rate <= 1e9), "rate",
          "must be from 0 to 1000000000 a second");
  all.add(check_range(settings.burst, 1, 1'000'000'000, "burst"));
  all.add(check_range(settings.concurrency, 0, 1'000'000, "concurrency"));
  all.add(check_range(settings.group_concurrency, 0, 1'000'000, "group_concurrency"));
  all.add(check_lease(settings.lease_for, "lease_for"));
  all.add(check_max_attempts(settings.max_attempts, "max_attempts"));
  all.add(settings.retry.check("backoff"));
  all.add(check_delay(settings.ageing, "ageing"));
  all.add(check_range(settings.burst_for, Millis(1), std::chrono::days(1), "burst_for"));
  all.add(check_delay(settings.keep_done, "keep_done"));
  all.add(check_delay(settings.keep_dead, "keep_dead"));
  all.add(check_range(settings.keep_count, 0, most, "keep_count"));
  const Delivery& delivery = settings.deliver_to;
  if (delivery.is_on()) all.add(check_url(delivery.url, "deliver_to.url"));
  all.add(check_range(delivery.timeout, Millis(1), std::chrono::hours(1), "deliver_to.timeout"));
  all.add(delivery.secret.size() > limits::secret_size || !is_utf8(delivery.secret),
          "deliver_to.secret", fmt::format("must be UTF-8 of up to {} bytes", limits::secret_size));
  return std::move(all).error();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
