// Who is to be told what: workers that want tasks, those who wait for room or for the end of a task, those who watch. Told after the commit.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/event.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/state.hpp"
#include "handoff/tasks/task_id.hpp"
#include "tasks/store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class NoticeCore;
class WatchCore;

// One that takes tasks of some queues.
class HungryOne {
 public:
  // There may be something for it in that queue. True if it was waiting for that, and now looks for sure; false if it has no room for it, or looks anyway. Must not call
  // back.
  virtual bool ring(std::string_view queue) = 0;
  // What it has in hand; nothing if that is too much to be looked at.
  virtual std::vector<TaskId> in_hand() = 0;
  // Somebody has cancelled that task, which may be one of its own. Must not call back either.
  virtual void hear_of_cancelled(const TaskId& task) = 0;

 protected:
  ~HungryOne() = default;
};

class Listeners {
 public:
  ~Listeners();

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

  // Until it is due, or removed.
  void add_notice(std::shared_ptr<NoticeCore> notice);
  void remove_notice(const NoticeCore& notice);
  // Those whose tasks have finished: whoever gets them calls them.
  std::vector<std::shared_ptr<NoticeCore>> take_due();
  bool has_due() const { return has_due_; }

  // Until it is gone.
  void add_watch(std::weak_ptr<WatchCore> watch);

  void tell(const Changes& changes);
  // So many events never came here: those who watch are told.
  void tell_missed(std::uint64_t events);
  // Another process has changed something, and nobody knows what: workers and those who wait for room look for themselves,
  void tell_all();
  // the others are told if that was theirs.
  std::vector<TaskId> waited_for();
  void tell_finished(std::span<const TaskId> tasks);
  // What workers have in hand, and those of it that were cancelled.
  std::vector<TaskId> in_hand();
  void tell_cancelled(std::span<const TaskId> tasks);
  // Somebody who may have been rung for tasks of these queues does not look.
  void ring(const std::vector<std::string>& queues);

 private:
  void tell_hungry_locked(const Changes& changes);
  void tell_watches_locked(const Changes& changes);
  void tell_finished_locked(const TaskId& task);
  void tell_of_cancelled_locked(const TaskId& task);

  Mutex lock_{{.name = "those who wait for tasks"}};
  handoff::detail::atomic<bool> has_due_{false};
  // Guarded by lock_.
  std::map<std::string, std::vector<HungryOne*>, std::less<>> hungry_;
  std::unordered_multimap<TaskId, Waiting*> for_end_;
  std::multimap<std::string, Waiting*, std::less<>> for_room_;
  std::unordered_multimap<TaskId, std::shared_ptr<NoticeCore>> notices_;
  std::vector<std::shared_ptr<NoticeCore>> due_;
  std::vector<std::weak_ptr<WatchCore>> watches_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
