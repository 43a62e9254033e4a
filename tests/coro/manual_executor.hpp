// Coroutines that go on when, and on which thread, a test says so: what happens between the end of a wait and the moment its
// coroutine hears of it can then be chosen, instead of hoped for.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <source_location>
#include <stop_token>
#include <string_view>
#include <utility>

#include "handoff/detail/core/task.hpp"
#include "handoff/lazy.hpp"

namespace handoff::tests {

class ManualExecutor final : public detail::Executor {
 public:
  void run_soon(detail::Runnable& runnable) noexcept override {
    const std::lock_guard guard(mutex_);
    runnable.next = nullptr;
    (front_ == nullptr ? front_ : back_->next) = &runnable;
    back_ = &runnable;
    ++ready_;
    is_ready_.notify_one();
  }
  std::string_view executor_name() const override { return "by hand"; }

  // How many coroutines could go on.
  std::size_t ready() const {
    const std::lock_guard guard(mutex_);
    return ready_;
  }

  // Goes on, on this thread, with all that can, and returns how many that were.
  std::size_t run() {
    std::size_t count = 0;
    for (; auto* const next = take(); ++count) next->run(*next);
    return count;
  }

  // Does so until a stop is requested.
  void run_until(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      run();
      std::unique_lock lock(mutex_);
      is_ready_.wait(lock, stop, [&] { return front_ != nullptr; });
    }
  }

 private:
  detail::Runnable* take() {
    const std::lock_guard guard(mutex_);
    if (front_ == nullptr) return nullptr;
    --ready_;
    return std::exchange(front_, front_->next);
  }

  mutable std::mutex mutex_;
  std::condition_variable_any is_ready_;
  detail::Runnable* front_ = nullptr;
  detail::Runnable* back_ = nullptr;
  std::size_t ready_ = 0;
};

// A coroutine that was begun, on the calling thread.
template <typename T>
class Begun final : private detail::OwnStop, public detail::Task {
 public:
  Begun(ManualExecutor& executor, Lazy<T> lazy, std::stop_token stop = {},
        std::source_location where = std::source_location::current())
      : OwnStop(std::move(stop)),
        Task(executor, own_limits, where),
        lazy_(std::move(lazy)),
        promise_(detail::LazyAccess::promise(lazy_)) {
    start(promise_);
  }

  bool is_done() const { return is_done_; }
  // Once it is done.
  T result() { return promise_.take(); }

 private:
  void done() noexcept override { is_done_ = true; }

  Lazy<T> lazy_;
  detail::LazyPromise<T>& promise_;
  std::atomic<bool> is_done_{false};
};

}  // namespace handoff::tests
