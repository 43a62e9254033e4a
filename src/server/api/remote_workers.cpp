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

std::optional<tasks::WorkerRow> RemoteWorkers::come(tasks::WorkerRow worker) {
  if (worker.name.empty()) return std::nullopt;
  std::string description = description_of(worker);
  const auto turn = lock_.hold();
  if (known_.size() >= most && !known_.contains(worker.name)) return std::nullopt;
  Known& known = known_[worker.name];
  ++known.claims;
  known.seen_at = now();
  if (known.is_being_stored) return std::nullopt;
  if (known.row && known.description == description) return std::nullopt;
  if (known.row) replaced_.push_back(*std::exchange(known.row, std::nullopt));
  known.description = std::move(description);
  known.is_being_stored = true;
  return worker;
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
