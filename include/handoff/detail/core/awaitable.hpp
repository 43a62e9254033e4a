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
#include <type_traits>
#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/operation.hpp"
#include "handoff/detail/core/steps.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/core/timer_wheel.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// A coroutine's wait. Lives in its frame.
class AsyncWaiter final : public Waiter, private Runnable {
 public:
  explicit AsyncWaiter(WaitSite site);
  ~AsyncWaiter();

  // True: suspended. False: finished without having been.
  bool start(PromiseBase& promise, Steps& steps, Deadline deadline, bool heeds_stop);

  // Once resumed. A task is in one wait at a time, while this object may live on until the whole expression is done.
  void finish() {
    if (has_limits()) disarm();
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
  bool has_limits() const { return heeds_stop_ || limits_ != nullptr; }
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
      : asked_{.site = site, .deadline = deadline}, op_(std::forward<Args>(args)...) {}
  Awaitable(const Awaitable&) = delete;
  Awaitable& operator=(const Awaitable&) = delete;
  ~Awaitable() {
    if (is_waiting_) waiter_.~AsyncWaiter();
  }

  // Asked in await_suspend, where the task and its stop_token are known.
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiter,
                     std::source_location here = std::source_location::current()) {
    Asked asked = asked_;
    if (asked.site.where.line() == 0)
      asked.site.where = here;  // It could not be asked for at the call.
    const sim::Operation now(asked.site.where, asked.site.operation);
    PromiseBase& promise = promise_of(awaiter, asked.site.where);
    if constexpr (requires { op_.bind(promise); }) op_.bind(promise);
    if (op_.ready(promise.task().stop())) return false;
    HANDOFF_ASSERT(!is_waiting_);  // It is awaited once.
    std::construct_at(&waiter_, asked.site);
    is_waiting_ = true;
    return waiter_.start(promise, op_, asked.deadline, !requires { Op::ignores_stop; });
  }
  auto await_resume() {
    if (is_waiting_) waiter_.finish();
    return op_.result();
  }

 private:
  struct Asked {
    WaitSite site;
    Deadline deadline;
  };
  static_assert(std::is_trivially_destructible_v<Asked>);
  // Most waits are over before they have begun: the waiter is made only for the others, where what was asked has been.
  union {
    Asked asked_;
    AsyncWaiter waiter_;
  };
  bool is_waiting_ = false;
  Op op_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
