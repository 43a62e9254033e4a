#include "handoff/tasks/notice.hpp"

#include <exception>
#include <utility>

#include "handoff/log.hpp"
#include "tasks/core.hpp"
#include "tasks/notice_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

void NoticeCore::call(std::expected<Task, TaskError> task) {
  if (caller_ == handoff::detail::this_thread_id()) return;  // By itself: it is called already.
  const auto turn = lock_.hold();
  Tasks::OnFinished callback = std::exchange(callback_, nullptr);
  if (!callback) return;
  caller_ = handoff::detail::this_thread_id();
  try {
    callback(std::move(task));
  } catch (const std::exception& error) {
    handoff::detail::log_line("tasks: a callback of on_finished() threw: " +
                              std::string(error.what()));
  } catch (...) {
    handoff::detail::log_line("tasks: a callback of on_finished() threw");
  }
  // What it holds may withdraw this very notice: while it is known that we call it.
  callback = nullptr;
  caller_ = handoff::detail::no_thread;
}

bool NoticeCore::withdraw() {
  if (caller_ == handoff::detail::this_thread_id()) return false;
  const auto turn = lock_.hold();
  return std::exchange(callback_, nullptr) != nullptr;
}

bool Notice::withdraw() {
  if (!notice_) return false;
  if (const auto store = store_.lock()) store->listeners().remove_notice(*notice_);
  return std::exchange(notice_, nullptr)->withdraw();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
