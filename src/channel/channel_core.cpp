#include "handoff/detail/channel/channel_core.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>

#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/detail/core/spin.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

// Two threads that are both awake hand over in a tenth of a microsecond, and with a wake-up through the system in between in tens of
// them. Once one has gone to sleep the other must stay awake for as long as a wake-up takes, or they never get into step.
constexpr int looks_per_spin = 1'000;  // About 40 us.

// Each success earns credit, each failure costs some. Without credit it is tried again after some waits, after each failure twice as many.
constexpr int most_credit = 8;
constexpr int fewest_waits = 16;
constexpr int most_waits = 1'024;

std::size_t checked(std::size_t capacity, std::size_t item_size) {
  const auto most =
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / item_size;
  if (capacity <= most) return capacity;
  throw std::invalid_argument(fmt::format(
      "channel capacity must be at most {} items of {} bytes, got {}", most, item_size, capacity));
}

}  // namespace

ChannelCore::ChannelCore(const ChannelOptions& options, std::size_t item_size)
    : Primitive("Channel", options.name), capacity_(checked(options.capacity, item_size)) {}

void ChannelCore::close() {
  const sim::Operation here(*this, "close");
  Wakes wakes;
  SmallGuard guard(lock_);
  if (closed_.exchange(true, release)) return;  // Pairs with the acquire in is_closed().
  senders_.refuse_all_locked(wakes);
  receivers_.refuse_all_locked(wakes);
}

Stats ChannelCore::stats() const {
  SmallGuard guard(lock_);
  const auto senders = senders_.totals_locked();
  const auto receivers = receivers_.totals_locked();
  return {.size = size_locked(),
          .capacity = capacity_,
          .high_water = high_water_,
          .puts = puts_,
          .takes = puts_ - size_locked(),
          .refused = refused_.load(relaxed),  // A counter only.
          .dropped = 0,
          .waiting_producers = senders.waiting,
          .waiting_consumers = receivers.waiting,
          .producer_waits = senders.waits,
          .consumer_waits = receivers.waits,
          .producers_blocked = senders.blocked,
          .consumers_blocked = receivers.blocked};
}

void ChannelCore::report_waits(std::vector<WaitInfo>& waits) const {
  SmallGuard guard(lock_);
  senders_.report_locked(*this, waits);
  receivers_.report_locked(*this, waits);
}

// -- An operation ---------------------------------------------------------------------------------

bool ChannelOperation::begin(Waiter& waiter) {
  core_.enter_registry();
  bool is_first;
  {
    Wakes wakes;
    SmallGuard guard(core_.lock_);
    if (finish_attempt(attempt_locked(wakes))) return true;
    std::construct_at(&stay_);
    stay_.receipt.begin(waiter);
    stay_.link.cell = cell();
    is_first = core_.line(side_).push_back_locked(stay_.link, stay_.receipt, coarse_now());
  }
  waiter.arm();
  if (is_first && waiter.coroutine() == nullptr) spin_until_claimed(waiter);
  return false;
}

bool ChannelOperation::go_on(Waiter& waiter, WaitState outcome) {
  if (was_served(waiter, outcome)) {
    stay_.receipt.await();
    if (stay_.receipt.is_closed()) refusal_ = Refusal::closed;
    return true;
  }
  SmallGuard guard(core_.lock_);
  core_.line(side_).unlink_locked(stay_.link, coarse_now());
  refusal_ = outcome == WaitState::stopped ? Refusal::stopped : Refusal::timed_out;
  return true;
}

bool was_served(Waiter& waiter, WaitState outcome) {
  if (outcome == WaitState::served) [[likely]]
    return true;
  // A stop or a deadline that was noticed before anybody claimed the waiter: from now on nobody can.
  Unpark nobody;
  return !waiter.claim(outcome, nobody) && waiter.state() == WaitState::served;
}

void spin_until_claimed(const Waiter& waiter) {
  // The thread's own, not the channel's: that may be gone once the waiter was served.
  static thread_local constinit int credit = 0;
  static thread_local constinit int waits_until_next_try = fewest_waits;
  if (!spinning_pays()) return;
  if (credit < 0) {
    ++credit;
    return;
  }
  for (int look = 0; look < looks_per_spin; ++look) {
    if (waiter.state() != WaitState::preparing) {
      credit = std::min(credit + 2, most_credit);
      waits_until_next_try = fewest_waits;
      return;
    }
    cpu_relax();
  }
  if (credit > 0) {
    --credit;
  } else {
    credit = -waits_until_next_try;
    waits_until_next_try = std::min(2 * waits_until_next_try, most_waits);
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
