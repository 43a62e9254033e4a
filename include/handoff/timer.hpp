// A job that a pool runs at a certain time, or again and again.
//
//   auto reminder = pool.after(10min, [&] { remind(user); });       // std::expected<Timer, Refusal>
//   auto sweep = pool.every(1h, [&] { remove_old_files(); });
//   reminder->cancel();
//
// Dropping the handle cancels nothing: the timer goes on. A handle may outlive its pool.
// Thread safety: as a value, but cancel() and is_active() may be called by any thread at any time.
#pragma once

#include <utility>

#include "handoff/detail/pool/pool_timers.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

class Timer {
 public:
  Timer() = default;                                        // Of nothing.
  explicit Timer(detail::TimerNode* node) : node_(node) {}  // Takes over a reference.
  Timer(Timer&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  Timer& operator=(Timer&& other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~Timer() {
    if (node_ != nullptr) detail::PoolTimers::release(*node_);
  }

  // True if the job will not run, or not again: a run of every() that has begun goes on to its end. False if it was too late,
  // or cancelled before. Never waits.
  bool cancel() { return node_ != nullptr && node_->timers->cancel(*node_); }

  // Whether the job will run (again), or runs now.
  bool is_active() const { return node_ != nullptr && node_->timers->is_active(*node_); }

 private:
  detail::TimerNode* node_ = nullptr;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
