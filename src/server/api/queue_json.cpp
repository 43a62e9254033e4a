#include "server/api/queue_json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>
#include <variant>

#include "handoff/tasks/notify.hpp"
#include "handoff/tasks/payload.hpp"
#include "server/api/delivery_field.hpp"
#include "server/api/duration_field.hpp"
#include "server/api/figures_json.hpp"
#include "server/api/rate_field.hpp"
#include "server/api/schema.hpp"

namespace handoff::server {

namespace {

using std::chrono::milliseconds;
using tasks::QueueSettings;

// -- Settings -------------------------------------------------------------------------------------

struct BackoffJson {
  std::string kind;
  std::optional<DurationField> base;
  std::optional<double> factor;
  std::optional<DurationField> max;
  std::optional<DurationField> delay;
  std::optional<double> jitter;
};
BOOST_DESCRIBE_STRUCT(BackoffJson, (), (kind, base, factor, max, delay, jitter))

// In a request, what is not there stays.
struct SettingsJson {
  std::optional<std::int64_t> capacity;
  std::optional<std::int64_t> capacity_bytes;
  std::optional<std::string> when_full;
  std::optional<DurationField> block_for;
  std::optional<RateField> rate;
  std::optional<int> burst;
  std::optional<int> concurrency;
  std::optional<int> group_concurrency;
  std::optional<DurationField> lease_for;
  std::optional<int> max_attempts;
  std::optional<BackoffJson> backoff;
  std::optional<DurationField> ageing;
  std::optional<DurationField> burst_for;
  std::optional<DurationField> keep_done;
  std::optional<DurationField> keep_dead;
  std::optional<std::int64_t> keep_count;
  DeliveryField deliver_to;

  static constexpr auto optional_fields = std::to_array<std::string_view>({"deliver_to"});
};
BOOST_DESCRIBE_STRUCT(SettingsJson, (),
                      (capacity, capacity_bytes, when_full, block_for, rate, burst, concurrency,
                       group_concurrency, lease_for, max_attempts, backoff, ageing, burst_for,
                       keep_done, keep_dead, keep_count, deliver_to))

BackoffJson to_json_of(const tasks::RetryPolicy& policy) {
  struct Writer {
    BackoffJson operator()(const tasks::SidekiqBackoff&) const {
      return {.kind = "sidekiq", .base = {}, .factor = {}, .max = {}, .delay = {}, .jitter = {}};
    }
    BackoffJson operator()(const tasks::ExponentialBackoff& each) const {
      return {.kind = "exponential",
              .base = DurationField{each.base},
              .factor = each.factor,
              .max = DurationField{each.max},
              .delay = {},
              .jitter = each.jitter};
    }
    BackoffJson operator()(const tasks::FixedBackoff& each) const {
      return {.kind = "fixed",
              .base = {},
              .factor = {},
              .max = {},
              .delay = DurationField{each.delay},
              .jitter = each.jitter};
    }
  };
  return std::visit(Writer(), policy.backoff);
}

[[noreturn]] void refuse(std::string field, std::string_view rest) {
  throw ApiFailure(ApiError::bad_request(field, fmt::format("{} {}", field, rest)));
}

void must_not_have(bool has, std::string_view field, std::string_view kind) {
  if (has) refuse(fmt::format("backoff.{}", field), fmt::format("means nothing to {}", kind));
}

tasks::RetryPolicy to_policy(const BackoffJson& json) {
  if (json.kind == "fixed") {
    must_not_have(json.base.has_value(), "base", json.kind);
    must_not_have(json.factor.has_value(), "factor", json.kind);
    must_not_have(json.max.has_value(), "max", json.kind);
    tasks::FixedBackoff backoff;
    if (json.delay) backoff.delay = json.delay->value;
    if (json.jitter) backoff.jitter = *json.jitter;
    return {backoff};
  }
  must_not_have(json.delay.has_value(), "delay", json.kind);
  if (json.kind == "exponential") {
    tasks::ExponentialBackoff backoff;
    if (json.base) backoff.base = json.base->value;
    if (json.factor) backoff.factor = *json.factor;
    if (json.max) backoff.max = json.max->value;
    if (json.jitter) backoff.jitter = *json.jitter;
    return {backoff};
  }
  if (json.kind != "sidekiq") {
    refuse("backoff.kind", "must be \"sidekiq\", \"exponential\" or \"fixed\"");
  }
  must_not_have(json.base || json.factor || json.max || json.jitter, "base", json.kind);
  return {tasks::SidekiqBackoff()};
}

std::string_view name_of(WhenFull policy) {
  return policy == WhenFull::block         ? "block"
         : policy == WhenFull::drop_newest ? "drop_newest"
                                           : "reject";
}

WhenFull to_when_full(std::string_view text) {
  for (const WhenFull each : {WhenFull::reject, WhenFull::drop_newest, WhenFull::block}) {
    if (name_of(each) == text) return each;
  }
  refuse("when_full", "must be \"reject\", \"drop_newest\" or \"block\"");
}

SettingsJson to_settings_json(const QueueSettings& settings) {
  return {.capacity = settings.capacity,
          .capacity_bytes = settings.capacity_bytes,
          .when_full = std::string(name_of(settings.when_full)),
          .block_for = DurationField{settings.block_for},
          .rate = RateField{settings.rate},
          .burst = settings.burst,
          .concurrency = settings.concurrency,
          .group_concurrency = settings.group_concurrency,
          .lease_for = DurationField{settings.lease_for},
          .max_attempts = settings.max_attempts,
          .backoff = to_json_of(settings.retry),
          .ageing = DurationField{settings.ageing},
          .burst_for = DurationField{settings.burst_for},
          .keep_done = DurationField{settings.keep_done},
          .keep_dead = DurationField{settings.keep_dead},
          .keep_count = settings.keep_count,
          .deliver_to = {.is_given = true, .delivery = settings.deliver_to}};
}

// -- How it is doing ------------------------------------------------------------------------------

// The capacity that would absorb a spike, and why.
struct AdviceJson {
  std::int64_t capacity = 0;
  std::string message;
};
BOOST_DESCRIBE_STRUCT(AdviceJson, (), (capacity, message))

struct QueueJson {
  std::string name;
  bool paused = false;
  CountsJson counts;
  std::int64_t unfinished = 0;
  std::int64_t bytes = 0;
  std::optional<DurationField> oldest_ready_age;
  RatesJson rates;
  QuantilesJson wait_time;
  QuantilesJson run_time;
  std::optional<AdviceJson> advice;
  SettingsJson settings;
};
BOOST_DESCRIBE_STRUCT(QueueJson, (),
                      (name, paused, counts, unfinished, bytes, oldest_ready_age, rates, wait_time,
                       run_time, advice, settings))

// The busiest second of the last minute, for as long as the spike is said to last, while tasks are done as fast as they were. None before anything was done: it would be a guess.
std::optional<AdviceJson> to_advice(const tasks::QueueLook& queue, const Meters::Look& meter) {
  if (meter.last_minute.done == 0) return std::nullopt;
  const double drain = static_cast<double>(meter.last_minute.done) / meter.span;
  const double peak = static_cast<double>(meter.busiest_second);
  const double seconds = std::chrono::duration<double>(queue.settings.burst_for).count();
  const auto capacity =
      std::max<std::int64_t>(1, std::llround(std::ceil((peak - drain) * seconds)));
  return AdviceJson{
      .capacity = capacity,
      .message = fmt::format("{} came in the busiest second of the last minute and {:.1f} a second "
                             "are done: {} of such seconds leave {} waiting; the capacity is {}",
                             meter.busiest_second, drain, tasks::to_text(queue.settings.burst_for),
                             capacity, queue.settings.capacity)};
}

template <typename From, typename To>
void set(const std::optional<From>& from, To& to) {
  if (!from) return;
  if constexpr (std::is_same_v<From, DurationField>)
    to = from->value;
  else
    to = *from;
}

// What handoff makes for itself has addresses of its own.
void check_delivery(const Call& call, const tasks::Delivery& delivery, const PushHosts& hosts) {
  if (tasks::is_reserved(queue_of(call))) {
    refuse("deliver_to", fmt::format("cannot be set for \"{}\"", queue_of(call)));
  }
  if (const auto why = hosts.refusal(delivery.url)) refuse("deliver_to.url", *why);
}

}  // namespace

std::string to_json_text(const tasks::QueueLook& queue, const Meters::Look& meter,
                         tasks::Time now) {
  QueueJson json{.name = queue.name,
                 .paused = queue.is_paused,
                 .counts = to_counts_json(queue.counts),
                 .unfinished = queue.unfinished(),
                 .bytes = queue.bytes,
                 .oldest_ready_age = {},
                 .rates = to_rates_json(meter),
                 .wait_time = to_quantiles_json(meter.waits),
                 .run_time = to_quantiles_json(meter.runs),
                 .advice = to_advice(queue, meter),
                 .settings = to_settings_json(queue.settings)};
  if (queue.oldest_ready) {
    json.oldest_ready_age = DurationField{std::max(now - *queue.oldest_ready, milliseconds(0))};
  }
  auto text = tasks::to_json(json);
  return text ? std::move(*text).text() : std::string("{}");
}

BodyTaken settings_body() { return takes<SettingsJson>(); }

QueueSettings changed(QueueSettings settings, const Call& call, const PushHosts& hosts) {
  const auto body = body_of<SettingsJson>(call);
  set(body.capacity, settings.capacity);
  set(body.capacity_bytes, settings.capacity_bytes);
  if (body.when_full) settings.when_full = to_when_full(*body.when_full);
  set(body.block_for, settings.block_for);
  if (body.rate) settings.rate = body.rate->per_second;
  set(body.burst, settings.burst);
  set(body.concurrency, settings.concurrency);
  set(body.group_concurrency, settings.group_concurrency);
  set(body.lease_for, settings.lease_for);
  set(body.max_attempts, settings.max_attempts);
  if (body.backoff) settings.retry = to_policy(*body.backoff);
  set(body.ageing, settings.ageing);
  set(body.burst_for, settings.burst_for);
  set(body.keep_done, settings.keep_done);
  set(body.keep_dead, settings.keep_dead);
  set(body.keep_count, settings.keep_count);
  if (body.deliver_to.is_given) settings.deliver_to = body.deliver_to.delivery;
  if (body.deliver_to.delivery.is_on()) check_delivery(call, settings.deliver_to, hosts);
  return settings;
}

}  // namespace handoff::server
