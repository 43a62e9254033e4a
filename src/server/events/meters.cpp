#include "server/events/meters.hpp"

#include <algorithm>

namespace handoff::server {

namespace {

void add(QueueTotals& sum, const QueueTotals& other) {
  sum.in += other.in;
  sum.done += other.done;
  sum.failed += other.failed;
  sum.rejected += other.rejected;
}

}  // namespace

std::int64_t Meters::second() const {
  return std::chrono::floor<std::chrono::seconds>(now() - began_).count();
}

Meters::Meter* Meters::meter_locked(std::string_view queue) {
  const auto found = meters_.find(queue);
  if (found != meters_.end()) return &found->second;
  if (meters_.size() >= most_queues) return nullptr;
  return &meters_[std::string(queue)];
}

void Meters::keep_locked(Meter& meter, std::int64_t second) {
  if (meter.kept) return;
  meter.kept = std::make_unique<Kept>(second);
  meter.kept->track.set_counts(meter.counts);
  if (&meter != &sum_) ++tracks_;
}

// The one that nobody has asked for, or not for the longest time, makes room.
void Meters::make_room_locked() {
  if (tracks_ < most_tracks) return;
  Meter* least = nullptr;
  for (auto& [queue, meter] : meters_) {
    if (!meter.kept) continue;
    if (least == nullptr || meter.kept->asked_at < least->kept->asked_at) least = &meter;
  }
  least->kept.reset();
  --tracks_;
}

// Seconds in which nothing came are emptied when the next one does.
void Meters::turn_locked(Meter& meter) {
  const std::int64_t second = this->second();
  for (auto each = std::max(meter.second + 1, second - seconds + 1); each <= second; ++each) {
    meter.by_second[static_cast<std::size_t>(each % seconds)] = {};
  }
  meter.second = second;
  if (&meter == &sum_ || tracks_ < most_tracks) keep_locked(meter, second);
  if (meter.kept) meter.kept->track.turn(second);
}

void Meters::count_locked(Meter& meter, std::uint64_t QueueTotals::* what,
                          std::uint32_t Moment::* moment, std::uint64_t number) {
  meter.totals.*what += number;
  meter.by_second[static_cast<std::size_t>(meter.second % seconds)].*what += number;
  if (meter.kept) meter.kept->track.current().*moment += static_cast<std::uint32_t>(number);
}

void Meters::change_locked(Meter& meter, const tasks::StateChange& change) {
  const bool is_change = change.from != change.state;
  if (change.is_new) count_locked(meter, &QueueTotals::in, &Moment::in, 1);
  if (change.is_failure()) count_locked(meter, &QueueTotals::failed, &Moment::failed, 1);
  if (!is_change) return;
  if (change.state == tasks::TaskState::done) {
    count_locked(meter, &QueueTotals::done, &Moment::done, 1);
  }
  if (change.state == tasks::TaskState::running) {
    meter.waits.add(change.took);
    if (meter.kept) meter.kept->track.add_wait(change.took);
  }
  if (change.from == tasks::TaskState::running) meter.runs.add(change.took);
}

void Meters::set_counts_locked(Meter& meter, const StateCounts& counts) {
  for (std::size_t i = 0; i < counts.size(); ++i) sum_.counts[i] += counts[i] - meter.counts[i];
  meter.counts = counts;
  if (meter.kept) meter.kept->track.set_counts(counts);
}

void Meters::add(const tasks::Changes& changes) {
  const auto turn = lock_.hold();
  ++commits_.commits;
  commits_.changes += changes.states.size();
  turn_locked(sum_);
  std::vector<Meter*> meters;
  for (const std::string& each : changes.queues) {
    meters.push_back(meter_locked(each));
    if (meters.back() != nullptr) turn_locked(*meters.back());
  }
  for (const tasks::StateChange& each : changes.states) {
    if (Meter* const meter = meters[each.queue]) change_locked(*meter, each);
    change_locked(sum_, each);
  }
  for (const tasks::QueueDepth& each : changes.depths) {
    Meter* const meter = meter_locked(each.queue);
    if (meter == nullptr) continue;
    turn_locked(*meter);
    set_counts_locked(*meter, each.counts);
  }
  sum_.kept->track.set_counts(sum_.counts);
}

void Meters::set_counts(std::span<const tasks::QueueLook> queues) {
  const auto turn = lock_.hold();
  turn_locked(sum_);
  for (const tasks::QueueLook& each : queues) {
    Meter* const meter = meter_locked(each.name);
    if (meter == nullptr || meter->counts == each.counts) continue;
    turn_locked(*meter);
    set_counts_locked(*meter, each.counts);
  }
  sum_.kept->track.set_counts(sum_.counts);
}

void Meters::reject(std::string_view queue, std::uint64_t tasks) {
  const auto turn = lock_.hold();
  turn_locked(sum_);
  count_locked(sum_, &QueueTotals::rejected, &Moment::rejected, tasks);
  Meter* const meter = meter_locked(queue);
  if (meter == nullptr) return;
  turn_locked(*meter);
  count_locked(*meter, &QueueTotals::rejected, &Moment::rejected, tasks);
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
  if (found != meters_.end()) return look_locked(found->second);
  return {};
}

Meters::Look Meters::look_at_sum() {
  const auto turn = lock_.hold();
  return look_locked(sum_);
}

std::map<std::string, Meters::Look, std::less<>> Meters::look_at_all() {
  const auto turn = lock_.hold();
  std::map<std::string, Look, std::less<>> all;
  for (auto& [queue, meter] : meters_) all.emplace(queue, look_locked(meter));
  return all;
}

Track::Part Meters::history(std::string_view queue, std::chrono::seconds most) {
  const auto turn = lock_.hold();
  const auto found = meters_.find(queue);
  if (found == meters_.end()) return {};
  Meter& meter = found->second;
  if (!meter.kept) make_room_locked();
  turn_locked(meter);
  meter.kept->asked_at = second();
  return meter.kept->track.last(most.count());
}

Track::Part Meters::history_of_sum(std::chrono::seconds most) {
  const auto turn = lock_.hold();
  turn_locked(sum_);
  return sum_.kept->track.last(most.count());
}

Meters::Commits Meters::commits() {
  const auto turn = lock_.hold();
  return commits_;
}

}  // namespace handoff::server
