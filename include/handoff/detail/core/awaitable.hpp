// Steps as something to co_await: what async_take() and its like return.
//
//   auto item = co_await queue.async_take();                       // std::expected<T, Refusal>
//
// Op is Steps with two more members: ready(stop) tries without waiting, and result() gives what came of it, once. Inside a
// Lazy the stop_token is that of the running task; the wait ends with `stopped` when it is requested.
#pragma once

#include <concepts>
#include <coroutine>
#include <exception>
#include <memory>
#include <source_location>
#include <stop_token>
#include <utility>

#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/core/timer_wheel.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// A coroutine's wait. Lives in its frame.
class AsyncWaiter final : public Waiter, private Runnable {
 public:
  explicit AsyncWaiter(WaitSite site);
  ~AsyncWaiter();

  using Waiter::set_where;

  // True: suspended. False: finished without having been.
  bool start(PromiseBase& promise, Steps& steps, Deadline deadline, bool heeds_stop);

  // Once resumed. A task is in one wait at a time, while this object may live on until the whole expression is done.
  void finish() {
    disarm();
    if (error_) std::rethrow_exception(error_);
  }
  const PromiseBase& promise() const { return *promise_; }

 private:
  struct Limits;

  static const CoroutineSide as_coroutine;
  static void resume_soon(Waiter& waiter) noexcept;
  static void arm_limits(Waiter& waiter);
  static void describe(const Waiter& waiter, WaitInfo& info);
  static void run(Runnable& runnable);
  void disarm();

  PromiseBase* promise_ = nullptr;
  Steps* steps_ = nullptr;
  std::unique_ptr<Limits> limits_;  // Only if it has a deadline.
  std::exception_ptr error_;        // What a step threw while the coroutine was suspended.
};

// The promise of the coroutine that awaits something of ours, which is told where it does.
template <typename Promise>
PromiseBase& promise_of(std::coroutine_handle<Promise> awaiter, std::source_location where) {
  static_assert(std::derived_from<Promise, PromiseBase>,
                "co_await this in a handoff::Lazy (in an asio::awaitable: see handoff/asio.hpp)");
  PromiseBase& promise = awaiter.promise();
  promise.set_at(where);
  return promise;
}

template <typename Op>
class [[nodiscard]] Awaitable {
 public:
  template <typename... Args>
  explicit Awaitable(WaitSite site, Deadline deadline, Args&&... args)
      : deadline_(deadline), waiter_(site), op_(std::forward<Args>(args)...) {}
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;

  // Asked in await_suspend, where the task and its stop_token are known.
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiter,
                     std::source_location here = std::source_location::current()) {
    // It could not be asked for at the call.
    if (waiter_.site().where.line() == 0) waiter_.set_where(here);
    PromiseBase& promise = promise_of(awaiter, waiter_.site().where);
    if constexpr (requires { op_.bind(promise); }) op_.bind(promise);
    if (op_.ready(promise.task().stop())) return false;
    return waiter_.start(promise, op_, deadline_, !requires { Op::ignores_stop; });
  }
  auto await_resume() {
    waiter_.finish();
    return op_.result();
  }

 private:
  const Deadline deadline_;
  AsyncWaiter waiter_;
  Op op_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
