#include <system_error>

#include "handoff/detail/core/operation.hpp"
#include "handoff/detail/core/simulated_thread.hpp"
#include "sim/carrier.hpp"
#include "sim/scheduler.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail::sim {

void Thread::start(std::move_only_function<void()> body) {
  if (SimThread* const self = carried_here()) {
    simulated_ = self->run.start(std::move(body));
    const Operation here(simulated_->name(), "start");
    point(simulated_.get(), Access::other);
  } else {
    thread_ = std::thread(std::move(body));
  }
}

void Thread::join() {
  if (thread_.joinable()) return thread_.join();
  if (simulated_ == nullptr) {
    throw std::system_error(std::make_error_code(std::errc::invalid_argument));
  }
  const auto thread = std::exchange(simulated_, nullptr);
  const SimThread* const self = carried_here();
  // One of another run has ended, or never will.
  if (self != nullptr && &self->run == &thread->run) thread->run.join(*thread);
}

void Thread::detach() {
  if (thread_.joinable()) return thread_.detach();
  simulated_ = nullptr;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail::sim
