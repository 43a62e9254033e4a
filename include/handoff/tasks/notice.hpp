// A call that comes once a task is finished, without a thread that waits for it.
//
//   auto notice = tasks.on_finished(id, [&](std::expected<Task, TaskError> task) { loop.post(show(task)); });
//   notice->withdraw();                             // true: it will not be called
//
// Called once, after the commit: by the thread that made it, or by one of the store's, which also hears of what other processes do; or at once, by the caller of on_finished(), if the
// task is finished already. It gets what wait() returns. Others' calls wait behind it, so it must be short; it may call the store. What it throws is logged.
//
// Dropping the notice withdraws it, as with a std::stop_callback: if it is being called by another thread, that is waited for. If the store is closed first, it is not called.
// Thread safety: as a value; one thread at a time.
// A callback must not hold the last handle of the store (a Tasks): it may be called by a thread of the store's own.
#pragma once

#include <memory>
#include <utility>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

class NoticeCore;
class TasksCore;

class [[nodiscard]] Notice {
 public:
  Notice(Notice&& other) noexcept = default;
  Notice& operator=(Notice&& other) noexcept {
    std::swap(notice_, other.notice_);
    std::swap(store_, other.store_);
    return *this;
  }
  ~Notice() { withdraw(); }

  // True if it will not be called. False if it was, or is called by this thread now.
  bool withdraw();

 private:
  friend class Tasks;
  Notice(std::shared_ptr<NoticeCore> notice, std::weak_ptr<TasksCore> store)
      : notice_(std::move(notice)), store_(std::move(store)) {}
  std::shared_ptr<NoticeCore> notice_;
  std::weak_ptr<TasksCore> store_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
