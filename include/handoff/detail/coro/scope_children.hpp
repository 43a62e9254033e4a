// The three kinds of children of a scope.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <source_location>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "handoff/detail/core/scope_core.hpp"
#include "handoff/detail/coro/pool_task.hpp"
#include "handoff/job.hpp"
#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// -- A callable, on a thread or in a pool ---------------------------------------------------------

class CallableChild : public ScopeChild {
 public:
  CallableChild(ScopeCore& scope, const char* kind, std::source_location where)
      : ScopeChild(kind, where), scope_(scope) {}
  virtual ~CallableChild() = default;

  // Runs it on this thread, destroys it, and leaves the scope.
  static void run(std::unique_ptr<CallableChild> child, atomic<bool>* has_ended = nullptr) noexcept;
  // It will never run: an error of the scope.
  static void drop(std::unique_ptr<CallableChild> child) noexcept;
  ScopeCore& scope() const { return scope_; }

 protected:
  virtual void call(const std::stop_token& stop) = 0;
  virtual void let_go() noexcept = 0;  // Destroys the callable.

 private:
  ScopeCore& scope_;
};

template <typename F>
class CallableChildOf final : public CallableChild {
 public:
  template <typename Given>
  CallableChildOf(ScopeCore& scope, const char* kind, Given&& f, std::source_location where)
      : CallableChild(scope, kind, where), f_(std::in_place, std::forward<Given>(f)) {}

 private:
  void call(const std::stop_token& stop) override { static_cast<void>(call_job(*f_, stop)); }
  void let_go() noexcept override { f_.reset(); }

  std::optional<F> f_;
};

// What stands for a child in the queue of a pool.
class ScopeJob {
 public:
  explicit ScopeJob(std::unique_ptr<CallableChild> child) : child_(std::move(child)) {}
  ScopeJob(ScopeJob&&) noexcept = default;
  ScopeJob& operator=(ScopeJob&&) = delete;
  ~ScopeJob() {
    if (child_ != nullptr) CallableChild::drop(std::move(child_));
  }
  void operator()() { CallableChild::run(std::move(child_)); }
  // If the scope is being stopped it is not handed back: who joins the scope may be a job that its pool waits for.
  bool withdraw() noexcept {
    if (!child_->scope().stop_token().stop_requested()) return true;
    CallableChild::drop(std::move(child_));
    return false;
  }

 private:
  std::unique_ptr<CallableChild> child_;
};

void start_thread(std::unique_ptr<CallableChild> child);

template <typename F>
void spawn_thread(ScopeCore& scope, F&& f, std::source_location where) {
  start_thread(std::make_unique<CallableChildOf<std::decay_t<F>>>(scope, "thread",
                                                                  std::forward<F>(f), where));
}

template <typename F>
std::optional<Refusal> spawn_job(ScopeCore& scope, PoolCore& pool, F&& f, const Wait& wait,
                                 std::source_location where) {
  scope.stop_with(pool.stop_token());
  auto make = [&](Job* place) {
    auto child =
        std::make_unique<CallableChildOf<std::decay_t<F>>>(scope, "job", std::forward<F>(f), where);
    scope.enter(*child);
    std::construct_at(place, ScopeJob(std::move(child)), where);
  };
  return pool.add(make, wait, {.operation = "spawn", .where = where});
}

// -- A coroutine ----------------------------------------------------------------------------------

std::optional<Refusal> spawn_coroutine(ScopeCore& scope, PoolCore& pool, Lazy<void>&& lazy,
                                       const Wait& wait, std::source_location where);
std::optional<Refusal> spawn_coroutine_here(ScopeCore& scope, Lazy<void>&& lazy,
                                            std::source_location where);

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
