#include "handoff/detail/pool/future_core.hpp"

#include <utility>

#include "future_subject.hpp"
#include "handoff/detail/core/wait_graph.hpp"
#include "handoff/detail/pool/pool_core.hpp"
#include "sync/line.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

FutureCore::FutureCore(const PoolCore* pool, std::source_location where, FutureCore* follows)
    : phase_(follows == nullptr ? Phase::pending : Phase::chained),
      pool_(pool),
      where_(where),
      follows_(follows),
      origin_(follows == nullptr            ? nullptr
              : follows->origin_ == nullptr ? follows
                                            : follows->origin_) {
  if (follows_ == nullptr) return;
  follows_->add_reference();
  origin_->add_reference();
}

FutureCore::~FutureCore() {
  let_go_of_what_it_follows();
  if (origin_ != nullptr) origin_->drop_reference();
}

void FutureCore::let_go_of_what_it_follows() {
  if (FutureCore* const before = std::exchange(follows_, nullptr)) before->drop_reference();
}

bool FutureCore::withdraw() noexcept {
  auto expected = Phase::pending;
  // Whoever runs it from `withdrawn` sees what was done before: pairs with run_once().
  return phase_.compare_exchange_strong(expected, Phase::withdrawn, acq_rel);
}

bool FutureCore::try_run_from(Phase phase, const std::stop_token& stop) {
  Next next;
  if (!run_once(phase, stop, next)) return false;
  run_what_follows(next);
  return true;
}

bool FutureCore::run_once(Phase phase, const std::stop_token& stop, Next& next) {
  // Pairs with the releases of `pending` and `withdrawn`, and with those who look at `running`.
  if (!phase_.compare_exchange_strong(phase, Phase::running, acq_rel)) return false;
  runner_.store(this_thread_id(), relaxed);  // For people and for guesses about who is blocked.
#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
  {
    SmallGuard guard(waiters_.lock());
    if (subject_ != nullptr) add_holder(*subject_, this_thread_id(), where_);
  }
#endif
  Phase end = Phase::value;
  try {
    call(stop);
  } catch (...) {
    error_ = std::current_exception();
    end = Phase::error;
  }
  let_go_of_what_it_follows();
  next = finish(end);
  return true;
}

bool FutureCore::begin() {
  for (Phase phase : {Phase::pending, Phase::withdrawn}) {
    if (phase_.compare_exchange_strong(phase, Phase::running, acq_rel))
      return true;  // As in run_once().
  }
  return false;
}

void FutureCore::complete(std::exception_ptr error) {
  error_ = std::move(error);
  run_what_follows(finish(error_ ? Phase::error : Phase::value));
}

bool FutureCore::stand_in_line(Link& link) {
  SmallGuard guard(waiters_.lock());
  if (is_done()) return false;
  waiters_.push_back_locked(link);
  return true;
}

void FutureCore::abandon() {
  auto expected = Phase::pending;
  if (!phase_.compare_exchange_strong(expected, Phase::running, acq_rel)) {  // As in run_once().
    expected = Phase::withdrawn;
    if (!phase_.compare_exchange_strong(expected, Phase::running, acq_rel)) return;
  }
  run_what_follows(end_without_running());
}

FutureCore::Next FutureCore::end_without_running() {
  drop();
  let_go_of_what_it_follows();
  return finish(Phase::never);
}

// One after the other rather than one inside the other: a chain may be of any length.
void FutureCore::run_what_follows(Next next) {
  while (next.future != nullptr) {
    FutureCore& each = *next.future;
    const bool will_run = next.will_run;
    next = {};
    if (will_run) {
      each.phase_.store(Phase::pending, release);  // Pairs with the acquire in run_once().
      // Not if somebody who waits for it was faster: then he goes on with what follows.
      static_cast<void>(each.run_once(Phase::pending, {}, next));
    } else {
      each.phase_.store(Phase::running, release);  // Nobody else moves it from `chained`.
      next = each.end_without_running();
    }
    each.drop_reference();
  }
}

FutureCore::Next FutureCore::finish(Phase phase) {
  Unparks unparks;
  SmallGuard guard(waiters_.lock());
#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
  if (subject_ != nullptr) forget_holders(*subject_);
#endif
  phase_.store(phase, release);  // Pairs with is_done().
  let_all_through_locked(waiters_, unparks);
  return {.future = std::exchange(next_, nullptr), .will_run = phase != Phase::never};
}

void FutureCore::then_run(FutureCore& next) {
  {
    SmallGuard guard(waiters_.lock());
    if (!is_done()) {
      next_ = &next;
      return;
    }
  }
  run_what_follows({.future = &next, .will_run = phase() != Phase::never});
}

// A worker may do what it waits for itself, and anybody may do what follows from what is done; nothing else, for the
// thread may hold locks.
bool FutureCore::may_run_here() const {
  if (phase() != Phase::pending) return false;
  if (origin_ != nullptr) return true;
  return this_worker != nullptr && &this_worker->pool == pool_;
}

void FutureCore::help() {
  FutureCore& first = phase() == Phase::chained ? *origin_ : *this;
  if (!first.may_run_here()) return;
  if (this_worker == nullptr) {
    static_cast<void>(first.try_run({}));
  } else if (this_worker->nested < Worker::most_nested || this_worker->pool.has_ended()) {
    // However deep, once the pool has ended: nobody else would.
    this_worker->pool.run_awaited(*this_worker, first);
  }
}

bool FutureCore::needs_a_worker_of(const PoolCore& pool) const {
  const FutureCore& first = phase() == Phase::chained ? *origin_ : *this;
  return first.phase() == Phase::pending && first.pool_ == &pool;
}

ThreadId FutureCore::runner_now() const {
  const FutureCore& first = phase() == Phase::chained ? *origin_ : *this;
  return first.phase() == Phase::running ? first.runner() : no_thread;
}

std::optional<Refusal> FutureCore::wait(const Wait& wait, std::source_location where) {
  const sim::Operation here("a future", "get");
  if (wait.stop.stop_requested()) return Refusal::stopped;
  if (is_done()) return std::nullopt;
  help();
  if (is_done()) return std::nullopt;

  FutureSubject subject(*this, this_worker);
  ThreadWaiter waiter(wait, {.operation = "get", .where = where});
  Link link(waiter);
  {
    SmallGuard guard(waiters_.lock());
    if (is_done()) return std::nullopt;
    waiters_.push_back_locked(link);
#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
    subject_ = &subject;
    if (phase() == Phase::running) add_holder(subject, runner(), where_);
#endif
  }
  const BlockedWorker blocked(this_worker, wait.deadline.is_never() ? this : nullptr);
  WaitEdge edge(subject, waiter);
  edge.about_to_park();
  auto waited = wait_to_be_let_through(waiters_, waiter, link, [] {});
#if defined(HANDOFF_CHECKED) && HANDOFF_CHECKED
  {
    SmallGuard guard(waiters_.lock());
    subject_ = nullptr;
  }
#endif
  return waited ? std::nullopt : std::optional(waited.error());
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
