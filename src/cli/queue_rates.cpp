#include "cli/queue_rates.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace handoff::cli {

namespace {

constexpr std::size_t longest_history = 60;

// Finished tasks are forgotten after a while: then there are fewer than before.
double rate(std::int64_t now, std::int64_t before, double seconds) {
  return static_cast<double>(std::max<std::int64_t>(now - before, 0)) / seconds;
}

}  // namespace

void QueueRates::add(const std::vector<tasks::QueueLook>& queues, TimePoint at) {
  const double seconds = std::max(std::chrono::duration<double>(at - last_at_).count(), 0.001);
  Counts all;
  for (const tasks::QueueLook& each : queues) {
    const Counts counts{
        .all = std::accumulate(each.counts.begin(), each.counts.end(), std::int64_t{0}),
        .done = each.count(tasks::TaskState::done),
        .dead = each.count(tasks::TaskState::dead)};
    all = {all.all + counts.all, all.done + counts.done, all.dead + counts.dead};
    add(each.name, counts, seconds);
  }
  add({}, all, seconds);
  last_at_ = at;
  ++looks_;
}

void QueueRates::add(const std::string& name, const Counts& counts, double seconds) {
  const auto before = last_.find(name);
  if (before != last_.end()) {
    Rate& its = rates_[name];
    its.in = rate(counts.all, before->second.all, seconds);
    its.done = rate(counts.done, before->second.done, seconds);
    its.failed = rate(counts.dead, before->second.dead, seconds);
    its.history.push_back(its.done);
    if (its.history.size() > longest_history) its.history.erase(its.history.begin());
  }
  last_[name] = counts;
}

QueueRates::Rate QueueRates::of(const std::string& queue) const {
  const auto found = rates_.find(queue);
  return found == rates_.end() ? Rate() : found->second;
}

}  // namespace handoff::cli
