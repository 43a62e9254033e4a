// The bodies of Lazy<T>. See lazy.hpp for what they promise.
#pragma once

#include <stdexcept>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

struct LazyAccess {
  template <typename T>
  static LazyPromise<T>& promise(Lazy<T>& lazy) {
    if (lazy.promise_ == nullptr) throw std::logic_error("this Lazy was moved from, or awaited");
    return *lazy.promise_;
  }
};

// One coroutine waits for another, of the same task.
template <typename T>
class LazyAwaiter {
 public:
  explicit LazyAwaiter(Lazy<T>&& lazy)
      : lazy_(std::move(lazy)), promise_(LazyAccess::promise(lazy_)) {}

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  void await_suspend(std::coroutine_handle<Promise> awaiter,
                     std::source_location where = std::source_location::current()) noexcept {
    promise_.start_for(promise_of(awaiter, where));
  }
  T await_resume() { return promise_.take(); }

 private:
  Lazy<T> lazy_;
  LazyPromise<T>& promise_;
};

inline Lazy<void> LazyPromise<void>::get_return_object() { return Lazy<void>(*this); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename T>
detail::LazyAwaiter<T> Lazy<T>::operator co_await() && {
  return detail::LazyAwaiter<T>(std::move(*this));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
