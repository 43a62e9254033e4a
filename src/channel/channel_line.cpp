#include "handoff/detail/channel/channel_line.hpp"

#include <utility>

#include "handoff/detail/core/assert.hpp"
#include "handoff/detail/core/coarse_clock.hpp"
#include "handoff/detail/core/futex.hpp"
#include "handoff/detail/core/primitive.hpp"
#include "handoff/detail/core/spin.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

void Receipt::await_slowly() {
  // Its peer is between claiming it and giving back the channel's lock, unless it was descheduled there.
  if (spinning_pays()) {
    for (int i = 0; i < 40; ++i) {
      cpu_relax();
      if (state_.load(acquire) == made_out) return;  // Pairs with Wakes::make_out().
    }
  }
  auto seen = open;
  // Both pair with the releases in Wakes::make_out().
  if (!state_.compare_exchange_strong(seen, awaited, acquire)) return;
  while (state_.load(acquire) != made_out) futex_wait(state_, awaited, TimePoint::max());
}

void Wakes::make_out() {
  for (Receipt* each = std::exchange(first_, nullptr); each != nullptr;) {
    // It may be gone as soon as it is made out; only the address of a sleeping thread is used afterwards.
    Receipt& receipt = *std::exchange(each, each->next_);
    const Unpark unpark = receipt.unpark_;
    const void* const address = &receipt.state_;
    // Both pair with the acquire in await().
    if (unpark.is_for_coroutine()) {
      receipt.state_.store(Receipt::made_out, release);  // It cannot await it before it is resumed.
    } else if (receipt.state_.exchange(Receipt::made_out, release) == Receipt::awaited)
        [[unlikely]] {
      futex_wake_one(address);
    }
    unpark();
  }
}

ChannelLine::~ChannelLine() {
  // Destroying what somebody still waits for is a broken contract: the waiter would touch freed memory.
  HANDOFF_ASSERT(!has_waiters());
}

bool ChannelLine::push_back_locked(ChannelLink& link, Receipt& receipt, TimePoint now) {
  link.receipt = &receipt;
  link.since = now;
  link.previous = back_;
  link.next = nullptr;
  if (back_ == nullptr) {
    front_.store(&link, relaxed);
  } else {
    back_->next = &link;
  }
  back_ = &link;
  link.linked = true;
  ++waits_;
  return ++size_ == 1;
}

void ChannelLine::unlink_locked(ChannelLink& link, TimePoint now) {
  if (!link.linked) return;
  if (link.previous == nullptr) {
    front_.store(link.next, relaxed);
  } else {
    link.previous->next = link.next;
  }
  (link.next == nullptr ? back_ : link.next->previous) = link.previous;
  link.linked = false;
  --size_;
  blocked_ += now - link.since;
}

ChannelLink* ChannelLine::claim_first_locked(Wakes& wakes) {
  for (auto* link = front_.load(relaxed); link != nullptr; link = link->next) {
    Receipt& receipt = *link->receipt;
    Unpark unpark;
    if (!receipt.waiter().claim(WaitState::served, unpark)) continue;
    unlink_locked(*link, coarse_now());
    receipt.link_ = link;
    receipt.unpark_ = unpark;
    wakes.add(receipt);
    return link;
  }
  return nullptr;
}

void ChannelLine::refuse_all_locked(Wakes& wakes) {
  while (auto* const link = claim_first_locked(wakes)) link->receipt->is_closed_ = true;
}

void ChannelLine::report_locked(const Primitive& subject, std::vector<WaitInfo>& waits) const {
  for (const auto* link = front_.load(relaxed); link != nullptr; link = link->next) {
    const Waiter& waiter = link->receipt->waiter();
    waits.push_back({.thread = thread_name(waiter.thread()),
                     .operation = waiter.site().operation,
                     .kind = subject.kind(),
                     .name = subject.display_name(),
                     .held_by = {},
                     .where = waiter.site().where,
                     .since = link->since,
                     .deadlocked = waiter.is_deadlocked()});
    if (waiter.coroutine() != nullptr) waiter.coroutine()->describe(waiter, waits.back());
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
