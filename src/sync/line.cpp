#include "line.hpp"

#include <fmt/core.h>

#include <system_error>

#include "handoff/detail/sync/line_steps.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

bool LineSteps::begin(Waiter& waiter) {
  subject_.enter_registry();
  {
    Unparks unparks;
    SmallGuard guard(line_.lock());
    if (!enter_line_locked(link_.emplace(waiter), unparks)) return true;
  }
  try {
    waiter.arm();
  } catch (...) {  // There is no thread for its timer, so that nothing would end the wait in time.
    go_on(waiter, WaitState::stopped);
    if (refusal_) throw;
    return true;
  }
  return false;
}

bool LineSteps::go_on(Waiter&, WaitState outcome) {
  Unparks unparks;
  SmallGuard guard(line_.lock());
  if (!link_->linked) return true;  // Also if it was stopped at the same moment.
  line_.unlink_locked(*link_);
  left_line_locked(unparks);
  return refuse(refusal_of(outcome));
}

void throw_relocked(const Primitive& lock, ThreadId owner) {
  throw std::system_error(
      std::make_error_code(std::errc::resource_deadlock_would_occur),
      fmt::format("{} \"{}\" is locked by this very {}", lock.kind(), lock.display_name(),
                  owner >= first_coroutine_id ? "coroutine" : "thread"));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
