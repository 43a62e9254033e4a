// What Tasks does about many tasks at a time, and what it says about one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "handoff/tasks/limits.hpp"
#include "tasks/call.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

namespace {

constexpr int found_at_once = 500;
constexpr std::size_t changed_at_once = 100;  // In a transaction: others come in between.

TaskFilter filter_of(const BulkFilter& filter) {
  return {.queue = filter.queue,
          .kind = filter.kind,
          .state = filter.state,
          .group = filter.group,
          .error = filter.error,
          .limit = found_at_once,
          .before = std::nullopt};
}

using Found = std::vector<std::pair<std::int64_t, TaskId>>;

// `act(transaction, id)` for all that are meant. Each is met once, so that one that is meant again afterwards is left alone. They are looked for
// beside those who write, since that may take long; what has changed meanwhile is left alone too.
template <typename Act>
std::expected<std::int64_t, TaskError> for_all(TasksCore& core, const BulkFilter& filter, Act act) {
  const TaskFilter meant = filter_of(filter);
  std::int64_t after = 0;
  std::int64_t count = 0;
  for (;;) {
    const auto found =
        look<Found>(core, [&](Transaction& transaction) { return transaction.find(meant, after); });
    if (!found) return std::unexpected(found.error());
    std::span<const Found::value_type> left = *found;
    while (!left.empty()) {
      const auto some = left.first(std::min(left.size(), changed_at_once));
      const auto done = transact<std::int64_t>(core, [&](Transaction& transaction) {
        std::int64_t changed = 0;
        for (const auto& [row, id] : some) {
          const bool is_meant = transaction.states_of(std::span(&id, 1)).front() == filter.state;
          if (is_meant && act(transaction, id)) ++changed;
        }
        return std::expected<std::int64_t, TaskError>(changed);
      });
      if (!done) return std::unexpected(done.error());
      count += *done;
      left = left.subspan(some.size());
    }
    if (std::ssize(*found) < found_at_once) return count;
    after = found->back().first;
  }
}

}  // namespace

std::expected<std::int64_t, TaskError> Tasks::retry_all(const BulkFilter& filter) const {
  if (!is_finished(filter.state)) {
    return bad_request("state",
                       "state must be done, dead or cancelled: the others are not finished");
  }
  return for_all(*core_, filter, [](Transaction& transaction, const TaskId& id) {
    return transaction.replay(id).has_value();
  });
}

std::expected<std::int64_t, TaskError> Tasks::cancel_all(const BulkFilter& filter,
                                                         std::string_view reason) const {
  if (is_finished(filter.state)) {
    return bad_request(
        "state", "state must be scheduled, waiting, ready or running: the others are finished");
  }
  return for_all(*core_, filter, [&](Transaction& transaction, const TaskId& id) {
    return transaction.cancel(id, reason).has_value();
  });
}

std::expected<std::int64_t, TaskError> Tasks::count(const BulkFilter& filter) const {
  const TaskFilter meant = filter_of(filter);
  return look<std::int64_t>(*core_,
                            [&](Transaction& transaction) { return transaction.count(meant); });
}

// -- Looking --------------------------------------------------------------------------------------

std::expected<Explanation, TaskError> Tasks::explain(const TaskId& id) const {
  auto found = look<std::optional<Explanation>>(
      *core_, [&](Transaction& transaction) { return transaction.explain(id); });
  if (!found) return std::unexpected(std::move(found.error()));
  if (!*found) return std::unexpected(no_such("task", id));
  return **std::move(found);
}

std::vector<WorkerLook> Tasks::workers() const {
  std::vector<WorkerLook> all;
  core_->store().read([&](Transaction& transaction) { all = transaction.workers(); });
  return all;
}

std::vector<DeadGroup> Tasks::dead(std::string_view queue) const {
  std::vector<DeadGroup> groups;
  core_->store().read([&](Transaction& transaction) { groups = transaction.dead(queue); });
  return groups;
}

std::string_view to_string(Explanation::Code code) {
  constexpr std::array<std::string_view, 11> names = {"running",
                                                      "finished",
                                                      "paused",
                                                      "future",
                                                      "waiting_for",
                                                      "rate_limited",
                                                      "concurrency_limited",
                                                      "group_busy",
                                                      "no_worker",
                                                      "next",
                                                      "queued"};
  return names[static_cast<std::size_t>(code)];
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
