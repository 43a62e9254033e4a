// Who is to be told what: workers that want tasks, and those who wait for room or for the end of a task. Told after the commit.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

// One that takes tasks of some queues.
class HungryOne {
 public:
  // There may be something for it. Must not call back.
  virtual void ring() = 0;
  virtual bool is_hungry() const = 0;
  // Somebody has cancelled that task, which may be one of its own. Must not call back either.
  virtual void hear_of_cancelled(const TaskId& task) = 0;

 protected:
  ~HungryOne() = default;
};

class Listeners {
 public:
  void add(HungryOne& one, const std::vector<std::string>& queues);
  // Afterwards nobody calls it.
  void remove(HungryOne& one);

  // Somebody who waits for something about a task, or a queue. Set each time there is something new.
  struct Waiting {
    Event told;
  };
  void add_wait(const TaskId& task, Waiting& waiting);
  void remove_wait(const TaskId& task, Waiting& waiting);
  void add_wait_for_room(const std::string& queue, Waiting& waiting);
  void remove_wait_for_room(const std::string& queue, Waiting& waiting);

  using Hook = std::function<void(const TaskId&, TaskState)>;
  void set_hook(Hook hook);

  void tell(const Changes& changes);
  // Something has changed, and nobody knows what: all look for themselves.
  void tell_all();

 private:
  void tell_of_cancelled_locked(const TaskId& task);

  Mutex lock_{{.name = "those who wait for tasks"}};
  // Guarded by lock_.
  std::map<std::string, std::vector<HungryOne*>, std::less<>> hungry_;
  std::unordered_multimap<TaskId, Waiting*> for_end_;
  std::multimap<std::string, Waiting*, std::less<>> for_room_;
  Hook hook_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
