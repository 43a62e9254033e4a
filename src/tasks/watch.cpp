#include "handoff/tasks/watch.hpp"

#include <utility>

#include "tasks/watch_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

void WatchCore::tell(const Changes& changes) {
  for (const StateChange& each : changes.states) {
    const std::string& queue = changes.queues[each.queue];
    if (!queue_.empty() && queue != queue_) continue;
    add({.id = each.id, .queue = queue, .state = each.state, .at = changes.at});
  }
}

// The oldest makes room. Nobody else adds, so this ends.
void WatchCore::add(TaskEvent event) {
  Numbered next{.number = ++last_told_, .event = std::move(event)};
  for (;;) {
    const auto added = events_.offer(std::move(next));
    if (added || added.error() != Refusal::full) return;
    if (events_.poll()) ++missed_;
  }
}

Watch::Result WatchCore::counted(std::expected<Numbered, Refusal> taken) {
  if (!taken) return std::unexpected(taken.error());
  taken->event.missed = taken->number - std::exchange(last_taken_, taken->number) - 1;
  return std::move(taken->event);
}

Lazy<Watch::Result> WatchCore::async_take(Deadline deadline) {
  auto taken = co_await events_.async_take(deadline);
  co_return counted(std::move(taken));
}

Watch::~Watch() = default;
Watch::Result Watch::take(const Wait& wait) { return core_->take(wait); }
Watch::Result Watch::poll() { return core_->poll(); }
Lazy<Watch::Result> Watch::async_take(Deadline deadline) { return core_->async_take(deadline); }
std::uint64_t Watch::missed() const { return core_->missed(); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
