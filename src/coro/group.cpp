#include "handoff/detail/coro/group.hpp"

#include <stdexcept>

#include "handoff/detail/core/timer_service.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

Group::Timeout::Timeout(Group& owner)
    : TimerEntry(
          [](TimerEntry& entry) noexcept { static_cast<Timeout&>(entry).group.time_is_up(); }),
      group(owner) {}

Group::Group(GroupRule rule, std::source_location where)
    : Runnable(&Group::resume_awaiter), rule_(rule), where_(where), timeout_(*this) {}

Group::~Group() { finish(); }

void Group::begin(std::size_t members) {
  if (members == 0 && (rule_ == GroupRule::first_end || rule_ == GroupRule::first_success)) {
    throw std::invalid_argument("when_any() and first_success() need at least one coroutine");
  }
  living_ = members;
  left_.store(members + 1, relaxed);  // And one for who starts them.
  if (!deadline_.is_never()) arm(deadline_.when());
  const std::stop_token& stop = awaiter_->task().stop();
  if (stop.stop_possible()) on_stop_.emplace(stop, OnStop{this});
}

// Nobody may stop them any more: what they refer to is about to go.
void Group::finish() noexcept {
  on_stop_.reset();
  if (std::exchange(is_timed_, false)) TimerService::shared().cancel_and_wait(timeout_);
}

void Group::arm(TimePoint due) {
  TimerService::shared().arm(timeout_, due);
  is_timed_ = true;
}

void Group::awaiter_was_stopped() noexcept {
  if (!outlast_) {
    stop_source_.request_stop();
    return;
  }
  try {
    arm(within(*outlast_).when());
  } catch (...) {  // No thread for the timer: then there is no time to give.
    stop_source_.request_stop();
  }
}

void Group::time_is_up() noexcept {
  {
    SmallGuard guard(lock_);
    if (living_ == 0) return;  // All were in time; only their awaiter has not gone on yet.
    has_timed_out_ = !stop_source_.stop_requested();
  }
  stop_source_.request_stop();
}

void Group::member_ended(std::size_t index, const std::exception_ptr& error) noexcept {
  bool stops_others = false;
  {
    SmallGuard guard(lock_);
    --living_;
    if (error) {
      if (!first_error_) first_error_ = error;
      last_error_ = error;
    }
    const bool wins = winner_ == nobody && (!error || rule_ == GroupRule::first_end);
    if (wins) winner_ = index;
    switch (rule_) {
      case GroupRule::all: stops_others = error != nullptr; break;
      case GroupRule::collect: break;
      case GroupRule::first_end:
      case GroupRule::first_success: stops_others = wins; break;
    }
  }
  if (stops_others) stop_source_.request_stop();
  if (one_less()) awaiter_->task().executor().run_soon(*this);
}

void Group::resume_awaiter(Runnable& runnable) {
  Task::resume(*static_cast<Group&>(runnable).awaiter_);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
