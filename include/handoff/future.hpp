// The result of a job that runs elsewhere.
//
//   auto size = pool.submit([&] { return resize(photo); });            // std::expected<Future<Image>, Refusal>
//   if (!size) return busy();                                          // the pool was full or closed
//   auto image = size->get({.deadline = handoff::within(2s)});         // std::expected<Image, Refusal>
//
//            waits     now or not    within a time    then                         awaits
//   get      get()     is_ready()    get(100ms)       std::move(future).then(f)    co_await future, co_await future.async_get(within(100ms))
//
// One among several things to wait for: select(future.on_ready(f), ...), see select.hpp.
//
// - get() gives the result, once; what the job threw is thrown there. Refused with `timed_out` or `stopped` (the future
//   is as before), or with `closed`: the job was handed back or dropped, and destroyed without having run.
// - Dropping a future is fine: the job runs all the same, and its result is destroyed.
// - then(f) gives a future of f(result). f runs on the thread that finishes the job, or at once if that is done. What
//   the job throws, or a job that never runs, passes f by.
// - In a job, waiting for a future of the same pool runs that job if nobody has begun it, whatever the deadline of the wait, or
//   brings in a spare worker: see WorkerPool.
//
// Thread safety: as a value; one thread at a time.
// Visibility: all the job did is seen by who has got its result.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/pool/future_state.hpp"
#include "handoff/detail/pool/future_wait.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename R>
class [[nodiscard]] Future {
 public:
  using Value = R;
  using Result = std::expected<R, Refusal>;

  Future() = default;                                                // Of nothing.
  explicit Future(detail::FutureState<R>* state) : state_(state) {}  // Takes over a reference.
  Future(Future&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  Future& operator=(Future&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Future() {
    if (state_ != nullptr) state_->drop_reference();
  }

  // False for one that was moved from, or whose result has been got.
  bool is_valid() const { return state_ != nullptr; }

  // True if get() would not wait.
  bool is_ready() const { return checked().is_done(); }

  // Waits for the result. Throws what the job threw, or std::logic_error if the future is not valid.
  [[nodiscard]] Result get(const Wait& wait = {},
                           std::source_location where = std::source_location::current()) {
    if (auto refusal = checked().wait(wait, where)) return std::unexpected(*refusal);
    // From here on the future is used up, also by an exception.
    Future used = std::move(*this);
    return used.state_->take();
  }
  template <typename Rep, typename Period>
  [[nodiscard]] Result get(std::chrono::duration<Rep, Period> patience,
                           std::source_location where = std::source_location::current()) {
    return get({.deadline = within(patience)}, where);
  }

  // co_await gives what get() would. In a Lazy the stop_token is the task's.
  [[nodiscard]] auto async_get(Deadline deadline = {},
                               std::source_location where = std::source_location::current()) {
    return detail::Awaitable<AsyncGet>(detail::WaitSite{"get", where}, deadline, *this);
  }

  // Gets the result if this case of a select is the one that happens, and then calls handler(R) or handler(Result). A job that never
  // runs: handler(Result) is told `closed`; if it cannot be, the select itself reports it. What the job threw is thrown by the select.
  template <detail::HandlesResult<R> F>
  [[nodiscard]] auto on_ready(F handler,
                              std::source_location where = std::source_location::current()) {
    return OnReady<F>(*this, std::move(handler), where);
  }

  template <typename F>
  auto then(F&& f, std::source_location where = std::source_location::current()) && {
    using Then = detail::ThenCall<R, std::decay_t<F>>;
    using Next = typename Then::Result;
    auto* const before = &checked();
    const Future used = std::move(*this);
    auto* const next = new detail::FutureTask<Next, Then>(nullptr, where, before,
                                                          Then(before, std::forward<F>(f)));
    Future<Next> future(next);
    before->then_run(*next);  // Takes over the second reference to `next`.
    return future;            // Ours to `before` ends with `used`; `next` has its own.
  }

 private:
  class AsyncGet;
  template <typename F>
  class OnReady;

  detail::FutureState<R>& checked() const {
    if (state_ == nullptr) throw std::logic_error("this Future has no result: moved from, or used");
    return *state_;
  }

  detail::FutureState<R>* state_ = nullptr;
};

// co_await future is co_await future.async_get().
template <typename R>
auto operator co_await(Future<R>& future) {
  return future.async_get({}, std::source_location());  // The awaiting coroutine knows where.
}
template <typename R>
auto operator co_await(Future<R>&& future) {
  return operator co_await(future);
}

// -- Details --------------------------------------------------------------------------------------

template <typename R>
class Future<R>::AsyncGet final : public detail::FutureWait {
 public:
  explicit AsyncGet(Future& future) : FutureWait(future.checked()), future_(future) {}

  Result result() {
    if (refusal()) return std::unexpected(*refusal());
    return future_.get();
  }

 private:
  Future& future_;
};

template <typename R>
template <typename F>
class Future<R>::OnReady final : public detail::FutureCase {
 public:
  OnReady(Future& future, F handler, std::source_location where)
      : FutureCase(future.checked(), where), future_(future), handler_(std::move(handler)) {}
  OnReady(OnReady&& other)
      : FutureCase(other), future_(other.future_), handler_(std::move(other.handler_)) {}

  std::optional<Refusal> finish() override { return detail::handle(handler_, future_.get()); }

 private:
  Future& future_;
  F handler_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
