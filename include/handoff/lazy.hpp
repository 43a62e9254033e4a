// A coroutine that starts when it is awaited.
//
//   handoff::Lazy<int> stock(Shop& shop) {
//     auto reply = co_await shop.replies.async_take();      // waits without a thread
//     co_return reply ? reply->count : 0;
//   }
//   handoff::Lazy<> report(Shop& shop) { print(co_await stock(shop)); }
//
//   handoff::sync_wait(report(shop));                       // runs it here and waits for it
//   auto future = handoff::spawn(pool, report(shop));       // runs it on the workers of a pool (spawn.hpp)
//
// GCC 12, the compiler of Debian 12, frees some temporaries of a co_await expression twice, and makes nothing of a coroutine without any
// local variable that asks a co_await in an if, while or switch. Name things first: if (auto set = co_await event.async_wait()), and
//
//   auto work = [photo] { return resize(photo); };           // a closure that owns something: name it,
//   auto image = co_await handoff::offload(pool, work);      // then use it
//   auto order = Order{.id = 7, .items = items};             // a struct of which members own something: likewise
//   co_await orders.async_put(std::move(order));
//
// See docs/guide/coroutines.md. Clang has none of this.
//
// - Nothing of the body runs until it is awaited or spawned. What it throws comes out of the co_await.
// - A chain of any length and a loop of any length take no stack.
// - The stop_token is that of the running task, for all that it awaits: co_await handoff::current_stop() gives it.
// - Inside a Lazy only what Handoff offers can be awaited: its async_ operations, Lazy, Future, and what is made of them.
//
// Thread safety: as a value; one thread at a time. The body may go on on another thread of the same executor after each co_await.
// Visibility: all that was done before is seen by what comes after, whatever thread runs it.
#pragma once

#include <coroutine>
#include <exception>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/detail/coro/promise.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T = void>
class [[nodiscard]] Lazy {
  static_assert(!std::is_reference_v<T>, "a Lazy gives a value; return a pointer instead");

 public:
  using Value = T;
  using promise_type = detail::LazyPromise<T>;  // NOLINT: the language asks for this name.

  Lazy(Lazy&& other) noexcept : promise_(std::exchange(other.promise_, nullptr)) {}
  Lazy& operator=(Lazy&& other) noexcept {
    std::swap(promise_, other.promise_);
    return *this;
  }
  ~Lazy() {
    if (promise_ != nullptr) promise_->self().destroy();
  }

  // co_await std::move(lazy), or co_await of a call that returns one.
  detail::LazyAwaiter<T> operator co_await() &&;

 private:
  friend promise_type;
  friend detail::LazyAccess;
  explicit Lazy(promise_type& promise) : promise_(&promise) {}

  promise_type* promise_;  // Null once it was moved from.
};

// co_await handoff::current_stop() gives the stop_token of the running task.
class CurrentStop {
 public:
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> awaiter,
                     std::source_location where = std::source_location::current()) {
    stop_ = detail::promise_of(awaiter, where).task().stop();
    return false;
  }
  std::stop_token await_resume() { return std::move(stop_); }

 private:
  std::stop_token stop_;
};
inline CurrentStop current_stop() { return {}; }

// co_await handoff::yield() lets the others run that are ready on this worker, then goes on: for a coroutine that computes for long.
// It is no wait: a stop does not end it. Ask current_stop() if you want to know.
class [[nodiscard]] Yield : private detail::Runnable {
 public:
  Yield() : Runnable(&Yield::run) {}
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiter,
                     std::source_location where = std::source_location::current()) {
    promise_ = &detail::promise_of(awaiter, where);
    promise_->task().executor().run_later(*this);
  }
  void await_resume() const noexcept {}

 private:
  static void run(detail::Runnable& runnable) {
    detail::Task::resume(*static_cast<Yield&>(runnable).promise_);
  }

  detail::PromiseBase* promise_ = nullptr;
};
inline Yield yield() { return {}; }

}  // namespace handoff::inline HANDOFF_FLAVOUR

#include "handoff/detail/coro/lazy.ipp"
#include "handoff/sync_wait.hpp"
