#include "handoff/detail/pool/future_wait.hpp"

#include "future_subject.hpp"
#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// -- In steps -------------------------------------------------------------------------------------

FutureWait::FutureWait(FutureCore& core) : core_(core) {}
FutureWait::~FutureWait() = default;

bool FutureWait::begin(Waiter& waiter) {
  subject_ = std::make_unique<FutureSubject>(core_, nullptr);
  link_.emplace(waiter);
  if (!core_.stand_in_line(*link_)) return true;
  waiter.arm();
  return false;
}

bool FutureWait::go_on(Waiter&, WaitState outcome) {
  SmallGuard guard(core_.waiters().lock());
  if (!link_->linked)
    return true;  // It was let through, also if it was stopped at the same moment.
  core_.waiters().unlink_locked(*link_);
  refusal_ = outcome == WaitState::stopped ? Refusal::stopped : Refusal::timed_out;
  return true;
}

// -- In a select ----------------------------------------------------------------------------------

// A worker that selects is replaced as one that gets is: the job it waits for may be queued behind it.
struct FutureCase::Stay {
  Stay(FutureCore& core, Worker* worker) : subject(core, worker), blocked(worker, nullptr) {}
  FutureSubject subject;
  BlockedWorker blocked;
};

FutureCase::FutureCase(FutureCore& core, std::source_location where)
    : LineCase(core.waiters(), where), core_(core) {
  core_.add_reference();
}
FutureCase::FutureCase(const FutureCase& other) : LineCase(other), core_(other.core_) {
  core_.add_reference();
}
FutureCase::~FutureCase() {
  stay_.reset();
  core_.drop_reference();
}

void FutureCase::enter(const Waiter& waiter) {
  stay_ = std::make_unique<Stay>(core_, waiter.coroutine() == nullptr ? this_worker : nullptr);
}
void FutureCase::left() { stay_.reset(); }

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
