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

// A waiter's stay at the turnstile. However it ends, by success, refusal or a throwing attempt, the
// destructor takes it off the list and passes on the turn that came with it.
class Turnstile::Visit {
 public:
  Visit(Turnstile& turnstile, Turn& turn, const Wait& wait, WaitSite site)
      : turnstile_(turnstile), turn_(turn), waiter_(wait, site), link_(waiter_) {
    link_.cell = &turn;
  }
  ~Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;

  // True if the operation succeeded while spinning.
  bool spin();
  std::optional<Refusal> sleep();

 private:
  // From now on others are not woken for what is published: we see to it, or to it that somebody does.
  void hold(std::uint32_t bit) {
    held_ |= bit;
    owes_a_look_ = true;
  }
  void let_go() {
    if (held_ != 0) turnstile_.hint_.fetch_and(~std::exchange(held_, 0), seq_cst);
  }
  void lose_turn();

  Turnstile& turnstile_;
  Turn& turn_;
  Waiter waiter_;
  Link link_;
  std::uint32_t held_ = 0;    // token, spinner or both.
  bool owes_a_look_ = false;  // Something may have been published while we held it, for others too.
  bool was_linked_ = false;
};

Turnstile::Visit::~Visit() {
  if (was_linked_) {
    SmallGuard guard(turnstile_.list_.lock());
    turnstile_.unlink_locked(link_);
  }
  // A turn may have been given after the last look at the state; nobody can claim us any more.
  const auto state = waiter_.state();
  if (state == WaitState::woken || state == WaitState::nudged ||
      state == WaitState::served_in_its_turn) {
    hold(token);
  }
  let_go();
  if (owes_a_look_ && turn_.is_ready() && turnstile_.someone_sleeps()) turnstile_.notify();
}

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

std::optional<Refusal> Turnstile::Visit::sleep() {
  turnstile_.link(link_, turn_.position());
  was_linked_ = true;
  waiter_.arm();
  while (true) {
    let_go();
    if (turn_.attempt()) return std::nullopt;  // What is left is for the next: see the destructor.
    owes_a_look_ = false;                      // Nothing was left.
    WaitState outcome;
    if (!waiter_.is_over(outcome)) outcome = waiter_.park();
    switch (outcome) {
      case WaitState::woken:
      case WaitState::nudged:
        if (!waiter_.resume_looking(outcome)) return std::nullopt;  // Served on the way.
        hold(token);
        if (turn_.attempt()) return std::nullopt;
        lose_turn();
        break;
      case WaitState::roused: waiter_.resume_looking(outcome); break;
      case WaitState::served:
      case WaitState::served_in_its_turn: return std::nullopt;
      case WaitState::timed_out: return Refusal::timed_out;
      case WaitState::stopped: return Refusal::stopped;
      case WaitState::preparing:
      case WaitState::parked:
        HANDOFF_ASSERT(outcome != WaitState::preparing && outcome != WaitState::parked);
    }
  }
}

void Turnstile::Visit::lose_turn() {
  SmallGuard guard(turnstile_.list_.lock());
  ++link_.lost_turns;
  turnstile_.refresh_limit_locked();
}

std::optional<Refusal> Turnstile::wait(Turn& turn, const Wait& wait, WaitSite site) {
  if (wait.deadline.has_passed()) return Refusal::timed_out;
  subject_.enter_registry();
  Visit visit(*this, turn, wait, site);
  if (visit.spin()) return std::nullopt;
  return visit.sleep();
}

bool Turnstile::try_become_spinner() {
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
  return link != nullptr;
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
  if (overtake_limit_.load(relaxed) != limit) overtake_limit_.store(limit, relaxed);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
