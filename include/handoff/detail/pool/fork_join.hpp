// fork_join(f, g): g may be stolen while f runs. Both live on the stack of the caller: no allocation, no queue.
//
// States of a task's word: 0 -> done                the thief has finished, and the owner has not gone to sleep
//                          0 -> address of a Sleep  the owner sleeps there; the thief wakes it, and touches the task no more
//
// An owner whose task was stolen helps the thief with what that forks: such tasks belong to what the owner waits for. It
// never takes anything else on its stack.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "handoff/detail/core/atomic.hpp"
#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class JoinTask {
 public:
  JoinTask(const JoinTask&) = delete;
  JoinTask& operator=(const JoinTask&) = delete;

  // The thief's part.
  void run_stolen(Worker& thief);
  // The owner's part, once it has found its task stolen: returns when it is finished.
  void await_thief(Worker& owner);

 protected:
  using Call = void (*)(JoinTask&) noexcept;
  explicit JoinTask(Call call) : call_(call) {}
  ~JoinTask() = default;

 private:
  static constexpr std::uintptr_t done = 1;
  struct Sleep;

  const Call call_;
  atomic<std::uintptr_t> word_{0};
  atomic<Worker*> thief_{nullptr};
};

// Calls f, and keeps what it returns or throws.
template <typename F>
class Outcome {
 public:
  using Result = std::invoke_result_t<F&>;
  using Kept = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;

  void of(F& f) noexcept {
    try {
      if constexpr (std::is_void_v<Result>) {
        f();
        result_.emplace();
      } else {
        result_.emplace(f());
      }
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }
  Kept take() { return std::move(*result_); }

 private:
  std::optional<Kept> result_;
  std::exception_ptr error_;
};

template <typename F>
class JoinCall final : public JoinTask {
 public:
  explicit JoinCall(F& f)
      : JoinTask([](JoinTask& task) noexcept { static_cast<JoinCall&>(task).run(); }), f_(f) {}

  void run() noexcept { outcome_.of(f_); }
  Outcome<F>& outcome() { return outcome_; }

 private:
  F& f_;
  Outcome<F> outcome_;
};

// One after the other: on a thread that is no worker.
template <typename F, typename G>
auto do_both(F& f, G& g) {
  Outcome<F> first;
  Outcome<G> second;
  first.of(f);
  second.of(g);
  first.rethrow();
  second.rethrow();
  return std::pair(first.take(), second.take());
}

// On a worker: calls f here, and g here or on a thief. Both have ended when it returns or throws.
template <typename F, typename G>
auto fork_join_on(Worker& worker, F& f, G& g) {
  JoinCall<G> forked(g);
  const bool is_forked = worker.joins.push(forked);
  if (is_forked) worker.pool.tell_workers();
  Outcome<F> here;
  here.of(f);
  if (!is_forked || worker.joins.pop()) {
    forked.run();
  } else {
    forked.await_thief(worker);
  }
  here.rethrow();
  forked.outcome().rethrow();
  return std::pair(here.take(), forked.outcome().take());
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
