#include "tasks/listeners.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "tasks/notice_core.hpp"
#include "tasks/watch_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

void Listeners::add(HungryOne& one, const std::vector<std::string>& queues) {
  const auto turn = lock_.hold();
  for (const std::string& each : queues) hungry_[each].push_back(&one);
}

void Listeners::remove(HungryOne& one) {
  const auto turn = lock_.hold();
  for (auto each = hungry_.begin(); each != hungry_.end();) {
    std::erase(each->second, &one);
    each = each->second.empty() ? hungry_.erase(each) : std::next(each);
  }
}

void Listeners::add_wait(const TaskId& task, Waiting& waiting) {
  const auto turn = lock_.hold();
  for_end_.emplace(task, &waiting);
}

namespace {
template <typename Map, typename Key, typename Value>
void erase_one(Map& map, const Key& key, Value* value) {
  const auto [first, last] = map.equal_range(key);
  for (auto each = first; each != last; ++each) {
    if (each->second == value) {
      map.erase(each);
      return;
    }
  }
}
}  // namespace

void Listeners::remove_wait(const TaskId& task, Waiting& waiting) {
  const auto turn = lock_.hold();
  erase_one(for_end_, task, &waiting);
}

void Listeners::add_wait_for_room(const std::string& queue, Waiting& waiting) {
  const auto turn = lock_.hold();
  for_room_.emplace(queue, &waiting);
}

void Listeners::remove_wait_for_room(const std::string& queue, Waiting& waiting) {
  const auto turn = lock_.hold();
  erase_one(for_room_, queue, &waiting);
}

void Listeners::add_notice(std::shared_ptr<NoticeCore> notice) {
  const auto turn = lock_.hold();
  const TaskId task = notice->id;
  notices_.emplace(task, std::move(notice));
}

void Listeners::remove_notice(const NoticeCore& notice) {
  std::shared_ptr<NoticeCore> removed;  // Destroyed without the lock: what it holds is the user's.
  const auto turn = lock_.hold();
  const auto [first, last] = notices_.equal_range(notice.id);
  for (auto each = first; each != last; ++each) {
    if (each->second.get() != &notice) continue;
    removed = std::move(each->second);
    notices_.erase(each);
    return;
  }
}

std::vector<std::shared_ptr<NoticeCore>> Listeners::take_due() {
  if (!has_due_) return {};
  const auto turn = lock_.hold();
  has_due_ = false;
  return std::exchange(due_, {});
}

void Listeners::add_watch(std::weak_ptr<WatchCore> watch) {
  const auto turn = lock_.hold();
  watches_.push_back(std::move(watch));
}

Listeners::~Listeners() {
  for (const auto& each : watches_) {
    if (const auto watch = each.lock()) watch->close();
  }
}

void Listeners::tell(const Changes& changes) {
  const auto turn = lock_.hold();
  tell_hungry_locked(changes);
  for (const auto& [queue, count] : changes.room) {
    const auto [first, last] = for_room_.equal_range(queue);
    for (auto each = first; each != last; ++each) each->second->told.set();
  }
  if (!for_end_.empty() || !notices_.empty() || !hungry_.empty()) {
    for (const StateChange& each : changes.states) {
      if (!is_finished(each.state)) continue;
      if (each.state == TaskState::cancelled) tell_of_cancelled_locked(each.id);
      tell_finished_locked(each.id);
    }
  }
  for (const auto& [workflow, state] : changes.workflows) tell_finished_locked(workflow);
  if (!watches_.empty()) tell_watches_locked(changes);
}

void Listeners::tell_hungry_locked(const Changes& changes) {
  for (const auto& [queue, count] : changes.ready) {
    const auto found = hungry_.find(queue);
    if (found == hungry_.end()) continue;
    int left = count;
    auto& all = found->second;
    for (HungryOne* const each : all) {
      if (left == 0) break;
      if (each->ring(queue)) --left;
    }
    if (all.size() > 1) std::ranges::rotate(all, all.begin() + 1);  // Others are next.
  }
}

void Listeners::tell_finished_locked(const TaskId& task) {
  {
    const auto [first, last] = for_end_.equal_range(task);
    for (auto each = first; each != last; ++each) each->second->told.set();
  }
  const auto [first, last] = notices_.equal_range(task);
  if (first == last) return;
  for (auto each = first; each != last; ++each) due_.push_back(std::move(each->second));
  notices_.erase(first, last);
  has_due_ = true;
}

void Listeners::tell_watches_locked(const Changes& changes) {
  std::erase_if(watches_, [&](const std::weak_ptr<WatchCore>& each) {
    const auto watch = each.lock();
    if (watch) watch->tell(changes);
    return !watch;
  });
}

void Listeners::tell_missed(std::uint64_t events) {
  const auto turn = lock_.hold();
  for (const auto& each : watches_) {
    if (const auto watch = each.lock()) watch->miss(events);
  }
}

std::vector<TaskId> Listeners::waited_for() {
  const auto turn = lock_.hold();
  std::vector<TaskId> all;
  all.reserve(for_end_.size() + notices_.size());
  for (const auto& [task, each] : for_end_) all.push_back(task);
  for (const auto& [task, each] : notices_) all.push_back(task);
  std::ranges::sort(all);
  const auto same = std::ranges::unique(all);
  all.erase(same.begin(), same.end());
  return all;
}

void Listeners::tell_finished(std::span<const TaskId> tasks) {
  const auto turn = lock_.hold();
  for (const TaskId& each : tasks) tell_finished_locked(each);
}

std::vector<TaskId> Listeners::in_hand() {
  const auto turn = lock_.hold();
  std::set<HungryOne*> workers;
  for (const auto& [queue, all] : hungry_) workers.insert(all.begin(), all.end());
  std::vector<TaskId> tasks;
  for (HungryOne* const each : workers) {
    for (const TaskId& task : each->in_hand()) tasks.push_back(task);
  }
  return tasks;
}

void Listeners::tell_cancelled(std::span<const TaskId> tasks) {
  const auto turn = lock_.hold();
  for (const TaskId& each : tasks) tell_of_cancelled_locked(each);
}

void Listeners::ring(const std::vector<std::string>& queues) {
  const auto turn = lock_.hold();
  for (const std::string& queue : queues) {
    const auto found = hungry_.find(queue);
    if (found == hungry_.end()) continue;
    for (HungryOne* const each : found->second) {
      if (each->ring(queue)) break;  // One was rung, and one it shall be.
    }
  }
}

void Listeners::tell_of_cancelled_locked(const TaskId& task) {
  for (auto& [queue, all] : hungry_) {
    for (HungryOne* const each : all) each->hear_of_cancelled(task);
  }
}

void Listeners::tell_all() {
  const auto turn = lock_.hold();
  for (auto& [queue, all] : hungry_) {
    for (HungryOne* const each : all) {
      static_cast<void>(each->ring(queue));
    }
  }
  for (auto& [queue, each] : for_room_) each->told.set();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
