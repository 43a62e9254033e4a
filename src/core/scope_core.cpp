#include "handoff/detail/core/scope_core.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/error_text.hpp"
#include "handoff/detail/core/places.hpp"
#include "handoff/detail/core/timer_service.hpp"
#include "handoff/detail/core/unparks.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {
constexpr std::size_t most_errors_kept = 1024;

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
  ScopeChild* left = nullptr;
  {
    SmallGuard guard(joiners_.lock());
    left = take_left_locked();
    HANDOFF_ASSERT(listed_ == 0);
  }
  destroy_all(left);
  join_ended_threads();
  log_unasked_errors();
}

// The destructor has no way to throw it, and it must not be lost without a word.
void ScopeCore::log_unasked_errors() noexcept {
  if (errors_.empty()) return;
  try {
    log_line(fmt::format("{}: ended, and nobody asked for its error: {}{}", label(),
                         text_of(errors_.front()),
                         errors_.size() + more_errors_ > 1
                             ? fmt::format(" (and {} more)", errors_.size() + more_errors_ - 1)
                             : std::string()));
  } catch (...) {  // No memory for the line.
  }
}

void ScopeCore::stop_because(Refusal why) noexcept {
  {
    SmallGuard guard(joiners_.lock());
    if (!why_) {
      why_ = why;
      had_children_then_ = living_locked() > 0;
      entered_before_it_ = entered_;
    }
  }
  stop_source_.request_stop();
}

void ScopeCore::enter(ScopeChild& child) {
  SmallGuard guard(joiners_.lock());
  child.next_ = first_;
  if (first_ != nullptr) first_->previous_ = &child;
  first_ = &child;
  ++listed_;
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
  ScopeChild* left = nullptr;
  {
    // Once the lock is given back, the scope may be gone.
    SmallGuard guard(joiners_.lock());
    left = take_left_locked();
    unlink_locked(child);
    if (listed_ == 0) let_joiners_through_locked(unparks);
  }
  destroy_all(left);
}

void ScopeCore::leave_and_destroy(ScopeChild& child, std::exception_ptr error) noexcept {
  if (error != nullptr) note_error(std::move(error));
  error = nullptr;
  Left seen = left_.load(relaxed);  // A guess: the compare-and-swap decides.
  while ((seen & joining) == 0) {
    const auto count = left_count_.load(relaxed);  // A hint: nobody minds a lost count.
    if (count >= most_left) break;
    left_count_.store(count + 1, relaxed);
    child.next_left_ = last_of(seen);
    // Pairs with the looks under the lock. After it the scope may be gone.
    if (left_.compare_exchange_weak(seen, reinterpret_cast<Left>(&child), release, relaxed)) return;
  }
  leave(child);
  child.destroy();
}

void ScopeCore::unlink_locked(ScopeChild& child) {
  (child.previous_ == nullptr ? first_ : child.previous_->next_) = child.next_;
  if (child.next_ != nullptr) child.next_->previous_ = child.previous_;
  --listed_;
}

void ScopeCore::let_joiners_through_locked(Unparks& unparks) {
  // Only the mark: it is set and cleared under the lock, and publishes nothing.
  left_.fetch_and(~joining, relaxed);
  while (Link* const link = joiners_.front_locked()) {
    joiners_.unlink_locked(*link);
    Unpark unpark;
    if (link->waiter->give_turn(unpark)) unparks.add(unpark);
  }
}

ScopeChild* ScopeCore::take_left_locked() {
  left_count_.store(
      0, relaxed);  // Also if none is there: one may have counted itself, and left with the lock.
  if (last_of(left_.load(relaxed)) == nullptr) return nullptr;
  // Pairs with the release in leave_and_destroy().
  ScopeChild* const last = last_of(left_.fetch_and(joining, acquire));
  for (ScopeChild* each = last; each != nullptr; each = each->next_left_) unlink_locked(*each);
  return last;
}

void ScopeCore::destroy_all(ScopeChild* left) noexcept {
  while (left != nullptr) std::exchange(left, left->next_left_)->destroy();
}

// Those that have left stay as long as the lock is held.
std::size_t ScopeCore::living_locked() const {
  std::size_t living = listed_;
  // Pairs with the release in leave_and_destroy().
  const ScopeChild* each = last_of(left_.load(acquire));
  for (; each != nullptr; each = each->next_left_) --living;
  return living;
}

std::vector<const ScopeChild*> ScopeCore::left_locked() const {
  std::vector<const ScopeChild*> all;
  // Pairs with the release in leave_and_destroy().
  const ScopeChild* each = last_of(left_.load(acquire));
  for (; each != nullptr; each = each->next_left_) all.push_back(each);
  return all;
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

void ScopeCore::stop_with(const std::stop_token& other) {
  // Mostly there is one pool. Pairs with the store below.
  const OtherStop* const last = last_other_stop_.load(acquire);
  if (last != nullptr && last->token == other) return;
  {
    SmallGuard guard(joiners_.lock());
    for (const auto& each : other_stops_) {
      if (each->token == other) return;
    }
  }
  auto follower = std::make_unique<OtherStop>(other, *this);
  SmallGuard guard(joiners_.lock());
  other_stops_.push_back(std::move(follower));
  last_other_stop_.store(other_stops_.back().get(), release);  // Pairs with the load above.
}

std::size_t ScopeCore::living() const {
  SmallGuard guard(joiners_.lock());
  return living_locked();
}

std::string ScopeCore::path() const { return outer_path_ + display_name(); }

std::string ScopeCore::who_lives() const {
  constexpr std::size_t most_named = 4;
  SmallGuard guard(joiners_.lock());
  const auto left = left_locked();
  if (left.size() == listed_) return {};
  std::string text = fmt::format("{} live: ", listed_ - left.size());
  std::size_t named = 0;
  for (const ScopeChild* each = first_; each != nullptr; each = each->next_) {
    if (std::ranges::find(left, each) != left.end()) continue;
    if (named == most_named) return text + ", ...";
    text += fmt::format("{}{} of {}:{}", named == 0 ? "" : ", ", each->kind_, file_of(each->where_),
                        each->where_.line());
    ++named;
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
  // A stop that came after the last of them has ended is none of their business.
  if (!had_children_then_ && entered_ == entered_before_it_) return std::nullopt;
  return why_;
}

Stats ScopeCore::stats() const {
  const WaitTotals totals = joiners_.totals();
  Stats stats;
  stats.waiting_consumers = totals.waiting;
  stats.consumer_waits = totals.waits;
  stats.consumers_blocked = totals.blocked;
  SmallGuard guard(joiners_.lock());
  stats.size = living_locked();
  stats.puts = entered_;
  stats.takes = entered_ - stats.size;
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
  bool is_over = false;
  ScopeChild* left = nullptr;
  {
    SmallGuard guard(scope_.joiners_.lock());
    // One word: who leaves later sees the mark, here and below.
    scope_.left_.fetch_or(ScopeCore::joining, relaxed);
    left = scope_.take_left_locked();
    is_over = scope_.listed_ == 0;
    if (is_over) {
      scope_.left_.fetch_and(~ScopeCore::joining, relaxed);
    } else {
      scope_.joiners_.push_back_locked(*link_);
    }
  }
  ScopeCore::destroy_all(left);
  if (is_over) return true;
  waiter.arm();
  return false;
}

bool ScopeJoin::go_on(Waiter&, WaitState outcome) {
  SmallGuard guard(scope_.joiners_.lock());
  if (!link_->linked) return true;
  scope_.joiners_.unlink_locked(*link_);
  // Only the mark, as in begin().
  if (scope_.joiners_.is_empty_locked()) scope_.left_.fetch_and(~ScopeCore::joining, relaxed);
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
