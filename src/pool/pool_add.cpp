#include <utility>

#include "handoff/detail/pool/pool_core.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

std::optional<Refusal> PoolCore::add_slowly(Tried tried, JobMaker make, const Wait& wait,
                                            WaitSite site) {
  if (tried == Tried::closed) return refuse(Refusal::closed);
  note_arrivals(now());
  switch (when_full_) {
    case WhenFull::reject: return refuse(Refusal::full);
    case WhenFull::drop_newest: drops_.note_drop(); return Refusal::full;
    case WhenFull::drop_oldest: return add_evicting(make);
    case WhenFull::block: break;
  }
  // A worker of another pool that waits here counts as blocked there.
  const BlockedWorker blocked(this_worker, nullptr);
  if (auto refusal = queue_.put_waiting(make, wait, site)) return refuse(*refusal);
  return std::nullopt;
}

std::optional<Refusal> PoolCore::add_evicting(JobMaker make) {
  while (true) {
    if (queue_.is_closed()) return refuse(Refusal::closed);  // Nothing is dropped for that.
    Job oldest;
    if (take_unstarted(oldest)) drop(oldest);
    switch (queue_.try_put(make)) {
      case Tried::done: return std::nullopt;
      case Tried::closed: return refuse(Refusal::closed);
      case Tried::not_yet: break;  // Another was faster.
    }
  }
}

// The oldest job that nobody has begun: the claimed ones are older than those in the queue.
bool PoolCore::take_unstarted(Job& job) {
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    if (take_claimed(workers_[i], job)) return true;
  }
  if (!queue_.take(job)) return false;
  queue_.tell_producers();
  return true;
}

void PoolCore::drop(Job& job) {
  if (!job.withdraw()) {  // Somebody who waited for it has run it.
    ran_early_.fetch_add(1, relaxed);
    return;
  }
  drops_.note_drop();
  if (hooks_.on_drop) hooks_.on_drop(job);
}

std::optional<Refusal> PoolCore::add_inside(Worker& worker, JobMaker make, const Wait& wait) {
  if (has_ended()) return refuse(Refusal::closed);
  if (wait.stop.stop_requested()) return refuse(Refusal::stopped);
  if (worker.local.place() != nullptr || worker.nested < Worker::most_nested) {
    // Made here first: its constructor may hand in jobs itself, and take the place.
    Job job;
    make(&job);
    Worker::count(worker.spawned);
    Job* const place = worker.local.place();
    if (place == nullptr) {
      run(worker, job);
    } else {
      *place = std::move(job);
      worker.local.publish(1);
      tell_workers();
    }
    return std::nullopt;
  }
  // Jobs upon jobs. To wait for room could be to wait for ourselves: so now, or not.
  switch (queue_.try_put(make)) {
    case Tried::done: return std::nullopt;
    case Tried::closed: return refuse(Refusal::closed);
    case Tried::not_yet: break;
  }
  return refuse(Refusal::full);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
