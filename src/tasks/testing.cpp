#include "handoff/tasks/testing.hpp"

#include <algorithm>

namespace handoff::inline HANDOFF_FLAVOUR::testing {

namespace {
constexpr std::int64_t first_noon = 1'794'916'800'000;
constexpr std::int64_t first_since_boot = 1'000'000;
}  // namespace

ManualTaskClock::ManualTaskClock() : now_(first_noon), since_boot_(first_since_boot) {}
ManualTaskClock::~ManualTaskClock() = default;

tasks::Time ManualTaskClock::now() const {
  return tasks::Time(std::chrono::milliseconds(now_.load()));
}
std::chrono::milliseconds ManualTaskClock::since_boot() const {
  return std::chrono::milliseconds(since_boot_.load());
}

void ManualTaskClock::advance(std::chrono::milliseconds time) {
  if (time < std::chrono::milliseconds(0)) {
    throw std::invalid_argument("time does not run backwards: set() it");
  }
  now_ += time.count();
  since_boot_ += time.count();
  tell_all();
}

void ManualTaskClock::set(tasks::Time time) {
  now_ = time.time_since_epoch().count();
  tell_all();
}

void ManualTaskClock::tell_all() {
  const auto turn = lock_.hold();
  for (const auto& [who, moved] : subscribers_) moved();
}

void ManualTaskClock::subscribe(const void* who, std::function<void()> moved) const {
  const auto turn = lock_.hold();
  subscribers_[who] = std::move(moved);
}

void ManualTaskClock::unsubscribe(const void* who) const {
  const auto turn = lock_.hold();
  subscribers_.erase(who);
}

tasks::Tasks open_tasks(const ManualTaskClock& clock) {
  tasks::OpenOptions options;
  options.clock = &clock;
  auto opened = tasks::open("memory:", options);
  if (!opened) throw std::runtime_error(opened.error().message);
  return std::move(*opened);
}

std::vector<tasks::Task> enqueued_tasks(const tasks::Tasks& tasks,
                                        const tasks::ListOptions& options) {
  constexpr int most = 1000;  // That list() gives at a time.
  tasks::ListOptions page = options;
  page.limit = most;
  std::vector<tasks::Task> all;
  do {
    auto list = tasks.list(page);
    if (!list) throw std::runtime_error(list.error().message);
    std::ranges::move(list->tasks, std::back_inserter(all));
    page.cursor = std::move(list->next_cursor);
  } while (!page.cursor.empty());
  std::ranges::reverse(all);
  return all;
}

tasks::WorkerOptions inline_worker(const std::vector<std::string>& queues) {
  tasks::WorkerOptions options;
  for (const std::string& each : queues) options.queues.push_back({.name = each, .concurrency = 1});
  options.name = "test";
  options.runs_inline = true;
  return options;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::testing
