#include "handoff/detail/coro/pool_task.hpp"

#include "handoff/detail/coro/run_loop.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

void PoolTask::begin(Runnable& runnable) {
  auto& self = static_cast<PoolTask&>(runnable);
  self.begins();
  self.start(self.root());
}

void PoolTask::run_as_job() {
  if (is_worker_of(pool_)) return begin(*this);
  run_here();
}

// It was handed back, and is run by whoever has it now, on his thread.
void PoolTask::run_here() {
  struct LocalTask final : Task {
    LocalTask(RunLoop& loop, PoolTask& task)
        // The pool's own stop has been requested, perhaps; that is not meant for who runs it now.
        : Task(loop, task.scope() == nullptr ? no_limits : task.limits(), task.where(),
               task.scope()) {}
    void done() noexcept override { is_done = true; }
    bool is_done = false;
  };
  begins();
  RunLoop loop(where());
  LocalTask local(loop, *this);
  local.start(root());
  loop.run_to_end(local.is_done);
  ended();
}

bool PoolTask::withdraw() noexcept {
  if (!may_withdraw()) return false;
  if (std::exchange(is_counted_, false)) pool_.end_coroutine();
  return true;
}

// Counted out before anybody hears of it: who has waited for the last of them finds none. The pool is still there: it waits for the
// worker that runs this.
void PoolTask::give_up() {
  if (is_counted_) pool_.end_coroutine();
  never_began();
}

void PoolTask::done() noexcept {
  if (is_counted_) pool_.end_coroutine();
  ended();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
