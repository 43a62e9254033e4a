#include "handoff/detail/queue/turnstile.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/spin.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

using namespace std::chrono_literals;

namespace {
// How long the one that spins looks away before it looks again. Looking at once would find one
// item, take it, and be back: a pause lets a batch form, and costs less than a sleep and a wake.
constexpr Duration look_away = 4us;
constexpr int looks_before_sleep = 2;

// Spinning is worth it only while the other side runs on another core. Each success earns credit, each failure
// costs some; without credit, one wait in so many tries again.
constexpr std::int32_t most_credit = 8;
constexpr std::int32_t waits_until_next_try = 4;
}  // namespace

bool Turnstile::Visit::spin() {
  if (!spinning_pays() || !turnstile_.try_become_spinner()) return false;
  hold(spinner);
  auto& credit = turnstile_.spin_credit_;
  if (credit < 0) {
    ++credit;
    return false;
  }
  for (int look = 0; look < looks_before_sleep; ++look) {
    spin_for(look_away);
    if (turn_.attempt()) {
      credit = std::min(credit + 2, most_credit);
      return true;
    }
  }
  credit = credit > 0 ? credit - 1 : -waits_until_next_try;
  return false;
}

void Turnstile::Visit::stand_in_line(Waiter& waiter) {
  turnstile_.subject_.enter_registry();
  link_.emplace(waiter).cell = &turn_;
  turnstile_.link(*link_, turn_.position());
}

// Whether the turn was given here, on this list. The waiter is its owner's to look at: nobody claims it now.
bool Turnstile::Visit::take_turn() {
  SmallGuard guard(turnstile_.list_.lock());
  if (!std::exchange(link_->has_turn, false)) return false;
  hold(token_of(*link_));
  return true;
}

bool Turnstile::Visit::look() {
  const bool had_turn = take_turn();
  if (link_->is_served || turn_.attempt()) return true;
  if (had_turn) {
    SmallGuard guard(turnstile_.list_.lock());
    ++link_->lost_turns;
    turnstile_.refresh_limit_locked();
  }
  // Let go first, then look again: what was published while the token was held was left to us.
  let_go();
  if (turn_.attempt()) return true;  // What is left is for the next: see leave().
  owes_a_look_ = false;              // Nothing was left.
  return false;
}

void Turnstile::Visit::leave() {
  if (link_) {
    SmallGuard guard(turnstile_.list_.lock());
    turnstile_.unlink_locked(*link_);
    // A turn may have been given after the last look; nobody can give another one now.
    if (link_->has_turn) hold(token_of(*link_));
  }
  link_.reset();
  let_go();
  if (std::exchange(owes_a_look_, false) && turn_.is_ready() && turnstile_.someone_sleeps()) {
    turnstile_.notify();
  }
}

// Leaves, unless the visit goes on; also when an attempt throws.
class Turnstile::Visit::LeaveAtEnd {
 public:
  explicit LeaveAtEnd(Visit& visit) : visit_(visit) {}
  ~LeaveAtEnd() {
    if (!goes_on_) visit_.leave();
  }
  LeaveAtEnd(const LeaveAtEnd&) = delete;
  LeaveAtEnd& operator=(const LeaveAtEnd&) = delete;

  bool go_on() {
    goes_on_ = true;
    return false;
  }

 private:
  Visit& visit_;
  bool goes_on_ = false;
};

bool Turnstile::Visit::begin(Waiter& waiter) {
  LeaveAtEnd at_end(*this);
  stand_in_line(waiter);
  waiter.arm();
  let_go();
  if (turn_.attempt()) return true;
  owes_a_look_ = false;
  return at_end.go_on();
}

bool Turnstile::Visit::go_on(Waiter& waiter, WaitState outcome) {
  LeaveAtEnd at_end(*this);
  switch (outcome) {
    case WaitState::woken:
    case WaitState::nudged:
    case WaitState::roused:
      // Served on the way, or up and looking.
      if (waiter.resume_looking(outcome) && !look()) return at_end.go_on();
      break;
    case WaitState::served:
    case WaitState::served_in_its_turn: break;
    case WaitState::timed_out: refusal_ = Refusal::timed_out; break;
    case WaitState::stopped: refusal_ = Refusal::stopped; break;
    case WaitState::preparing:
    case WaitState::parked:
      HANDOFF_ASSERT(outcome != WaitState::preparing && outcome != WaitState::parked);
  }
  return true;
}

std::optional<Refusal> Turnstile::wait(Turn& turn, const Wait& wait, WaitSite site) {
  if (wait.deadline.has_passed()) return Refusal::timed_out;
  Visit visit(*this, turn);
  if (visit.spin()) return std::nullopt;
  ThreadWaiter waiter(wait, site);
  take_steps(waiter, visit);
  return visit.refusal();
}

bool Turnstile::try_become_spinner() {
  // The load only spares the others a write.
  return (hint_.load(relaxed) & spinner) == 0 && (hint_.fetch_or(spinner, seq_cst) & spinner) == 0;
}

void Turnstile::notify() {
  auto seen = some;
  if (!hint_.compare_exchange_strong(seen, some | token, seq_cst)) return;
  Unpark unpark;
  {
    SmallGuard guard(list_.lock());
    while (!give_turn_locked(unpark)) {
      // Those on the list are all on their way out, or were roused and are about to look.
      hint_.fetch_and(~token, seq_cst);
      // But one that was roused may have looked and gone back to sleep since we passed it, and others who had
      // something for it then saw the token and left it to us.
      if (!someone_can_take_a_turn_locked()) break;
      seen = some;
      if (!hint_.compare_exchange_strong(seen, some | token, seq_cst)) break;
    }
  }
  unpark();
}

bool Turnstile::give_turn_locked(Unpark& unpark) {
  Link* link = list_.front_locked();
  while (link != nullptr && !link->waiter->give_turn(unpark)) link = link->next;
  if (link == nullptr) return false;
  // Under the lock: its owner looks at it under the lock too, however early it is up.
  link->has_turn = true;
  // A coroutine may have to wait for a worker: others are woken meanwhile.
  if (token_of(*link) == 0) hint_.fetch_and(~token, seq_cst);
  return true;
}

bool Turnstile::someone_can_take_a_turn_locked() const {
  for (const Link* link = list_.front_locked(); link != nullptr; link = link->next) {
    const auto state = link->waiter->state();
    if (state == WaitState::preparing || state == WaitState::parked) return true;
  }
  return false;
}

void Turnstile::rouse_all() {
  SmallGuard guard(list_.lock());
  for (Link* link = list_.front_locked(); link != nullptr; link = link->next) {
    Unpark unpark;
    if (link->waiter->claim(WaitState::roused, unpark)) unpark();
  }
}

void Turnstile::link(Link& link, std::uint64_t ticket) {
  SmallGuard guard(list_.lock());
  link.ticket = ticket;
  list_.push_back_locked(link);
  hint_.fetch_or(some, seq_cst);
  refresh_limit_locked();
}

void Turnstile::unlink_locked(Link& link) {
  list_.unlink_locked(link);
  if (list_.is_empty_locked()) hint_.fetch_and(~some, seq_cst);
  refresh_limit_locked();
}

void Turnstile::refresh_limit_locked() {
  const Link* const front = list_.front_locked();
  std::uint64_t limit = UINT64_MAX;
  if (front != nullptr) {
    limit = front->lost_turns >= max_lost_turns ? 0 : front->ticket + max_overtakes;
  }
  // Written under the lock; who reads it without may be late by an operation or two.
  if (overtake_limit_.load(relaxed) != limit) overtake_limit_.store(limit, relaxed);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
