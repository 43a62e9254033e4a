#include "tasks/core.hpp"

#include <utility>

#include "tasks/stores/sqlite/sqlite_store.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

TasksCore::TasksCore(std::unique_ptr<Store> store, const std::string& file, const TaskClock& clock)
    : clock_(clock),
      store_(std::move(store)),
      batcher_(*store_, [this](const Changes& changes) { committed(changes); }) {
  keeper_ = std::make_unique<Keeper>(
      batcher_,
      Keeper::Options{.store = file,
                      .clock = &clock,
                      .changed_by_others = [this] { listeners_.tell_all(); },
                      .somebody_is_gone = [this] { committed(store_->reclaim_from_the_dead()); }});
  keeper_->start();
}

TasksCore::~TasksCore() = default;

void TasksCore::committed(const Changes& changes) {
  listeners_.tell(changes);
  if (changes.due_in) keeper_->due_in(*changes.due_in);
}

Tasks TasksAccess::open(sqlite::SqliteOptions options) {
  const TaskClock& clock = *options.clock;
  const std::string file = options.path;
  auto store = std::make_unique<sqlite::SqliteStore>(std::move(options));
  return Tasks(std::make_shared<TasksCore>(std::move(store), file, clock));
}

TaskError to_error(std::exception_ptr thrown) {
  try {
    std::rethrow_exception(std::move(thrown));
  } catch (const sqlite::Failure& failure) {
    return failure.error;
  } catch (const std::exception& error) {
    return {.code = TaskError::Code::internal, .message = error.what(), .field = {}};
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
