#include "server/events/meters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace handoff::server {

namespace {

void add(QueueTotals& sum, const QueueTotals& other) {
  sum.in += other.in;
  sum.done += other.done;
  sum.failed += other.failed;
  sum.rejected += other.rejected;
}

}  // namespace

void Durations::add(std::chrono::milliseconds duration) {
  const auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  const auto bucket =
      std::min<std::size_t>(static_cast<std::size_t>(std::bit_width(count)), buckets - 1);
  ++counts[bucket];
  ++total;
  sum_seconds += static_cast<double>(count) / 1000;
}

std::optional<std::chrono::milliseconds> Durations::quantile(double part) const {
  if (total == 0) return std::nullopt;
  const auto wanted = static_cast<std::uint64_t>(std::ceil(part * static_cast<double>(total)));
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets; ++i) {
    seen += counts[i];
    if (seen >= wanted) return bound(i);
  }
  return bound(buckets - 1);
}

Meters::Meter* Meters::meter_locked(std::string_view queue) {
  const auto found = meters_.find(queue);
  if (found != meters_.end()) return &found->second;
  if (meters_.size() >= most_queues) return nullptr;
  return &meters_[std::string(queue)];
}

// Seconds in which nothing came are emptied when the next one does.
void Meters::turn_locked(Meter& meter) {
  const auto second = std::chrono::floor<std::chrono::seconds>(now() - began_).count();
  for (auto each = std::max(meter.second + 1, second - seconds + 1); each <= second; ++each) {
    meter.by_second[static_cast<std::size_t>(each % seconds)] = {};
  }
  meter.second = second;
}

void Meters::count_locked(Meter& meter, std::uint64_t QueueTotals::* what, std::uint64_t number) {
  meter.totals.*what += number;
  meter.by_second[static_cast<std::size_t>(meter.second % seconds)].*what += number;
}

void Meters::add(const tasks::Changes& changes) {
  const auto turn = lock_.hold();
  ++commits_.commits;
  commits_.changes += changes.states.size();
  std::vector<Meter*> meters;
  for (const std::string& each : changes.queues) {
    meters.push_back(meter_locked(each));
    if (meters.back() != nullptr) turn_locked(*meters.back());
  }
  for (const tasks::StateChange& each : changes.states) {
    Meter* const meter = meters[each.queue];
    if (meter == nullptr) continue;
    const bool is_change = each.from != each.state;
    if (each.is_new) count_locked(*meter, &QueueTotals::in, 1);
    if (each.is_failure()) count_locked(*meter, &QueueTotals::failed, 1);
    if (is_change && each.state == tasks::TaskState::done) {
      count_locked(*meter, &QueueTotals::done, 1);
    }
    if (is_change && each.state == tasks::TaskState::running) meter->waits.add(each.took);
    if (is_change && each.from == tasks::TaskState::running) meter->runs.add(each.took);
  }
}

void Meters::reject(std::string_view queue, std::uint64_t tasks) {
  const auto turn = lock_.hold();
  Meter* const meter = meter_locked(queue);
  if (meter == nullptr) return;
  turn_locked(*meter);
  count_locked(*meter, &QueueTotals::rejected, tasks);
}

Meters::Look Meters::look_locked(Meter& meter) {
  turn_locked(meter);
  Look look{.totals = meter.totals,
            .last_minute = {},
            .span = std::clamp(std::chrono::duration<double>(now() - began_).count(), 1.0,
                               static_cast<double>(seconds)),
            .busiest_second = 0,
            .waits = meter.waits,
            .runs = meter.runs};
  for (const QueueTotals& each : meter.by_second) {
    server::add(look.last_minute, each);
    look.busiest_second = std::max(look.busiest_second, each.in + each.rejected);
  }
  return look;
}

Meters::Look Meters::look(std::string_view queue) {
  const auto turn = lock_.hold();
  const auto found = meters_.find(queue);
  Meter empty;
  return look_locked(found == meters_.end() ? empty : found->second);
}

std::map<std::string, Meters::Look, std::less<>> Meters::look_at_all() {
  const auto turn = lock_.hold();
  std::map<std::string, Look, std::less<>> all;
  for (auto& [queue, meter] : meters_) all.emplace(queue, look_locked(meter));
  return all;
}

Meters::Commits Meters::commits() {
  const auto turn = lock_.hold();
  return commits_;
}

}  // namespace handoff::server
