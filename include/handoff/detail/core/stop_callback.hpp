// std::stop_callback. In the simulated flavour its destructor, which waits for a callback that is running elsewhere, waits so that the simulator
// knows of it.
#pragma once

#include <stop_token>
#include <utility>

#include "handoff/detail/core/config.hpp"
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
#include <memory>
#include <optional>

#include "handoff/detail/core/simulation.hpp"
#endif

namespace handoff::inline HANDOFF_FLAVOUR::detail {

#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
template <typename F>
class StopCallback {
 public:
  StopCallback(const std::stop_token& stop, F f) {
    callback_.emplace(stop, Call{state_, std::move(f)});
  }
  StopCallback(const StopCallback&) = delete;
  StopCallback& operator=(const StopCallback&) = delete;
  ~StopCallback() {
    while (state_->is_running && state_->runner != sim::this_number()) {
      static_cast<void>(sim::block(state_.get(), TimePoint::max()));
    }
  }

 private:
  // Simulated threads read and write it one at a time. It outlives a callback that destroys this object.
  struct State {
    bool is_running = false;
    unsigned runner = 0;
  };
  struct Call {
    std::shared_ptr<State> state;
    F f;
    void operator()() noexcept {
      const auto kept = state;
      kept->runner = sim::this_number();
      kept->is_running = true;
      f();
      // From here to the end of the library's own callback nobody else comes in.
      kept->is_running = false;
      sim::wake_all(kept.get());
    }
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::optional<std::stop_callback<Call>> callback_;
};
#else
template <typename F>
using StopCallback = std::stop_callback<F>;
#endif

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
