// An executor that is one thread, for as long as that waits for a task of its own.
#pragma once

#include <source_location>
#include <stop_token>
#include <string_view>
#include <vector>

#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/core/waiter.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class RunLoop final : public Executor {
 public:
  explicit RunLoop(std::source_location where) : where_(where) {}

  void run_soon(Runnable& runnable) noexcept override;
  std::string_view executor_name() const override { return name_; }
  RunLoop* as_loop() override { return this; }
  // Runs what is ready, on this thread, until `is_done`, which only what it runs changes.
  void run_until(const bool& is_done);
  // And until the tasks of scopes that were spawned in it have ended: they have no other thread.
  void run_to_end(const bool& is_done);
  void task_begins() { ++tasks_; }
  void task_ended() { --tasks_; }
  // Waits on the thread of the loop, which goes on meanwhile.
  void take_steps_meanwhile(const Wait& wait, WaitSite site, Steps& steps);

 private:
  Runnable* take();
  void sleep();
  void run_one();

  const std::source_location where_;
  std::size_t tasks_ = 0;  // The thread's own.
  const std::string name_ = thread_name(this_thread_id());
  SmallLock lock_;
  // Guarded by lock_.
  Runnable* front_ = nullptr;
  Runnable* back_ = nullptr;
  Waiter* sleeper_ = nullptr;
};

struct OwnLoop {
  RunLoop loop;  // There before the task that refers to it.
};

// A task that runs in a loop of its own.
class LoopTask final : private OwnLoop, private OwnStop, public Task {
 public:
  LoopTask(std::stop_token stop, std::source_location where)
      : OwnLoop{RunLoop(where)},
        OwnStop(std::move(stop)),
        Task(loop, own_limits, where, scope_here()) {}

  void run_to_end(PromiseBase& root) {
    start(root);
    loop.run_to_end(is_done_);
  }

 private:
  void done() noexcept override { is_done_ = true; }

  static ScopeCore* scope_here() {
    const Ambient* const ambient = current_ambient();
    return ambient == nullptr ? nullptr : ambient->scope();
  }

  bool is_done_ = false;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
