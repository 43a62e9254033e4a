// A task that runs on an executor of Boost.Asio, and what becomes of it when its execution context ends.
//
// What is ready to run stands in the task's own list; for each, one Turn is posted to Asio, which runs the first. So a Turn that
// Asio drops, because its context ends, takes nothing with it.
//
// When an execution context is destroyed:
//   1. Nobody runs it any more. AsioTasks::shutdown() takes over what is ready in each of its tasks, and what becomes so.
//   2. It requests their stop: what they wait for ends with `stopped`.
//   3. It runs them to their end on this thread. Their handlers are destroyed, not called, as Asio does with its own.
#pragma once

#include <boost/asio/execution_context.hpp>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <utility>

#include "handoff/detail/core/small_lock.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/coro/run_loop.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class AsioTask;

// Where a task says that it has ended: on the stack of the Turn it ended in, so that its handler is called outside of all that
// must not throw.
class AsioEnd {
 public:
  AsioEnd() : before_(std::exchange(current, this)) {}
  ~AsioEnd() { current = before_; }
  AsioEnd(const AsioEnd&) = delete;
  AsioEnd& operator=(const AsioEnd&) = delete;

  static inline constinit thread_local AsioEnd* current = nullptr;  // Null: its context ends.
  AsioTask* task = nullptr;

 private:
  AsioEnd* const before_;
};

class AsioTask : private OwnStop, public Task, protected Executor, private Runnable {
 public:
  // What is posted.
  struct Turn {
    void operator()() const { task->take_turn(); }
    AsioTask* task;
  };

  void run_soon(Runnable& runnable) noexcept final {
    RunLoop* loop = nullptr;
    {
      // The Turn takes the lock before all else, so the task is there until it is given back.
      SmallGuard guard(lock_);
      loop = loop_;
      if (loop == nullptr) {
        push_locked(runnable);
        post(Turn{this});
      }
    }
    if (loop != nullptr) loop->run_soon(runnable);
  }
  std::string_view executor_name() const final { return "asio"; }

 protected:
  AsioTask(std::stop_token stop, std::source_location where)
      : OwnStop(std::move(stop)),
        Task(static_cast<Executor&>(*this), own_limits, where),
        Runnable(&AsioTask::begin) {}
  ~AsioTask() = default;

  // Never inside the initiating function: Asio's rule, and a take that succeeds is then followed by its handler at once.
  void start_soon() { run_soon(*this); }

  // From any thread, under a lock.
  virtual void post(Turn turn) noexcept = 0;
  virtual PromiseBase& root() = 0;
  // It has ended. Destroys the task and calls its handler, or does not.
  virtual void complete() = 0;
  virtual void abandon() noexcept = 0;

 private:
  friend class AsioTasks;

  static void begin(Runnable& runnable) {
    auto& self = static_cast<AsioTask&>(runnable);
    self.start(self.root());
  }

  void take_turn() {
    AsioTask* ended = nullptr;
    {
      AsioEnd end;
      Runnable& ready = pop();
      ready.run(ready);
      ended = end.task;
    }
    if (ended != nullptr) ended->complete();
  }

  void done() noexcept final {
    if (AsioEnd::current == nullptr) return abandon();
    AsioEnd::current->task = this;
  }

  void push_locked(Runnable& runnable) {
    runnable.next = nullptr;
    (back_ == nullptr ? front_ : back_->next) = &runnable;
    back_ = &runnable;
  }
  Runnable& pop() {
    SmallGuard guard(lock_);
    Runnable& first = *front_;
    front_ = first.next;
    if (front_ == nullptr) back_ = nullptr;
    return first;
  }
  // What is ready, now and later, is run there.
  void move_to(RunLoop& loop) {
    SmallGuard guard(lock_);
    loop_ = &loop;
    back_ = nullptr;
    while (front_ != nullptr) loop.run_soon(*std::exchange(front_, front_->next));
  }

  SmallLock lock_;
  // Guarded by lock_.
  Runnable* front_ = nullptr;
  Runnable* back_ = nullptr;
  RunLoop* loop_ = nullptr;  // Once the context has ended.

  // Guarded by the lock of AsioTasks.
  AsioTask* newer_ = nullptr;
  AsioTask* older_ = nullptr;
};

// The tasks of one execution context.
class AsioTasks final : public boost::asio::execution_context::service {
 public:
  static inline boost::asio::execution_context::id id;  // NOLINT: Asio asks for this name.

  explicit AsioTasks(boost::asio::execution_context& context)
      : boost::asio::execution_context::service(context) {}

  // Requested when the context ends.
  std::stop_token stop_token() const { return stop_.get_token(); }

  void add(AsioTask& task) {
    SmallGuard guard(lock_);
    task.older_ = newest_;
    if (newest_ != nullptr) newest_->newer_ = &task;
    newest_ = &task;
    is_empty_ = false;
  }
  void remove(AsioTask& task) {
    SmallGuard guard(lock_);
    (task.newer_ == nullptr ? newest_ : task.newer_->older_) = task.older_;
    if (task.older_ != nullptr) task.older_->newer_ = task.newer_;
    is_empty_ = newest_ == nullptr;
  }

 private:
  // See the top of the file.
  void shutdown() noexcept override {
    if (is_empty_) return;
    RunLoop loop(std::source_location::current());
    {
      SmallGuard guard(lock_);
      for (AsioTask* each = newest_; each != nullptr; each = each->older_) each->move_to(loop);
    }
    stop_.request_stop();
    AsioEnd* const outer = std::exchange(AsioEnd::current, nullptr);
    loop.run_until(is_empty_);
    AsioEnd::current = outer;
  }

  std::stop_source stop_;
  SmallLock lock_;
  // Guarded by lock_, until shutdown() has the context for itself.
  AsioTask* newest_ = nullptr;
  bool is_empty_ = true;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
