#include "server/api/remote_workers.hpp"

#include <algorithm>
#include <utility>

namespace handoff::server {

namespace {

tasks::WorkerRow row_of(const std::string& name, const std::vector<std::string>& queues) {
  tasks::WorkerRow row{.name = name, .queues = {}, .kinds = {}};
  for (const std::string& each : queues) row.queues.push_back({.name = each, .concurrency = 1});
  return row;
}

}  // namespace

std::optional<tasks::WorkerRow> RemoteWorkers::come(const std::string& name,
                                                    const std::vector<std::string>& queues) {
  if (name.empty()) return std::nullopt;
  const auto turn = lock_.hold();
  if (known_.size() >= most && !known_.contains(name)) return std::nullopt;
  Known& known = known_[name];
  ++known.claims;
  known.seen_at = now();
  if (known.is_being_stored) return std::nullopt;
  if (known.row && known.queues == queues) return std::nullopt;
  if (known.row) replaced_.push_back(*std::exchange(known.row, std::nullopt));
  known.queues = queues;
  known.is_being_stored = true;
  return row_of(name, queues);
}

void RemoteWorkers::stored(const std::string& name, std::optional<std::int64_t> row) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found == known_.end()) return;
  found->second.is_being_stored = false;
  found->second.row = row;
}

bool RemoteWorkers::knows(const std::string& name) {
  const auto turn = lock_.hold();
  return known_.contains(name);
}

void RemoteWorkers::go(const std::string& name) {
  const auto turn = lock_.hold();
  const auto found = known_.find(name);
  if (found == known_.end()) return;
  --found->second.claims;
  found->second.seen_at = now();
}

std::vector<std::int64_t> RemoteWorkers::forget(const std::vector<std::string>& at_work) {
  const auto turn = lock_.hold();
  for (auto& [name, known] : known_) {
    if (std::ranges::binary_search(at_work, name)) known.seen_at = now();
  }
  std::vector<std::int64_t> rows = std::exchange(replaced_, {});
  std::erase_if(known_, [&](const auto& entry) {
    const Known& known = entry.second;
    const bool is_gone =
        known.claims == 0 && !known.is_being_stored && now() - known.seen_at > remembered;
    if (is_gone && known.row) rows.push_back(*known.row);
    return is_gone;
  });
  return rows;
}

}  // namespace handoff::server
