// A call that is to be made once, unless it is withdrawn.
#pragma once

#include <functional>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/thread_info.hpp"
#include "handoff/mutex.hpp"
#include "handoff/tasks/notice.hpp"
#include "handoff/tasks/tasks.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class NoticeCore {
 public:
  NoticeCore(const TaskId& task, Tasks::OnFinished callback)
      : id(task), callback_(std::move(callback)) {}

  // The first call is the only one.
  void call(std::expected<Task, TaskError> task);
  // False if it was called, or is called by this thread now. One that is called by another is waited for.
  bool withdraw();

  const TaskId id;

 private:
  handoff::detail::atomic<handoff::detail::ThreadId> caller_{handoff::detail::no_thread};
  Mutex lock_{{.name = "the end of a task"}};  // Held by who calls.
  Tasks::OnFinished callback_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
