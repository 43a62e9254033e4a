// A queue's settings: a row for each that is not the default.
#include <fmt/format.h>

#include <charconv>
#include <type_traits>
#include <variant>

#include "tasks/stores/sqlite/transaction.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite {

namespace {

constexpr std::string_view delivery_url = "deliver_to.url";

// Calls `visit(name, member)` for each. Renaming one needs a migration.
template <typename Settings, typename Visit>
void for_each_setting(Settings& settings, Visit visit) {
  visit("capacity", settings.capacity);
  visit("capacity_bytes", settings.capacity_bytes);
  visit("when_full", settings.when_full);
  visit("block_for", settings.block_for);
  visit("rate", settings.rate);
  visit("burst", settings.burst);
  visit("concurrency", settings.concurrency);
  visit("group_concurrency", settings.group_concurrency);
  visit("lease_for", settings.lease_for);
  visit("max_attempts", settings.max_attempts);
  visit("retry", settings.retry);
  visit("ageing", settings.ageing);
  visit("burst_for", settings.burst_for);
  visit("keep_done", settings.keep_done);
  visit("keep_dead", settings.keep_dead);
  visit("keep_count", settings.keep_count);
  visit(delivery_url, settings.deliver_to.url);
  visit("deliver_to.timeout", settings.deliver_to.timeout);
  visit("deliver_to.secret", settings.deliver_to.secret);
}

std::string to_value(std::int64_t number) { return fmt::to_string(number); }
std::string to_value(int number) { return fmt::to_string(number); }
std::string to_value(const std::string& text) { return text; }
std::string to_value(double number) { return fmt::to_string(number); }
std::string to_value(std::chrono::milliseconds time) { return fmt::to_string(time.count()); }
std::string to_value(WhenFull policy) { return fmt::to_string(static_cast<int>(policy)); }
std::string to_value(const RetryPolicy& policy) {
  struct Writer {
    std::string operator()(const SidekiqBackoff&) const { return "sidekiq"; }
    std::string operator()(const ExponentialBackoff& each) const {
      return fmt::format("exponential {} {} {} {}", each.base.count(), each.factor,
                         each.max.count(), each.jitter);
    }
    std::string operator()(const FixedBackoff& each) const {
      return fmt::format("fixed {} {}", each.delay.count(), each.jitter);
    }
  };
  return std::visit(Writer(), policy.backoff);
}

// What cannot be read leaves the default: it was written by another version.
template <typename Number>
  requires std::is_arithmetic_v<Number>
void from_value(std::string_view text, Number& number) {
  std::from_chars(text.data(), text.data() + text.size(), number);
}
void from_value(std::string_view text, std::string& value) { value = text; }
void from_value(std::string_view text, std::chrono::milliseconds& time) {
  std::int64_t count = time.count();
  from_value(text, count);
  time = std::chrono::milliseconds(count);
}
void from_value(std::string_view text, WhenFull& policy) {
  int number = static_cast<int>(policy);
  from_value(text, number);
  policy = static_cast<WhenFull>(number);
}

std::string_view next_word(std::string_view& text) {
  const auto end = std::min(text.find(' '), text.size());
  const auto word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

void from_value(std::string_view text, RetryPolicy& policy) {
  const auto kind = next_word(text);
  if (kind == "exponential") {
    ExponentialBackoff backoff;
    from_value(next_word(text), backoff.base);
    from_value(next_word(text), backoff.factor);
    from_value(next_word(text), backoff.max);
    from_value(next_word(text), backoff.jitter);
    policy.backoff = backoff;
  } else if (kind == "fixed") {
    FixedBackoff backoff;
    from_value(next_word(text), backoff.delay);
    from_value(next_word(text), backoff.jitter);
    policy.backoff = backoff;
  } else {
    policy.backoff = SidekiqBackoff();
  }
}

}  // namespace

const QueueSettings& SettingsCache::of(Database& database, const QueueRow& queue) {
  Known& known = known_[queue.id];
  if (known.version == queue.version) return known.settings;
  known.settings = QueueSettings();
  Query query(database, "select name, value from handoff_settings where queue = ?", queue.id);
  while (query.next()) {
    for_each_setting(known.settings, [&](std::string_view name, auto& member) {
      if (name == query.text(0)) from_value(query.text(1), member);
    });
  }
  known.version = queue.version;
  return known.settings;
}

void SettingsCache::store(Database& database, const QueueRow& queue,
                          const QueueSettings& settings) {
  execute(database, "delete from handoff_settings where queue = ?", queue.id);
  QueueSettings defaults;
  for_each_setting(settings, [&](std::string_view name, const auto& member) {
    const std::string value = to_value(member);
    bool is_default = false;
    for_each_setting(defaults, [&](std::string_view other, const auto& usual) {
      if (other == name) is_default = to_value(usual) == value;
    });
    if (!is_default) {
      execute(database, "insert into handoff_settings values(?, ?, ?)", queue.id, name,
              std::string_view(value));
    }
  });
}

std::vector<DeliveringQueue> SqliteTransaction::delivering() {
  std::vector<std::string> names;
  {
    Query query(database_,
                "select q.name from handoff_settings s join handoff_queue q on q.id = s.queue "
                "where s.name = ? order by q.name",
                delivery_url);
    while (query.next()) names.emplace_back(query.text(0));
  }
  std::vector<DeliveringQueue> queues;
  for (std::string& each : names) {
    const Delivery delivery = rows_.queue(each, false)->settings->deliver_to;
    queues.push_back({.name = std::move(each), .delivery = delivery});
  }
  return queues;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks::sqlite
