// Queues: how they are doing, and how they are set.
#include <array>
#include <charconv>
#include <variant>

#include "tasks/remote/wire_parts.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire {

namespace {

struct BackoffBody {
  std::string kind;
  std::optional<Span> base;
  std::optional<double> factor;
  std::optional<Span> max;
  std::optional<Span> delay;
  std::optional<double> jitter;
};
BOOST_DESCRIBE_STRUCT(BackoffBody, (), (kind, base, factor, max, delay, jitter))

struct DeliveryBody {
  std::string url;
  std::optional<Span> timeout;
};
BOOST_DESCRIBE_STRUCT(DeliveryBody, (), (url, timeout))

struct SettingsBody {
  std::int64_t capacity = 0;
  std::int64_t capacity_bytes = 0;
  std::string when_full;
  Span block_for;
  std::string rate;
  int burst = 1;
  int concurrency = 0;
  int group_concurrency = 0;
  Span lease_for;
  int max_attempts = 0;
  BackoffBody backoff;
  Span ageing;
  Span burst_for;
  Span keep_done;
  Span keep_dead;
  std::int64_t keep_count = 0;
  std::optional<DeliveryBody> deliver_to;
};
BOOST_DESCRIBE_STRUCT(SettingsBody, (),
                      (capacity, capacity_bytes, when_full, block_for, rate, burst, concurrency,
                       group_concurrency, lease_for, max_attempts, backoff, ageing, burst_for,
                       keep_done, keep_dead, keep_count, deliver_to))

struct QueueBody {
  std::string name;
  bool paused = false;
  std::map<std::string, std::int64_t> counts;
  std::int64_t bytes = 0;
  std::optional<Span> oldest_ready_age;
  SettingsBody settings;
};
BOOST_DESCRIBE_STRUCT(QueueBody, (), (name, paused, counts, bytes, oldest_ready_age, settings))

struct QueuesBody {
  std::vector<QueueBody> queues;
  std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(QueuesBody, (), (queues, next_cursor))

std::string_view name_of(WhenFull policy) {
  return policy == WhenFull::block         ? "block"
         : policy == WhenFull::drop_newest ? "drop_newest"
                                           : "reject";
}

WhenFull to_when_full(std::string_view text) {
  for (const WhenFull each : {WhenFull::reject, WhenFull::drop_newest, WhenFull::block}) {
    if (name_of(each) == text) return each;
  }
  throw_unreadable("when_full");
}

// "500/s": a server writes no other.
double to_rate(std::string_view text) {
  double rate = 0;
  const auto end = text.data() + std::min(text.find('/'), text.size());
  if (std::from_chars(text.data(), end, rate).ptr != end) throw_unreadable("rate");
  return rate;
}

RetryPolicy to_policy(const BackoffBody& body) {
  if (body.kind == "fixed") {
    FixedBackoff fixed;
    if (body.delay) fixed.delay = body.delay->value;
    fixed.jitter = body.jitter.value_or(fixed.jitter);
    return {fixed};
  }
  if (body.kind == "exponential") {
    ExponentialBackoff growing;
    if (body.base) growing.base = body.base->value;
    growing.factor = body.factor.value_or(growing.factor);
    if (body.max) growing.max = body.max->value;
    growing.jitter = body.jitter.value_or(growing.jitter);
    return {growing};
  }
  return {SidekiqBackoff()};
}

std::string backoff_text(const RetryPolicy& policy) {
  struct Writer {
    std::string operator()(const SidekiqBackoff&) const { return R"({"kind":"sidekiq"})"; }
    std::string operator()(const ExponentialBackoff& each) const {
      Object body;
      body.add("kind", std::string("exponential")).add("base", each.base);
      body.add("factor", each.factor).add("max", each.max).add("jitter", each.jitter);
      return body.text();
    }
    std::string operator()(const FixedBackoff& each) const {
      Object body;
      body.add("kind", std::string("fixed")).add("delay", each.delay).add("jitter", each.jitter);
      return body.text();
    }
  };
  return std::visit(Writer(), policy.backoff);
}

QueueSettings to_settings(const SettingsBody& body) {
  QueueSettings settings;
  settings.capacity = body.capacity;
  settings.capacity_bytes = body.capacity_bytes;
  settings.when_full = to_when_full(body.when_full);
  settings.block_for = body.block_for.value;
  settings.rate = to_rate(body.rate);
  settings.burst = body.burst;
  settings.concurrency = body.concurrency;
  settings.group_concurrency = body.group_concurrency;
  settings.lease_for = body.lease_for.value;
  settings.max_attempts = body.max_attempts;
  settings.retry = to_policy(body.backoff);
  settings.ageing = body.ageing.value;
  settings.burst_for = body.burst_for.value;
  settings.keep_done = body.keep_done.value;
  settings.keep_dead = body.keep_dead.value;
  settings.keep_count = body.keep_count;
  if (body.deliver_to) {
    settings.deliver_to.url = body.deliver_to->url;
    if (body.deliver_to->timeout) settings.deliver_to.timeout = body.deliver_to->timeout->value;
  }
  return settings;
}

QueueLook to_look(QueueBody body, Time now) {
  QueueLook look{.name = std::move(body.name),
                 .settings = to_settings(body.settings),
                 .is_paused = body.paused,
                 .counts = {},
                 .bytes = body.bytes,
                 .oldest_ready = std::nullopt};
  for (const auto& [state, count] : body.counts) {
    look.counts[static_cast<std::size_t>(state_of(state))] = count;
  }
  if (body.oldest_ready_age) look.oldest_ready = now - body.oldest_ready_age->value;
  return look;
}

std::string delivery_text(const Delivery& delivery) {
  if (!delivery.is_on()) return "null";
  Object body;
  body.add("url", delivery.url).add("timeout", delivery.timeout);
  body.if_any("secret", delivery.secret);
  return body.text();
}

}  // namespace

QueueLook read_queue(std::string_view body, Time now) {
  return to_look(read<QueueBody>(body), now);
}

std::string read_queues(std::string_view body, Time now, std::vector<QueueLook>& looks) {
  auto page = read<QueuesBody>(body);
  for (QueueBody& each : page.queues) looks.push_back(to_look(std::move(each), now));
  return page.next_cursor.value_or("");
}

// What stays as it is is not said, so that two who change different things are both heard, and a secret, which nobody is shown, is kept.
std::string write_settings(const QueueSettings& settings, const QueueSettings& now) {
  Object body;
  const auto number = [&](std::string_view name, auto wanted, auto is) {
    if (wanted != is) body.add(name, wanted);
  };
  number("capacity", settings.capacity, now.capacity);
  number("capacity_bytes", settings.capacity_bytes, now.capacity_bytes);
  if (settings.when_full != now.when_full) {
    body.add("when_full", std::string(name_of(settings.when_full)));
  }
  number("block_for", settings.block_for, now.block_for);
  if (settings.rate != now.rate) body.raw("rate", fmt::format("\"{}/s\"", settings.rate));
  number("burst", settings.burst, now.burst);
  number("concurrency", settings.concurrency, now.concurrency);
  number("group_concurrency", settings.group_concurrency, now.group_concurrency);
  number("lease_for", settings.lease_for, now.lease_for);
  number("max_attempts", settings.max_attempts, now.max_attempts);
  if (settings.retry != now.retry) body.raw("backoff", backoff_text(settings.retry));
  number("ageing", settings.ageing, now.ageing);
  number("burst_for", settings.burst_for, now.burst_for);
  number("keep_done", settings.keep_done, now.keep_done);
  number("keep_dead", settings.keep_dead, now.keep_dead);
  number("keep_count", settings.keep_count, now.keep_count);
  if (settings.deliver_to != now.deliver_to) {
    body.raw("deliver_to", delivery_text(settings.deliver_to));
  }
  return body.is_empty() ? "" : body.text();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::remote::wire
