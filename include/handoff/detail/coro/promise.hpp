// What is behind a Lazy.
#pragma once

#include <coroutine>
#include <exception>
#include <new>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/awaitable.hpp"
#include "handoff/detail/core/task.hpp"
#include "handoff/detail/coro/frame_memory.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
template <typename T>
class Lazy;
}  // namespace handoff::inline HANDOFF_FLAVOUR

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T>
class LazyAwaiter;
struct LazyAccess;

// At its end a coroutine is suspended for good, and who awaits it goes on.
struct FinalAwaiter {
  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> ended) const noexcept {
    ended.promise().has_ended();
  }
  void await_resume() const noexcept {}
};

class LazyPromiseBase : public PromiseBase {
 public:
  using PromiseBase::PromiseBase;

  static void* operator new(std::size_t size) { return allocate_frame(size); }
  static void operator delete(void* frame, std::size_t size) { free_frame(frame, size); }

  std::suspend_always initial_suspend() const noexcept { return {}; }
  FinalAwaiter final_suspend() const noexcept { return {}; }
  void unhandled_exception() noexcept {
    error_ = std::current_exception();
    note_trace_of(error_, *this);
  }
  void rethrow_if_failed() const {
    if (error_) std::rethrow_exception(error_);
  }
  const std::exception_ptr& error() const { return error_; }

 private:
  std::exception_ptr error_;
};

template <typename T>
class LazyPromise final : public LazyPromiseBase {
 public:
  LazyPromise() : LazyPromiseBase(std::coroutine_handle<LazyPromise>::from_promise(*this)) {}

  Lazy<T> get_return_object() { return Lazy<T>(*this); }
  template <typename Given>
    requires std::is_constructible_v<T, Given&&>
  void return_value(Given&& value) {
    value_.emplace(std::forward<Given>(value));
  }

  // Once it has ended: what it returned, or threw.
  T take() {
    rethrow_if_failed();
    return std::move(*value_);
  }
  std::optional<T>& value() { return value_; }

 private:
  std::optional<T> value_;
};

template <>
class LazyPromise<void> final : public LazyPromiseBase {
 public:
  LazyPromise() : LazyPromiseBase(std::coroutine_handle<LazyPromise>::from_promise(*this)) {}

  Lazy<void> get_return_object();
  void return_void() const noexcept {}
  void take() const { rethrow_if_failed(); }
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
