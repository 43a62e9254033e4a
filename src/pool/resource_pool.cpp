#include "handoff/resource_pool.hpp"

#include <fmt/core.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <limits>
#include <stdexcept>

#include "handoff/detail/core/assert.hpp"
#include "handoff/log.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

namespace {

const ResourcePoolOptions& checked(const ResourcePoolOptions& options) {
  constexpr std::size_t most = std::numeric_limits<std::int32_t>::max();
  if (options.capacity < 1 || options.capacity > most) {
    throw std::invalid_argument(
        fmt::format("capacity must be from 1 to {}, got {}", most, options.capacity));
  }
  if (options.max_idle_time <= Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("max_idle_time must be positive, got {} ns", options.max_idle_time.count()));
  }
  if (options.test_after < Duration::zero()) {
    throw std::invalid_argument(
        fmt::format("test_after must be at least 0 ns, got {} ns", options.test_after.count()));
  }
  return options;
}

}  // namespace

void ItemList::push_back(PooledItem& item) {
  item.previous = back_;
  item.next = nullptr;
  (back_ == nullptr ? front_ : back_->next) = &item;
  back_ = &item;
  ++size_;
}

void ItemList::remove(PooledItem& item) {
  (item.previous == nullptr ? front_ : item.previous->next) = item.next;
  (item.next == nullptr ? back_ : item.next->previous) = item.previous;
  --size_;
}

ResourceCore::ResourceCore(const ResourcePoolOptions& options)
    : capacity_(checked(options).capacity),
      max_idle_time_(options.max_idle_time),
      test_after_(options.test_after),
      name_(options.name),
      places_({.permits = options.capacity, .name = options.name}) {}

ResourceCore::~ResourceCore() {
  for (const LeaseInfo& lease : leases()) {
    const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now() - lease.since);
    log_line(
        fmt::format("ResourcePool \"{}\" is destroyed, but {} has not given back what it borrowed "
                    "at {}:{}, {} ms ago",
                    name_, lease.thread, lease.where.file_name(), lease.where.line(), age.count()));
  }
  // A lease that outlives its pool would give its object back to freed memory.
  const bool everything_was_given_back = lent_.size() == 0 && places_.stats().size == 0;
  HANDOFF_ASSERT(everything_was_given_back);
}

std::optional<Refusal> ResourceCore::try_enter() {
  if (is_closed()) return Refusal::closed;
  if (!places_.try_acquire()) return Refusal::empty;
  return std::nullopt;
}

std::optional<Refusal> ResourceCore::enter(const Wait& wait, std::source_location where) {
  if (wait.stop.stop_requested()) return Refusal::stopped;
  const auto refusal = try_enter();
  return refusal == Refusal::empty ? wait_for_place(wait, where) : refusal;
}

// Waits until a place is free, the caller is asked to stop, or the pool is closed.
std::optional<Refusal> ResourceCore::wait_for_place(const Wait& wait, std::source_location where) {
  const auto entered = acquire_place(wait, where);
  if (entered) return std::nullopt;
  if (entered.error() == Refusal::stopped && !wait.stop.stop_requested()) return Refusal::closed;
  return entered.error();
}

std::expected<void, Refusal> ResourceCore::acquire_place(const Wait& wait,
                                                         std::source_location where) {
  if (!wait.stop.stop_possible()) {
    return places_.acquire({.deadline = wait.deadline, .stop = closing_.get_token()}, where);
  }
  std::stop_source either;
  const auto stop = [&either] { either.request_stop(); };
  const StopCallback<decltype(stop)> on_stop(wait.stop, stop);
  const StopCallback<decltype(stop)> on_close(closing_.get_token(), stop);
  return places_.acquire({.deadline = wait.deadline, .stop = either.get_token()}, where);
}

bool ResourceCore::is_expired_locked(const PooledItem& item, TimePoint at) const {
  return at - item.since > max_idle_time_;
}

ResourceCore::Idle ResourceCore::take_idle() {
  SmallGuard guard(lock_);
  // What close() destroys is in no place: nothing may be made beside it.
  if (closed_) return {.is_closed = true};
  PooledItem* const newest = idle_.back();
  if (newest == nullptr) return {};
  idle_.remove(*newest);
  const auto at = now();
  return {.item = newest,
          .is_expired = is_expired_locked(*newest, at),
          .wants_test = at - newest->since >= test_after_};
}

bool ResourceCore::lend(PooledItem& item, std::source_location where) {
  SmallGuard guard(lock_);
  if (closed_) return false;
  item.since = now();
  item.thread = this_thread_id();
  item.where = where;
  lent_.push_back(item);
  return true;
}

bool ResourceCore::take_back(PooledItem& item) {
  SmallGuard guard(lock_);
  lent_.remove(item);
  if (closed_) return false;
  item.since = now();
  idle_.push_back(item);
  return true;
}

void ResourceCore::forget(PooledItem& item) {
  SmallGuard guard(lock_);
  lent_.remove(item);
}

PooledItem* ResourceCore::take_expired() {
  const auto oldest_locked = [&] {
    PooledItem* const oldest = idle_.front();
    return oldest != nullptr && is_expired_locked(*oldest, now()) ? oldest : nullptr;
  };
  if (max_idle_time_ == Duration::max()) return nullptr;
  {
    SmallGuard guard(lock_);
    if (oldest_locked() == nullptr) return nullptr;
  }
  if (!places_.try_acquire()) return nullptr;  // All are wanted: then none is idle for long.
  {
    SmallGuard guard(lock_);
    if (PooledItem* const oldest = oldest_locked()) {
      idle_.remove(*oldest);
      return oldest;
    }
  }
  leave();  // Somebody else was here in between.
  return nullptr;
}

void ResourceCore::close() {
  {
    SmallGuard guard(lock_);
    closed_ = true;
  }
  closing_.request_stop();
}

bool ResourceCore::is_closed() const {
  SmallGuard guard(lock_);
  return closed_;
}

PooledItem* ResourceCore::take_leftover() {
  SmallGuard guard(lock_);
  PooledItem* const oldest = idle_.front();
  if (oldest != nullptr) idle_.remove(*oldest);
  return oldest;
}

std::vector<LeaseInfo> ResourceCore::leases() const {
  std::vector<LeaseInfo> all;
  SmallGuard guard(lock_);
  for (const PooledItem* item = lent_.front(); item != nullptr; item = item->next) {
    all.push_back(
        {.thread = thread_name(item->thread), .where = item->where, .since = item->since});
  }
  return all;
}

std::size_t ResourceCore::idle() const {
  SmallGuard guard(lock_);
  return idle_.size();
}

void ResourceCore::report_failed_hook(const char* hook, std::string_view what) const {
  log_line(fmt::format("ResourcePool \"{}\": {} threw: {}", name_, hook, what));
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
