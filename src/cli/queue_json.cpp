#include "cli/queue_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "cli/people.hpp"
#include "handoff/tasks/payload.hpp"
#include "server/api/duration_field.hpp"

namespace handoff::cli {

namespace {

using server::DurationField;

struct BackoffJson {
  std::string kind;
  std::optional<DurationField> base;
  std::optional<double> factor;
  std::optional<DurationField> max;
  std::optional<DurationField> delay;
  std::optional<double> jitter;
};
BOOST_DESCRIBE_STRUCT(BackoffJson, (), (kind, base, factor, max, delay, jitter))

// Without the secret, as a server shows it; whether there is one, not everybody who asks a server knows.
struct DeliveryJson {
  std::string url;
  DurationField timeout;
};
BOOST_DESCRIBE_STRUCT(DeliveryJson, (), (url, timeout))

struct SettingsJson {
  std::int64_t capacity = 0;
  std::int64_t capacity_bytes = 0;
  std::string when_full;
  DurationField block_for;
  std::string rate;
  int burst = 0;
  int concurrency = 0;
  int group_concurrency = 0;
  DurationField lease_for;
  int max_attempts = 0;
  BackoffJson backoff;
  DurationField ageing;
  DurationField burst_for;
  DurationField keep_done;
  DurationField keep_dead;
  std::int64_t keep_count = 0;
  std::optional<DeliveryJson> deliver_to;
};
BOOST_DESCRIBE_STRUCT(SettingsJson, (),
                      (capacity, capacity_bytes, when_full, block_for, rate, burst, concurrency,
                       group_concurrency, lease_for, max_attempts, backoff, ageing, burst_for,
                       keep_done, keep_dead, keep_count, deliver_to))

struct CountsJson {
  std::int64_t scheduled = 0;
  std::int64_t waiting = 0;
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t done = 0;
  std::int64_t dead = 0;
  std::int64_t cancelled = 0;
};
BOOST_DESCRIBE_STRUCT(CountsJson, (), (scheduled, waiting, ready, running, done, dead, cancelled))

struct QueueJson {
  std::string name;
  bool paused = false;
  CountsJson counts;
  std::int64_t unfinished = 0;
  std::int64_t bytes = 0;
  std::optional<DurationField> oldest_ready_age;
  SettingsJson settings;
};
BOOST_DESCRIBE_STRUCT(QueueJson, (),
                      (name, paused, counts, unfinished, bytes, oldest_ready_age, settings))

BackoffJson to_backoff(const tasks::RetryPolicy& policy) {
  BackoffJson json;
  json.kind = "sidekiq";
  if (const auto* fixed = std::get_if<tasks::FixedBackoff>(&policy.backoff)) {
    json.kind = "fixed";
    json.delay = DurationField{fixed->delay};
    json.jitter = fixed->jitter;
  } else if (const auto* growing = std::get_if<tasks::ExponentialBackoff>(&policy.backoff)) {
    json.kind = "exponential";
    json.base = DurationField{growing->base};
    json.factor = growing->factor;
    json.max = DurationField{growing->max};
    json.jitter = growing->jitter;
  }
  return json;
}

std::optional<DeliveryJson> to_delivery(const tasks::Delivery& delivery) {
  if (!delivery.is_on()) return std::nullopt;
  return DeliveryJson{.url = delivery.url, .timeout = {delivery.timeout}};
}

SettingsJson to_settings(const tasks::QueueSettings& settings) {
  return {.capacity = settings.capacity,
          .capacity_bytes = settings.capacity_bytes,
          .when_full = std::string(name_of(settings.when_full)),
          .block_for = {settings.block_for},
          .rate = fmt::format("{}/s", settings.rate),
          .burst = settings.burst,
          .concurrency = settings.concurrency,
          .group_concurrency = settings.group_concurrency,
          .lease_for = {settings.lease_for},
          .max_attempts = settings.max_attempts,
          .backoff = to_backoff(settings.retry),
          .ageing = {settings.ageing},
          .burst_for = {settings.burst_for},
          .keep_done = {settings.keep_done},
          .keep_dead = {settings.keep_dead},
          .keep_count = settings.keep_count,
          .deliver_to = to_delivery(settings.deliver_to)};
}

CountsJson to_counts(const tasks::QueueLook& queue) {
  using enum tasks::TaskState;
  return {.scheduled = queue.count(scheduled),
          .waiting = queue.count(waiting),
          .ready = queue.count(ready),
          .running = queue.count(running),
          .done = queue.count(done),
          .dead = queue.count(dead),
          .cancelled = queue.count(cancelled)};
}

}  // namespace

std::string to_json_text(const tasks::QueueLook& queue) {
  QueueJson json{.name = queue.name,
                 .paused = queue.is_paused,
                 .counts = to_counts(queue),
                 .unfinished = queue.unfinished(),
                 .bytes = queue.bytes,
                 .oldest_ready_age = {},
                 .settings = to_settings(queue.settings)};
  if (queue.oldest_ready) {
    json.oldest_ready_age = DurationField{std::max(now_time() - *queue.oldest_ready, Millis(0))};
  }
  auto text = tasks::to_json(json);
  return text ? std::move(*text).text() : std::string("{}");
}

std::string_view name_of(WhenFull policy) {
  if (policy == WhenFull::block) return "block";
  return policy == WhenFull::drop_newest ? "drop_newest" : "reject";
}

std::string to_text(const tasks::RetryPolicy& policy) {
  if (const auto* fixed = std::get_if<tasks::FixedBackoff>(&policy.backoff)) {
    return "fixed:" + tasks::to_text(fixed->delay);
  }
  if (const auto* growing = std::get_if<tasks::ExponentialBackoff>(&policy.backoff)) {
    return fmt::format("exponential:{}:{}", tasks::to_text(growing->base),
                       tasks::to_text(growing->max));
  }
  return "sidekiq";
}

}  // namespace handoff::cli
