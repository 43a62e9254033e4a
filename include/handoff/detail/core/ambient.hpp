// What surrounds running code without being passed to it: the stop_token it should heed, and the scope that owns it.
//
// A task has one, a thread or a job of a scope has one while it runs. New scopes and the waits made meanwhile belong to it.
#pragma once

#include <stop_token>
#include <utility>

#include "handoff/detail/core/config.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {
struct WaitInfo;
}

namespace handoff::inline HANDOFF_FLAVOUR::detail {

class Executor;
class ScopeCore;

class Ambient {
 public:
  // `limits` outlives it: a reference, because to copy a stop_token is to count, and those of one scope would all count in one place.
  explicit Ambient(const Wait& limits, ScopeCore* scope = nullptr, Executor* executor = nullptr)
      : limits_(limits), scope_(scope), executor_(executor) {}
  explicit Ambient(Wait&&, ScopeCore* = nullptr, Executor* = nullptr) = delete;
  Ambient(const Ambient&) = delete;
  Ambient& operator=(const Ambient&) = delete;

  const std::stop_token& stop() const { return limits_.stop; }
  // The same as a Wait without a deadline, for waits that have no other limits.
  const Wait& limits() const { return limits_; }
  // What owns it, directly or through the task that waits for it; null for what nobody does.
  ScopeCore* scope() const { return scope_; }
  // Where its coroutines run; null for a thread or a job.
  Executor* executor() const { return executor_; }

 protected:
  ~Ambient() = default;

 private:
  const Wait& limits_;
  ScopeCore* const scope_;
  Executor* const executor_;
};

// A stop_token of its own, there before the Ambient that refers to it.
struct OwnStop {
  explicit OwnStop(std::stop_token stop) : own_limits{.deadline = {}, .stop = std::move(stop)} {}
  const Wait own_limits;
};

// Of the code that the calling thread runs now; null if there is none.
Ambient* current_ambient();

// Its stop_token; one that is never requested if there is none.
std::stop_token stop_here();

// While this lives, the calling thread runs what belongs to `ambient`.
class [[nodiscard]] AmbientHere {
 public:
  explicit AmbientHere(Ambient& ambient) : AmbientHere(&ambient) {}
  explicit AmbientHere(Ambient* ambient);  // Null: nobody's.
  ~AmbientHere();
  AmbientHere(const AmbientHere&) = delete;
  AmbientHere& operator=(const AmbientHere&) = delete;

 private:
  Ambient* const before_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
