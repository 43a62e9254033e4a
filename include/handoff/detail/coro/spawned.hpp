// A spawned coroutine and its future.
#pragma once

#include <source_location>
#include <utility>

#include "handoff/detail/coro/pool_task.hpp"
#include "handoff/detail/pool/future_state.hpp"
#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename T>
class SpawnedTask final : public FutureState<T>, public PoolTask {
 public:
  SpawnedTask(PoolCore& pool, Lazy<T>&& lazy, std::source_location where)
      : FutureState<T>(nullptr, where, nullptr),
        PoolTask(pool, pool.limits(), where),
        lazy_(std::move(lazy)) {}

 private:
  PromiseBase& root() override { return LazyAccess::promise(*lazy_); }
  void begins() override {
    const bool is_first = FutureState<T>::begin();
    HANDOFF_ASSERT(is_first);
  }
  bool may_withdraw() noexcept override { return FutureState<T>::withdraw(); }
  void ended() noexcept override {
    auto& promise = LazyAccess::promise(*lazy_);
    auto error = promise.error();
    if constexpr (!std::is_void_v<T>) {
      try {
        if (!error) this->keep(std::move(*promise.value()));
      } catch (...) {  // The result's move constructor.
        error = std::current_exception();
      }
    }
    lazy_.reset();  // What it holds is let go before anybody hears that it is done.
    this->complete(std::move(error));
    this->drop_reference();
  }
  void never_began() noexcept override {
    this->abandon();
    this->drop_reference();
  }
  // Nobody calls it: it is begun and completed.
  void call(const std::stop_token&) override { HANDOFF_ASSERT(false); }
  void drop() noexcept override { lazy_.reset(); }

  std::optional<Lazy<T>> lazy_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
