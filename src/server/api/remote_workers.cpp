#include "server/api/remote_workers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace handoff::server {

namespace {

std::string description_of(const tasks::WorkerRow& worker) {
  std::string text;
  for (const auto& each : worker.queues) text += fmt::format("{}:{} ", each.name, each.concurrency);
  return text + fmt::to_string(fmt::join(worker.kinds, " "));
}

}  // namespace

// With those it was seen to claim from before.
void RemoteWorkers::note_queues(Known& known, tasks::WorkerRow& worker, Says says) {
  const TimePoint time = now();
  const bool are_too_many = known.queues.size() + worker.queues.size() > most_queues;
  if (says == Says::all_queues || are_too_many) known.queues.clear();
  for (const auto& each : worker.queues) {
    known.queues[each.name] = {.concurrency = each.concurrency, .claimed_at = time};
  }
  std::erase_if(known.queues, [&](const auto& entry) {
    return time - entry.second.claimed_at > queue_remembered;
  });
  worker.queues.clear();
  for (const auto& [name, queue] : known.queues) {
    worker.queues.push_back({.name = name, .concurrency = queue.concurrency});
  }
}

std::optional<RemoteWorkers::Arrival> RemoteWorkers::come(tasks::WorkerRow worker, Says says) {
  if (worker.name.empty()) return std::nullopt;
  const auto turn = lock_.hold();
  if (known_.size() >= most && !known_.contains(worker.name)) return std::nullopt;
  Known& known = known_[worker.name];
  ++known.claims;
  known.seen_at = now();
  note_queues(known, worker, says);
  if (known.is_being_stored) return std::nullopt;
  std::string description = description_of(worker);
  if (known.row && known.description == description) return std::nullopt;
  known.description = std::move(description);
  known.is_being_stored = true;
  return Arrival{.worker = std::move(worker), .replaces = known.row};
}

void RemoteWorkers::stored(const std::string& name, std::optional<std::int64_t> row) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found == known_.end()) return;
  found->second.is_being_stored = false;
  if (row) {
    found->second.row = row;
  } else {
    found->second.description.clear();  // The next claim tries it again.
  }
}

bool RemoteWorkers::knows(const std::string& name) {
  const auto turn = lock_.hold();
  return known_.contains(name);
}

void RemoteWorkers::heard_of(const std::string& name) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found != known_.end()) found->second.seen_at = now();
}

void RemoteWorkers::go(const std::string& name) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found == known_.end()) return;
  if (found->second.claims > 0)
    --found->second.claims;  // It may have left meanwhile, and come again.
  found->second.seen_at = now();
}

std::optional<tasks::Millis> RemoteWorkers::unseen_for(const std::string& name) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found == known_.end()) return std::nullopt;
  if (found->second.claims > 0) return tasks::Millis(0);
  return std::chrono::duration_cast<tasks::Millis>(now() - found->second.seen_at);
}

std::optional<std::int64_t> RemoteWorkers::leave(const std::string& name) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found == known_.end() || found->second.is_being_stored) return std::nullopt;
  const auto row = found->second.row;
  known_.erase(found);
  return row;
}

std::vector<std::int64_t> RemoteWorkers::forget(const std::vector<std::string>& at_work) {
  const auto turn = lock_.hold();
  for (auto& [name, known] : known_) {
    if (std::ranges::binary_search(at_work, name)) known.at_work_at = now();
  }
  std::vector<std::int64_t> rows;
  std::erase_if(known_, [&](const auto& entry) {
    const Known& known = entry.second;
    const bool is_gone = known.claims == 0 && !known.is_being_stored &&
                         now() - std::max(known.seen_at, known.at_work_at) > remembered;
    if (is_gone && known.row) rows.push_back(*known.row);
    return is_gone;
  });
  return rows;
}

std::int64_t store_worker(tasks::Transaction& transaction, const RemoteWorkers::Arrival& arrival) {
  if (arrival.replaces) transaction.remove_worker(*arrival.replaces);
  return transaction.add_worker(arrival.worker);
}

}  // namespace handoff::server
