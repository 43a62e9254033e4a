#include "handoff/detail/queue/ordered_core.hpp"

#include <algorithm>

namespace handoff::inline HANDOFF_FLAVOUR::detail {

OrderedCore::OrderedCore(const char* kind, const QueueOptions& options, std::size_t item_size)
    : Primitive(kind, options.name),
      capacity_(checked_capacity(options.capacity, std::max(item_size, sizeof(RankHeap::Entry)))),
      when_full_(options.when_full),
      drops_(*this),
      producers_(*this),
      consumers_(*this),
      order_(capacity_) {}

OrderedCore::~OrderedCore() { drops_.flush(); }

void OrderedCore::close() {
  const sim::Operation here(*this, "close");
  {
    SmallGuard guard(lock_);
    if (closed_locked()) return;
    closed_.store(true, seq_cst);
  }
  consumers_.rouse_all();
  producers_.rouse_all();
  drops_.flush();
}

std::size_t OrderedCore::size() const {
  SmallGuard guard(lock_);
  return order_.size();
}

std::uint64_t OrderedCore::puts() const {
  SmallGuard guard(lock_);
  return puts_;
}

std::uint64_t OrderedCore::takes() const {
  SmallGuard guard(lock_);
  return takes_;
}

bool OrderedCore::has_room() const {
  SmallGuard guard(lock_);
  return has_room_locked();
}

Stats OrderedCore::stats_with(const WaitTotals& consumers) const {
  const auto producers = producers_.totals();
  SmallGuard guard(lock_);
  return {.size = order_.size(),
          .capacity = capacity_,
          .high_water = high_water_,
          .puts = puts_,
          .takes = takes_,
          .refused = refused_.load(relaxed),  // A counter only.
          .dropped = drops_.total(),
          .waiting_producers = producers.waiting,
          .waiting_consumers = consumers.waiting,
          .producer_waits = producers.waits,
          .consumer_waits = consumers.waits,
          .producers_blocked = producers.blocked,
          .consumers_blocked = consumers.blocked};
}

void OrderedCore::add_locked(std::size_t slot, Rank rank) {
  order_.push(slot, rank);
  ++puts_;
  high_water_ = std::max(high_water_, order_.size());
}

void OrderedCore::remove_taken_locked(Section& section, std::size_t slot) {
  ++takes_;
  remove_evicted_locked(section, slot);
}

void OrderedCore::remove_evicted_locked(Section& section, std::size_t slot) {
  order_.erase(slot);
  section.made_room();
}

OrderedCore::Section::~Section() {
  if (tend_line_) core_.tend_line_locked(*this);
  // An evicting push has filled the room it made; only if its item's move threw, room is left.
  const bool tell_producers = made_room_ && core_.has_room_locked();
  core_.lock_.unlock();
  if (tell_producers && core_.producers_.someone_sleeps()) core_.producers_.notify();
  if (wake_one_ != nullptr && wake_one_->someone_sleeps()) wake_one_->notify();
  if (wake_all_ != nullptr) wake_all_->rouse_all();
  if (wake_all_too_ != nullptr) wake_all_too_->rouse_all();
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
