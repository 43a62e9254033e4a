#include "server/events/event_log.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tasks/entropy.hpp"

namespace handoff::server {

namespace {
constexpr std::uint32_t most_names = 100'000;  // Of queues; those past them share the last number.
}

EventLog::EventLog(std::size_t capacity)
    : name_(fmt::format("{:x}", tasks::random_bits() >> 32)), ring_(capacity) {}

std::uint32_t EventLog::number_of_locked(const std::string& queue) {
  const auto found = numbers_.find(queue);
  if (found != numbers_.end()) return found->second;
  if (queues_.size() >= most_names) return most_names - 1;
  queues_.push_back(queue);
  const auto number = static_cast<std::uint32_t>(queues_.size() - 1);
  numbers_.emplace(queue, number);
  return number;
}

void EventLog::add(const tasks::Changes& changes) {
  if (changes.states.empty()) return;
  const auto turn = lock_.hold();
  std::vector<std::uint32_t> numbers;
  for (const std::string& each : changes.queues) numbers.push_back(number_of_locked(each));
  for (const tasks::StateChange& each : changes.states) {
    ++last_;
    ring_[last_ % ring_.size()] = {
        .id = each.id, .at = changes.at, .queue = numbers[each.queue], .state = each.state};
  }
  for (Reader* const each : readers_) {
    if (!each->told_.is_set()) each->told_.set();
  }
}

std::uint64_t EventLog::last() const {
  const auto turn = lock_.hold();
  return last_;
}

EventLog::Reader::Reader(EventLog& log, std::uint64_t after) : log_(log), seen_(after) {
  const auto turn = log_.lock_.hold();
  seen_ = std::min(seen_, log_.last_);
  if (seen_ < log_.last_) told_.set();
  log_.readers_.push_back(this);
}

EventLog::Reader::~Reader() {
  const auto turn = log_.lock_.hold();
  std::erase(log_.readers_, this);
}

EventLog::Reader::Part EventLog::Reader::next(const EventFilter& wanted, std::size_t most) {
  Part part;
  const auto turn = log_.lock_.hold();
  told_.reset();
  const std::uint64_t size = log_.ring_.size();
  const std::uint64_t first = log_.last_ >= size ? log_.last_ - size + 1 : 1;
  if (seen_ + 1 < first) {
    part.missed = first - seen_ - 1;
    seen_ = first - 1;
  }
  part.after = seen_;
  const std::uint64_t end = std::min(log_.last_, seen_ + most);
  while (seen_ < end) {
    const Entry& entry = log_.ring_[++seen_ % size];
    const std::string& name = log_.queues_[entry.queue];
    if (!wanted.queue.empty() && wanted.queue != name) continue;
    if (wanted.state && entry.state != *wanted.state) continue;
    if (wanted.tasks && !std::ranges::binary_search(*wanted.tasks, entry.id)) continue;
    part.events.push_back(
        {.number = seen_, .id = entry.id, .state = entry.state, .at = entry.at, .queue = name});
  }
  if (seen_ < log_.last_) told_.set();
  return part;
}

}  // namespace handoff::server
