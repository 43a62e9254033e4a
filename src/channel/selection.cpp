#include "handoff/detail/channel/selection.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/detail/core/simulation.hpp"
#include "handoff/detail/core/thread_info.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

// Uniform enough to choose among a few: xorshift64*.
std::uint32_t random_below(std::uint32_t limit) {
  if constexpr (simulated_build) {
    if (sim::is_simulated()) return static_cast<std::uint32_t>(sim::draw(limit));
  }
  static thread_local constinit std::uint64_t state = 0;
  if (state == 0) state = 0x9e3779b97f4a7c15ULL * (this_thread_id() + std::uint64_t{1});
  state ^= state >> 12;
  state ^= state << 25;
  state ^= state >> 27;
  const std::uint64_t random = (state * 0x2545f4914f6cdd1dULL) >> 32;
  return static_cast<std::uint32_t>((random * limit) >> 32);
}

// Any order will do that is the same for all. In a simulation it is not the addresses', which differ from process to process.
#if defined(HANDOFF_SIMULATED) && HANDOFF_SIMULATED
std::uint64_t place_in_order(const ChannelCore& channel) { return channel.number(); }
#else
const ChannelCore* place_in_order(const ChannelCore& channel) { return &channel; }
#endif

Duration delay_of_case(const SelectCase& one) {
  if (one.kind() != SelectCase::Kind::timer) return Duration::max();
  return static_cast<const TimerCase&>(one).delay();
}

// So that nobody else can do a case for it.
bool claim_for_itself(Waiter& waiter) {
  Unpark nobody;
  return waiter.claim(WaitState::roused, nobody);
}

}  // namespace

SelectUntil select_until(Deadline deadline, Duration delay) {
  if (delay == Duration::max())
    return {.deadline = deadline};  // No timer, or one that never comes.
  const Deadline timer = deadline_after(delay);
  if (timer.is_never() || timer.when() > deadline.when()) return {.deadline = deadline};
  return {.deadline = timer, .is_timer = true};
}

SelectUntil select_until(Deadline deadline, std::span<const SelectCase* const> cases) {
  Duration delay = Duration::max();
  for (const SelectCase* const each : cases) delay = std::min(delay, delay_of_case(*each));
  return select_until(deadline, delay);
}

// The locks of all channels of a select. They are sorted, so that those of one channel stand together.
class Selection::Locks {
 public:
  explicit Locks(std::span<ChannelCase* const> channels) : channels_(channels) {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      if (is_first_of_its_channel(i)) channels_[i]->lock().lock();
    }
  }
  ~Locks() {
    for (std::size_t i = channels_.size(); i-- > 0;) {
      if (is_first_of_its_channel(i)) channels_[i]->lock().unlock();
    }
  }
  Locks(const Locks&) = delete;
  Locks& operator=(const Locks&) = delete;

 private:
  bool is_first_of_its_channel(std::size_t i) const {
    return i == 0 || &channels_[i]->channel() != &channels_[i - 1]->channel();
  }

  const std::span<ChannelCase* const> channels_;
};

// Leaves all places, unless the wait goes on; also if looking at a case throws.
class Selection::LeaveAtEnd {
 public:
  explicit LeaveAtEnd(Selection& selection) : selection_(selection) {}
  ~LeaveAtEnd() {
    if (!goes_on_) selection_.leave();
  }
  LeaveAtEnd(const LeaveAtEnd&) = delete;
  LeaveAtEnd& operator=(const LeaveAtEnd&) = delete;

  bool go_on() {
    goes_on_ = true;
    return false;
  }

 private:
  Selection& selection_;
  bool goes_on_ = false;
};

Selection::Selection(std::span<SelectCase* const> cases, std::span<ChannelCase*> channels)
    : cases_(cases) {
  std::size_t at_channels = 0;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    switch (cases_[i]->kind()) {
      case SelectCase::Kind::exchange:
        channels[at_channels++] = static_cast<ChannelCase*>(cases_[i]);
        break;
      case SelectCase::Kind::watched: ++watched_; break;
      case SelectCase::Kind::otherwise: otherwise_ = i; break;
      case SelectCase::Kind::timer:
        if (timer_ == none || delay_of_case(*cases_[i]) < delay_of_case(*cases_[timer_]))
          timer_ = i;
        break;
    }
  }
  channels_ = channels.first(at_channels);
}

// -- Trying ---------------------------------------------------------------------------------------

bool Selection::may_happen(const SelectCase& one) const {
  switch (one.kind()) {
    case SelectCase::Kind::exchange: return static_cast<const ChannelCase&>(one).may_happen();
    case SelectCase::Kind::watched: return static_cast<const WatchedCase&>(one).may_happen();
    case SelectCase::Kind::timer: return delay_of_case(one) <= Duration::zero();
    case SelectCase::Kind::otherwise: break;
  }
  return false;
}

bool Selection::attempt(SelectCase& one) {
  switch (one.kind()) {
    case SelectCase::Kind::exchange: {
      auto& at_channel = static_cast<ChannelCase&>(one);
      Wakes wakes;
      SmallGuard guard(at_channel.lock());
      return at_channel.attempt_locked(wakes);
    }
    case SelectCase::Kind::watched: {
      auto& watched = static_cast<WatchedCase&>(one);
      return stands_at_watched_ ? watched.look() : watched.attempt();
    }
    case SelectCase::Kind::timer: return true;
    case SelectCase::Kind::otherwise: break;
  }
  return false;
}

// Calls attempt(case) for one that seems ready, chosen by lot; if that comes to nothing, because somebody else was faster, for those
// after it.
template <typename Try>
bool Selection::try_in_random_order(Try try_case) {
  std::size_t chosen = none;
  std::uint32_t ready = 0;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (may_happen(*cases_[i]) && (++ready == 1 || random_below(ready) == 0)) chosen = i;
  }
  if (chosen == none) return false;
  for (std::size_t step = 0; step < cases_.size(); ++step) {
    const auto i = chosen + step < cases_.size() ? chosen + step : chosen + step - cases_.size();
    if (may_happen(*cases_[i]) && try_case(*cases_[i])) {
      happened_ = i;
      return true;
    }
  }
  return false;
}

bool Selection::try_one() {
  return try_in_random_order([this](SelectCase& one) { return attempt(one); });
}

bool Selection::try_channels_locked(Wakes& wakes) {
  return try_in_random_order([&](SelectCase& one) {
    return one.kind() == SelectCase::Kind::exchange &&
           static_cast<ChannelCase&>(one).attempt_locked(wakes);
  });
}

bool Selection::ready(const std::stop_token& stop) {
  if (stop.stop_requested()) {
    refusal_ = Refusal::stopped;
    return true;
  }
  if (try_one()) return true;
  if (otherwise_ == none) return false;
  // That each of several channels was not ready at some moment does not mean that there was a moment when none was.
  if (channels_.size() > 1) {
    sort_channels();
    Wakes wakes;
    Locks locks(channels_);
    if (try_channels_locked(wakes)) return true;
  }
  happened_ = otherwise_;
  return true;
}

// -- Waiting --------------------------------------------------------------------------------------

void Selection::sort_channels() {
  const auto place = [](const ChannelCase* one) { return place_in_order(one->channel()); };
  if (!std::ranges::is_sorted(channels_, std::less<>(), place)) {
    std::ranges::sort(channels_, std::less<>(), place);
  }
}

void Selection::stand_at_channels_locked(Waiter& waiter) {
  receipt_.begin(waiter);
  const auto now = coarse_now();
  for (ChannelCase* const each : channels_) {
    if (!each->enlist_locked(receipt_, now)) may_spin_ = false;
  }
  stands_at_channels_ = true;
}

bool Selection::begin(Waiter& waiter) {
  LeaveAtEnd at_end(*this);
  sort_channels();
  for (ChannelCase* const each : channels_) each->channel().enter_registry();
  if (watched_ > 0) {
    stands_at_watched_ = true;
    for (SelectCase* const each : cases_) {
      if (each->kind() != SelectCase::Kind::watched) continue;
      static_cast<WatchedCase*>(each)->stand_in_line(waiter);
    }
    // If it cannot be claimed, it was given its turn already.
    static_cast<void>(claim_for_itself(waiter));
    return look_again(waiter) || at_end.go_on();
  }
  {
    Wakes wakes;
    Locks locks(channels_);
    if (try_channels_locked(wakes)) return true;
    stand_at_channels_locked(waiter);
  }
  waiter.arm();
  if (waiter.coroutine() == nullptr && may_spin_ && !channels_.empty()) {
    spin_until_claimed(waiter);
  }
  return at_end.go_on();
}

bool Selection::look_at_watched() {
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (cases_[i]->kind() != SelectCase::Kind::watched) continue;
    if (!static_cast<WatchedCase*>(cases_[i])->look()) continue;
    happened_ = i;
    return true;
  }
  return false;
}

// While the waiter is claimed and nobody can serve it. False: it stands everywhere, and can be claimed.
bool Selection::look_again(Waiter& waiter) {
  while (true) {
    // All who stand in a line look, also where nothing seems to be: they may have been given a turn there.
    if (try_one() || look_at_watched()) return true;
    {
      Wakes wakes;
      Locks locks(channels_);
      if (try_channels_locked(wakes)) return true;
      if (!stands_at_channels_) stand_at_channels_locked(waiter);
      const bool looks = waiter.resume_looking(waiter.state());
      HANDOFF_ASSERT(looks);
    }
    if (!is_armed_) {
      is_armed_ = true;
      waiter.arm();
    }
    const bool more = std::ranges::any_of(cases_, [](const SelectCase* one) {
      return one->kind() == SelectCase::Kind::watched &&
             static_cast<const WatchedCase*>(one)->may_happen();
    });
    if (!more || !claim_for_itself(waiter)) return false;
  }
}

bool Selection::go_on(Waiter& waiter, WaitState outcome) {
  LeaveAtEnd at_end(*this);
  switch (outcome) {
    case WaitState::woken:
      if (!waiter.resume_looking(outcome)) {
        was_served_ = true;  // On the way.
        break;
      }
      // If it cannot be claimed, somebody has: the wait ends at once.
      if (!claim_for_itself(waiter) || !look_again(waiter)) return at_end.go_on();
      break;
    case WaitState::nudged:
    case WaitState::roused:
      if (!look_again(waiter)) return at_end.go_on();
      break;
    case WaitState::served:
    case WaitState::served_in_its_turn: was_served_ = true; break;
    case WaitState::timed_out:
    case WaitState::stopped:
      if (was_served(waiter, outcome)) {
        was_served_ = true;
      } else if (outcome == WaitState::timed_out) {
        time_has_come();
      } else {
        refusal_ = Refusal::stopped;
      }
      break;
    case WaitState::preparing:
    case WaitState::parked:
      HANDOFF_ASSERT(outcome != WaitState::preparing && outcome != WaitState::parked);
  }
  return true;
}

void Selection::time_has_come() {
  if (until_is_timer_) {
    happened_ = timer_;
  } else {
    refusal_ = Refusal::timed_out;
  }
}

void Selection::leave() {
  const bool at_watched = stands_at_watched_ && leave_watched();
  if (std::exchange(stands_at_channels_, false)) {
    // The channel where it was served may be gone once the receipt is there: that line it has left already.
    const ChannelLink* served_at = nullptr;
    if (was_served_ && !at_watched) {
      receipt_.await();
      served_at = receipt_.link();
    }
    const auto now = coarse_now();
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (cases_[i]->kind() != SelectCase::Kind::exchange) continue;
      auto& at_channel = static_cast<ChannelCase&>(*cases_[i]);
      if (!at_channel.stands_at(served_at)) {
        at_channel.leave(now);
        continue;
      }
      happened_ = i;
      if (receipt_.is_closed()) at_channel.refuse();
    }
  }
}

// True if one of them has happened.
bool Selection::leave_watched() {
  stands_at_watched_ = false;
  bool happened = false;
  for (std::size_t i = 0; i < cases_.size(); ++i) {
    if (cases_[i]->kind() != SelectCase::Kind::watched) continue;
    if (!static_cast<WatchedCase*>(cases_[i])->leave()) continue;
    happened_ = i;
    happened = true;
  }
  return happened;
}

Selected Selection::finish() {
  if (happened_ == none) return std::unexpected(*refusal_);
  if (auto refusal = cases_[happened_]->finish()) return std::unexpected(*refusal);
  return happened_;
}

// -- On a thread ----------------------------------------------------------------------------------

Selected run_select(std::span<SelectCase* const> cases, std::span<ChannelCase*> channels,
                    const Wait& wait, std::source_location where) {
  const sim::Operation here("several", "select");
  Selection selection(cases, channels);
  if (selection.ready(wait.stop)) return selection.finish();
  const SelectUntil until = select_until(wait.deadline, cases);
  selection.set_until(until);
  if (until.deadline.has_passed()) return selection.finish_at_deadline();
  {
    const Wait wait_until{.deadline = until.deadline, .stop = wait.stop};
    ThreadWaiter waiter(wait_until, {"select", where});
    take_steps(waiter, selection);
  }
  return selection.finish();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
