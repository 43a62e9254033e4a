#include "handoff/detail/core/scope_core.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/places.hpp"
#include "handoff/detail/core/timer_service.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constexpr std::size_t most_errors_kept = 1024;

std::string what(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& known) {
    return known.what();
  } catch (...) {
    return "something that is no std::exception";
  }
}

std::string path_here() {
  const Ambient* const ambient = current_ambient();
  if (ambient == nullptr || ambient->scope() == nullptr) return {};
  return ambient->scope()->path() + " / ";
}
}  // namespace

ScopeCore::Timeout::Timeout(ScopeCore& owner)
    : TimerEntry([](TimerEntry& entry) noexcept {
        static_cast<Timeout&>(entry).scope.stop_because(Refusal::timed_out);
      }),
      scope(owner) {}

ScopeCore::ScopeCore(std::string_view name, Deadline deadline, bool stops_on_error,
                     std::stop_token parent)
    : Primitive("Scope", name),
      stops_on_error_(stops_on_error),
      is_timed_(!deadline.is_never()),
      parent_(std::move(parent)),
      outer_path_(path_here()),
      timeout_(*this) {
  if (is_timed_)
    TimerService::shared().arm(timeout_, deadline.when());  // May throw: so before all else.
  if (parent_.stop_possible()) on_parent_stop_.emplace(parent_, OnParentStop{this});
  enter_if_named();
}

ScopeCore::~ScopeCore() {
  on_parent_stop_.reset();
  other_stops_.clear();
  if (is_timed_) TimerService::shared().cancel_and_wait(timeout_);
  retire();
  HANDOFF_ASSERT(living_ == 0);
  join_ended_threads();
  log_unasked_errors();
}

// The destructor has no way to throw it, and it must not be lost without a word.
void ScopeCore::log_unasked_errors() noexcept {
  if (errors_.empty()) return;
  try {
    log_line(fmt::format("{}: ended, and nobody asked for its error: {}{}", label(),
                         what(errors_.front()),
                         errors_.size() + more_errors_ > 1
                             ? fmt::format(" (and {} more)", errors_.size() + more_errors_ - 1)
                             : std::string()));
  } catch (...) {  // No memory for the line.
  }
}

void ScopeCore::stop_because(Refusal why) noexcept {
  {
    SmallGuard guard(joiners_.lock());
    if (!why_) why_ = why;
  }
  stop_source_.request_stop();
}

void ScopeCore::enter(ScopeChild& child) {
  SmallGuard guard(joiners_.lock());
  child.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &child;
  first_ = &child;
  ++living_;
  ++entered_;
}

void ScopeCore::note_error(std::exception_ptr error) noexcept {
  {
    SmallGuard guard(joiners_.lock());
    const bool keep = stops_on_error_ ? errors_.empty() : errors_.size() < most_errors_kept;
    try {
      if (keep) errors_.push_back(error);
    } catch (...) {  // No memory: it is counted.
    }
    if (!keep) ++more_errors_;
  }
  if (stops_on_error_) stop_source_.request_stop();
}

void ScopeCore::leave(ScopeChild& child, std::exception_ptr error) noexcept {
  // While the child still keeps the scope alive; what is not kept of the error is destroyed by then, too.
  if (error != nullptr) note_error(std::move(error));
  error = nullptr;
  Unparks unparks;
  // Once the lock is given back, the scope may be gone.
  SmallGuard guard(joiners_.lock());
  (child.previous_ == nullptr ? first_ : child.previous_->next_) = child.next_;
  if (child.next_ != nullptr) child.next_->previous_ = child.previous_;
  if (--living_ == 0) {
    why_at_end_ = why_;
    while (Link* const link = joiners_.front_locked()) {
      joiners_.unlink_locked(*link);
      Unpark unpark;
      if (link->waiter->give_turn(unpark)) unparks.add(unpark);
    }
  }
}

void ScopeCore::make_room_for_thread() {
  SmallGuard guard(joiners_.lock());
  const std::size_t needed = threads_.size() + threads_to_come_ + 1;
  if (needed > threads_.capacity()) threads_.reserve(2 * needed);
  ++threads_to_come_;
}

void ScopeCore::thread_did_not_come() noexcept {
  SmallGuard guard(joiners_.lock());
  --threads_to_come_;
}

void ScopeCore::keep_thread(Thread&& thread, std::shared_ptr<atomic<bool>> has_ended) noexcept {
  SmallGuard guard(joiners_.lock());
  --threads_to_come_;
  threads_.push_back({.thread = std::move(thread), .has_ended = std::move(has_ended)});
}

void ScopeCore::join_ended_threads() {
  std::vector<OwnThread> ended;
  {
    SmallGuard guard(joiners_.lock());
    // Pairs with the store at the end of the thread.
    const auto first = std::partition(threads_.begin(), threads_.end(), [](const OwnThread& each) {
      return !each.has_ended->load(acquire);
    });
    std::move(first, threads_.end(), std::back_inserter(ended));
    threads_.erase(first, threads_.end());
  }
  for (OwnThread& each : ended) each.thread.join();  // It has nothing left to do.
}

void ScopeCore::stop_with(std::stop_token other) {
  {
    SmallGuard guard(joiners_.lock());
    for (const auto& each : other_stops_) {
      if (each->token == other) return;
    }
  }
  auto follower = std::make_unique<OtherStop>(std::move(other), *this);
  SmallGuard guard(joiners_.lock());
  other_stops_.push_back(std::move(follower));
}

std::size_t ScopeCore::living() const {
  SmallGuard guard(joiners_.lock());
  return living_;
}

std::string ScopeCore::path() const { return outer_path_ + display_name(); }

std::string ScopeCore::who_lives() const {
  constexpr std::size_t most_named = 4;
  SmallGuard guard(joiners_.lock());
  if (living_ == 0) return {};
  std::string text = fmt::format("{} live: ", living_);
  std::size_t named = 0;
  for (const ScopeChild* each = first_; each != nullptr; each = each->next_, ++named) {
    if (named == most_named) return text + ", ...";
    text += fmt::format("{}{} of {}:{}", named == 0 ? "" : ", ", each->kind_, file_of(each->where_),
                        each->where_.line());
  }
  return text;
}

std::exception_ptr ScopeCore::take_error() {
  SmallGuard guard(joiners_.lock());
  if (!stops_on_error_ || errors_.empty()) return nullptr;
  auto first = std::move(errors_.front());
  errors_.clear();
  return first;
}

std::vector<std::exception_ptr> ScopeCore::take_errors() {
  SmallGuard guard(joiners_.lock());
  return std::exchange(errors_, {});
}

std::optional<Refusal> ScopeCore::why_it_stopped() const {
  SmallGuard guard(joiners_.lock());
  return why_at_end_;
}

Stats ScopeCore::stats() const {
  const WaitTotals totals = joiners_.totals();
  Stats stats;
  stats.waiting_consumers = totals.waiting;
  stats.consumer_waits = totals.waits;
  stats.consumers_blocked = totals.blocked;
  SmallGuard guard(joiners_.lock());
  stats.size = living_;
  stats.puts = entered_;
  stats.takes = entered_ - living_;
  return stats;
}

void ScopeCore::report_waits(std::vector<WaitInfo>& waits) const {
  const std::size_t before = waits.size();
  joiners_.report(*this, waits);
  const std::string who = waits.size() == before ? std::string() : who_lives();
  for (std::size_t i = before; i < waits.size(); ++i) waits[i].held_by = who;
}

// -- Joining --------------------------------------------------------------------------------------

bool ScopeJoin::ready(const std::stop_token& stop) {
  // Its callback may not have come to the scope yet.
  if (stop.stop_requested() && stop == scope_.parent_) scope_.stop_because(Refusal::stopped);
  return scope_.living() == 0;
}

bool ScopeJoin::begin(Waiter& waiter) {
  scope_.enter_registry();
  link_.emplace(waiter);
  {
    SmallGuard guard(scope_.joiners_.lock());
    if (scope_.living_ == 0) return true;
    scope_.joiners_.push_back_locked(*link_);
  }
  waiter.arm();
  return false;
}

bool ScopeJoin::go_on(Waiter&, WaitState outcome) {
  SmallGuard guard(scope_.joiners_.lock());
  if (!link_->linked) return true;
  scope_.joiners_.unlink_locked(*link_);
  refusal_ = outcome == WaitState::stopped ? Refusal::stopped : Refusal::timed_out;
  return true;
}

std::expected<void, Refusal> ScopeJoin::result() {
  if (refusal_) return std::unexpected(*refusal_);
  scope_.join_ended_threads();
  if (auto error = scope_.take_error()) std::rethrow_exception(std::move(error));
  if (const auto why = scope_.why_it_stopped()) return std::unexpected(*why);
  return {};
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
