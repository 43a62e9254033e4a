// A clock that runs a function of the test inside a call of the library, in the middle of an unlock(): the one place where
// locks look at the time. So a stop can be made to meet a hand-over exactly, instead of by luck.
#pragma once

#include <atomic>
#include <functional>
#include <thread>
#include <utility>

#include "handoff/clock.hpp"
#include "handoff/detail/core/clock_source.hpp"

namespace handoff {

class NowHook final : detail::ClockSource {
 public:
  NowHook() { detail::install_clock(this); }
  ~NowHook() override { detail::install_clock(nullptr); }

  // The next time this thread asks for the time.
  void run_at_next_look(std::function<void()> action) { action_ = std::move(action); }
  void advance(Duration step) { now_ += step.count(); }

  TimePoint now() const override {
    if (std::this_thread::get_id() == owner_) {
      if (auto action = std::exchange(action_, nullptr)) action();
    }
    return TimePoint(Duration(now_.load()));
  }

 private:
  void arm(detail::Timer&) override {}  // No test here waits with a deadline.
  void disarm(detail::Timer&) override {}

  const std::thread::id owner_ = std::this_thread::get_id();
  mutable std::function<void()> action_;  // Of the owner's thread.
  std::atomic<Duration::rep> now_{1};
};

}  // namespace handoff
