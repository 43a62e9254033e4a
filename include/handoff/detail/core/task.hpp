// What every coroutine of ours has in common: who awaits it, which task it belongs to, and where it is.
//
// A task is a chain of coroutines that runs as one: its root was spawned, each of the others is awaited by the one before it. One
// thread at a time runs a task. It resumes one coroutine after the other from a loop (Trampoline): with GCC 12 a coroutine
// that resumed the next from inside would eat the stack.
//
// The loop's variable lives on the stack of the thread that runs the task, and the task points to it: once a coroutine is
// suspended its task may run elsewhere, or be gone, and the loop must not look at it.
#pragma once

#include <coroutine>
#include <optional>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <utility>

#include "handoff/detail/core/ambient.hpp"
#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/stop_callback.hpp"
#include "handoff/detail/core/thread_info.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
struct WaitInfo;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// Something to be run once, soon, by an executor. Lives in its owner's memory: being ready to run takes no allocation.
struct Runnable {
  using Run = void (*)(Runnable&);
  explicit Runnable(Run function) : run(function) {}
  Runnable(const Runnable&) = delete;
  Runnable& operator=(const Runnable&) = delete;

  Run run;
  Runnable* next = nullptr;  // The executor's.
};

class PoolCore;
class RunLoop;

// Where a task runs.
class Executor {
 public:
  // Runs it later on one of its threads, never from inside this call. Must not throw.
  virtual void run_soon(Runnable& runnable) noexcept = 0;
  // The same, after all that are ready there now.
  virtual void run_later(Runnable& runnable) noexcept { run_soon(runnable); }
  // The same for one that has never run, and may be one of many.
  virtual void run_newcomer(Runnable& runnable) noexcept { run_soon(runnable); }
  // For waits().
  virtual std::string_view executor_name() const = 0;
  // The pool it is, or null.
  virtual PoolCore* as_pool() { return nullptr; }
  // The loop of one thread it is, or null.
  virtual RunLoop* as_loop() { return nullptr; }

 protected:
  ~Executor() = default;
};

class PromiseBase;
class Task;
class Waiter;

extern const Wait no_limits;

struct Trampoline {
  std::coroutine_handle<> next;  // To be resumed as soon as the current one is suspended.
  Task* finished = nullptr;      // Its root has ended.
};

class Task : public Ambient {
 public:
  // `limits` is what the task's waits end by. `parent`: who waits for it, if that is a coroutine.
  Task(Executor& executor, const Wait& limits, std::source_location where,
       ScopeCore* scope = nullptr, const PromiseBase* parent = nullptr)
      : Ambient(limits, scope, &executor), where_(where), parent_(parent) {}

  // Runs the root until it is suspended or has ended. On a thread of the executor.
  void start(PromiseBase& root);
  // Goes on with a coroutine whose wait is over. On a thread of the executor.
  static void resume(PromiseBase& promise);

  // For coroutines that are running.
  void resume_next(std::coroutine_handle<> next) { trampoline_->next = next; }
  void root_has_ended() { trampoline_->finished = this; }

  Executor& executor() const { return *Ambient::executor(); }
  const std::source_location& where() const { return where_; }
  const PromiseBase* parent() const { return parent_; }
  // What owns a lock on behalf of this task: a number of its own, never that of a thread.
  ThreadId owner_id();

  // From now on a stop ends this wait, the one the task is in; and no longer.
  void end_by_stop(Waiter& waiter);
  void end_no_more_by_stop(Waiter& waiter);

 protected:
  ~Task() = default;
  // The root has ended and is suspended for good: its result is to be taken, its frame and the task to be destroyed. On the thread
  // that ran it, after which nothing of the task is touched.
  virtual void done() noexcept = 0;

 private:
  struct Stop {
    Task* task;
    void operator()() const noexcept { task->end_wait(); }
  };
  void end_wait() noexcept;

  const std::source_location where_;
  const PromiseBase* const parent_;
  Trampoline* trampoline_ = nullptr;
  ThreadId owner_id_ = no_thread;
  // One callback for all the waits of the task, rather than one for each: see end_wait(). Made for the first of them.
  SmallLock stop_lock_;
  atomic<Waiter*> waiting_{nullptr};
  std::optional<StopCallback<Stop>> on_stop_;
};

// The base of every promise type.
class PromiseBase {
 public:
  explicit PromiseBase(std::coroutine_handle<> self) : self_(self) {}
  PromiseBase(const PromiseBase&) = delete;
  PromiseBase& operator=(const PromiseBase&) = delete;

  std::coroutine_handle<> self() const { return self_; }
  Task& task() const { return *task_; }
  void set_task(Task& task) { task_ = &task; }

  // Who awaits this one; null for a root.
  PromiseBase* awaiter() const { return awaiter_; }
  void start_for(PromiseBase& awaiter) {
    awaiter_ = &awaiter;
    task_ = awaiter.task_;
    task_->resume_next(self_);
  }
  // At its final suspension.
  void has_ended() {
    if (awaiter_ != nullptr) {
      task_->resume_next(awaiter_->self_);
    } else {
      task_->root_has_ended();
    }
  }

  // The co_await it is at, or was last.
  const std::source_location& at() const { return at_; }
  void set_at(const std::source_location& at) { at_ = at; }

 private:
  std::coroutine_handle<> self_;
  PromiseBase* awaiter_ = nullptr;
  Task* task_ = nullptr;
  std::source_location at_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
