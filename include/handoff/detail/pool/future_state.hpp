// The typed half of what a future and its job share: the result, and the callable that makes it.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>
#include <variant>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/pool/future_core.hpp"
#include "handoff/job.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename R>
class FutureState : public FutureCore {
  static_assert(!std::is_reference_v<R>, "a job returns a value; return a pointer instead");

 public:
  // Once it is done: moves the result out, or throws what the job threw.
  std::expected<R, Refusal> take() {
    if (phase() == Phase::error) std::rethrow_exception(this->take_error());
    if (phase() == Phase::never) return std::unexpected(Refusal::closed);
    if constexpr (std::is_void_v<R>) {
      return {};
    } else {
      return std::expected<R, Refusal>(std::in_place, std::move(*result_));
    }
  }

 protected:
  using FutureCore::FutureCore;
  using Kept = std::conditional_t<std::is_void_v<R>, std::monostate, R>;

  void keep(Kept&& result) { result_.emplace(std::move(result)); }

  template <typename F>
  void keep_result_of(F& f, const std::stop_token& stop) {
    if constexpr (std::is_void_v<R>) {
      call_job(f, stop);
    } else {
      result_.emplace(call_job(f, stop));
    }
  }

 private:
  std::optional<Kept> result_;
};

template <typename R, typename F>
class FutureTask final : public FutureState<R> {
 public:
  template <typename Given>
  FutureTask(const PoolCore* pool, std::source_location where, FutureCore* follows, Given&& f)
      : FutureState<R>(pool, where, follows), f_(std::in_place, std::forward<Given>(f)) {}

 private:
  void call(const std::stop_token& stop) override {
    // Whatever it holds is let go before anybody hears that it is done.
    struct Drop {
      FutureTask& task;
      ~Drop() { task.drop(); }
    } drop{*this};
    this->keep_result_of(*f_, stop);
  }
  void drop() noexcept override { f_.reset(); }

  std::optional<F> f_;
};

// The queue's entry of a job that has a future.
class FutureJob {
 public:
  explicit FutureJob(FutureCore& core) : core_(&core) {}  // Takes over a reference.
  FutureJob(FutureJob&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  FutureJob& operator=(FutureJob&&) = delete;
  ~FutureJob() {
    if (core_ == nullptr) return;
    core_->abandon();
    core_->drop_reference();
  }

  void operator()(const std::stop_token& stop) { static_cast<void>(core_->run_job(stop)); }
  bool withdraw() noexcept { return core_->withdraw(); }

 private:
  FutureCore* core_;
};

// What then(f) calls: f with the result before it, which is moved out.
template <typename R, typename F>
class ThenCall {
  static auto call(F& f, FutureState<R>& before) {
    auto result = before.take();  // Throws what the job before threw.
    HANDOFF_ASSERT(result.has_value());
    if constexpr (std::is_void_v<R>) {
      return std::invoke(f);
    } else {
      return std::invoke(f, std::move(*result));
    }
  }

 public:
  using Result = decltype(call(std::declval<F&>(), std::declval<FutureState<R>&>()));

  template <typename Given>
  ThenCall(FutureState<R>* before, Given&& f) : before_(before), f_(std::forward<Given>(f)) {}
  Result operator()() { return call(f_, *before_); }

 private:
  FutureState<R>* before_;  // Kept alive by the future that follows it.
  F f_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
