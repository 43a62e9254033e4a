#include "tasks/listeners.hpp"

#include <algorithm>
#include <utility>

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

void Listeners::add(HungryOne& one, const std::vector<std::string>& queues) {
  const auto turn = lock_.hold();
  for (const std::string& each : queues) hungry_[each].push_back(&one);
}

void Listeners::remove(HungryOne& one) {
  const auto turn = lock_.hold();
  for (auto& [queue, all] : hungry_) std::erase(all, &one);
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

void Listeners::set_hook(Hook hook) {
  const auto turn = lock_.hold();
  hook_ = std::move(hook);
}

void Listeners::tell(const Changes& changes) {
  Hook hook;
  {
    const auto turn = lock_.hold();
    for (const auto& [queue, count] : changes.ready) {
      const auto found = hungry_.find(queue);
      if (found == hungry_.end()) continue;
      int left = count;
      auto& all = found->second;
      for (HungryOne* const each : all) {
        if (left == 0) break;
        if (!each->is_hungry()) continue;
        each->ring();
        --left;
      }
      if (all.size() > 1) std::ranges::rotate(all, all.begin() + 1);  // Others are next.
    }
    for (const auto& [queue, count] : changes.room) {
      const auto [first, last] = for_room_.equal_range(queue);
      for (auto each = first; each != last; ++each) each->second->told.set();
    }
    if (!for_end_.empty() || !hungry_.empty()) {
      for (const auto& [task, state] : changes.states) {
        if (!is_finished(state)) continue;
        if (state == TaskState::cancelled) tell_of_cancelled_locked(task);
        const auto [first, last] = for_end_.equal_range(task);
        for (auto each = first; each != last; ++each) each->second->told.set();
      }
    }
    for (const auto& [workflow, state] : changes.workflows) {
      const auto [first, last] = for_end_.equal_range(workflow);
      for (auto each = first; each != last; ++each) each->second->told.set();
    }
    hook = hook_;
  }
  if (!hook) return;
  for (const auto& [task, state] : changes.states) hook(task, state);
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
      if (each->is_hungry()) each->ring();
    }
  }
  for (auto& [queue, each] : for_room_) each->told.set();
  for (auto& [task, each] : for_end_) each->told.set();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
