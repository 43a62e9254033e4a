// The bodies of BlockingQueue<T>. See queue.hpp for what they promise, queue_core.hpp for the invariants.
#pragma once

#include <algorithm>
#include <new>

namespace handoff::inline HANDOFF_FLAVOUR {

// -- Operations that had to wait ------------------------------------------------------------------

template <typename T>
class BlockingQueue<T>::PutTurn final : public detail::Turnstile::Turn {
 public:
  using Stay = detail::Turnstile::Visit;

  PutTurn(BlockingQueue& queue, T& item) : queue_(queue), item_(item) {}

  bool attempt() override {
    tried_ = queue_.try_put(item_);
    return tried_ != Tried::not_yet;
  }
  bool is_ready() const override { return queue_.size() < queue_.capacity_; }
  std::uint64_t position() const override { return queue_.tail_.index(); }
  detail::Turnstile& place() { return queue_.producers_; }

  // Called by another thread, which holds the tail lock. True if the slot was filled.
  bool fill_for_owner() noexcept {
    try {
      queue_.slots_.fill(queue_.fill_position_, std::move(item_));
    } catch (...) {
      error_ = std::current_exception();
    }
    tried_ = Tried::done;
    return error_ == nullptr;
  }

  Added refuse(Refusal refusal) { return queue_.refuse_add(refusal); }
  Added finish() {
    if (error_) std::rethrow_exception(error_);
    if (tried_ == Tried::closed) return refuse(Refusal::closed);
    return {};
  }

 private:
  BlockingQueue& queue_;
  T& item_;
  Tried tried_ = Tried::not_yet;
  std::exception_ptr error_;
};

template <typename T>
class BlockingQueue<T>::TakeTurn final : public detail::Turnstile::Turn {
 public:
  using Stay = detail::Turnstile::Visit;

  explicit TakeTurn(BlockingQueue& queue) : queue_(queue) {}

  bool attempt() override {
    std::uint64_t head;
    tried_ = queue_.lock_item(head);
    if (tried_ == Tried::done) {
      TakeOut out(queue_, head);
      item_.emplace(out.item());
    }
    return tried_ != Tried::not_yet;
  }
  bool is_ready() const override { return queue_.size() > 0; }
  std::uint64_t position() const override { return queue_.head_.index(); }
  detail::Turnstile& place() { return queue_.consumers_; }
  static bool may_finish(const BlockingQueue& queue) {
    return queue.size() > 0 || queue.is_closed();
  }

  // Called by another thread, which holds the head lock.
  void give_to_owner(T&& item) noexcept {
    try {
      item_.emplace(std::move(item));
    } catch (...) {
      error_ = std::current_exception();
    }
    tried_ = Tried::done;
  }

  Result refuse(Refusal refusal) { return std::unexpected(refusal); }
  Result finish() {
    if (error_) std::rethrow_exception(error_);
    if (tried_ == Tried::closed) return refuse(Refusal::closed);
    return Result(std::in_place, std::move(*item_));
  }
  bool is_finished() const { return tried_ != Tried::not_yet; }

 private:
  BlockingQueue& queue_;
  std::optional<T> item_;
  Tried tried_ = Tried::not_yet;
  std::exception_ptr error_;
};

// Takes one item out under the head lock: whether or not the move throws, the slot is emptied and the index moves on.
template <typename T>
class BlockingQueue<T>::TakeOut {
 public:
  TakeOut(BlockingQueue& queue, std::uint64_t head)
      : queue_(queue), head_(head), slot_(queue.empty_position_) {}
  ~TakeOut() {
    queue_.slots_.empty(slot_);
    queue_.release_slots(head_);
  }
  TakeOut(const TakeOut&) = delete;
  TakeOut& operator=(const TakeOut&) = delete;

  T&& item() { return std::move(queue_.slots_[slot_]); }

 private:
  BlockingQueue& queue_;
  const std::uint64_t head_;
  const std::size_t slot_;
};

// -- Construction ---------------------------------------------------------------------------------

template <typename T>
BlockingQueue<T>::BlockingQueue(QueueOptions options, OnDrop on_drop)
    : QueueCore(options, sizeof(T)), slots_(capacity_), on_drop_(std::move(on_drop)) {
  static_assert(std::is_move_constructible_v<T>, "items are moved in and out");
  enter_if_named();
}

template <typename T>
BlockingQueue<T>::~BlockingQueue() {
  retire();
  auto left = tail_.index() - head_.index();
  for (auto position = empty_position_; left > 0; --left, position = wrapped(position + 1)) {
    slots_.empty(position);
  }
}

// -- Adding ---------------------------------------------------------------------------------------

template <typename T>
typename BlockingQueue<T>::Tried BlockingQueue<T>::try_put(T& item) {
  while (true) {
    const auto tail = tail_.lock();
    if (closed_locked() || room_locked(tail) == 0) [[unlikely]] {
      const auto tried = closed_locked() ? Tried::closed : Tried::not_yet;
      tail_.unlock(tail);
      return tried;
    }
    if (tail >= producers_.overtake_limit() && serve_producer(tail)) [[unlikely]]
      continue;
    if constexpr (std::is_nothrow_move_constructible_v<T>) {
      slots_.fill(fill_position_, std::move(item));
    } else {
      try {
        slots_.fill(fill_position_, std::move(item));
      } catch (...) {
        tail_.unlock(tail);
        throw;
      }
    }
    publish(tail);
    return Tried::done;
  }
}

template <typename T>
typename BlockingQueue<T>::Added BlockingQueue<T>::put(T&& item, const Wait& wait,
                                                       std::source_location where) {
  const detail::sim::Operation here(*this, "put");
  if (wait.stop.stop_requested()) return refuse_add(Refusal::stopped);
  const auto tried = try_put(item);
  if (tried == Tried::done) [[likely]]
    return {};
  if (tried == Tried::closed) return refuse_add(Refusal::closed);
  return put_waiting(item, wait, where);
}

template <typename T>
typename BlockingQueue<T>::Added BlockingQueue<T>::put_waiting(T& item, const Wait& wait,
                                                               std::source_location where) {
  PutTurn turn(*this, item);
  if (auto refusal = producers_.wait(turn, wait, {"put", where})) return turn.refuse(*refusal);
  return turn.finish();
}

template <typename T>
typename BlockingQueue<T>::Added BlockingQueue<T>::offer(T&& item) {
  const detail::sim::Operation here(*this, "offer");
  if (detail::sim::refuses()) return refuse_add(Refusal::full);
  const auto tried = try_put(item);
  if (tried == Tried::done) [[likely]]
    return {};
  return refuse_add(tried == Tried::closed ? Refusal::closed : Refusal::full);
}

template <typename T>
typename BlockingQueue<T>::Added BlockingQueue<T>::push(T&& item, const Wait& wait,
                                                        std::source_location where) {
  switch (when_full_) {
    case WhenFull::block: return put(std::move(item), wait, where);
    case WhenFull::reject: return offer(std::move(item));
    case WhenFull::drop_oldest: return push_evicting(item);
    case WhenFull::drop_newest: break;
  }
  const auto tried = try_put(item);
  if (tried == Tried::done) return {};
  if (tried == Tried::closed) return refuse_add(Refusal::closed);
  dropped(item);
  return std::unexpected(Refusal::full);
}

template <typename T>
typename BlockingQueue<T>::Added BlockingQueue<T>::push_evicting(T& item) {
  const detail::sim::Operation here(*this, "push");
  while (true) {
    const auto tail = tail_.lock();
    if (closed_locked()) {
      tail_.unlock(tail);
      return refuse_add(Refusal::closed);
    }
    Evicted evicted;
    bool served = false;
    std::exception_ptr error;
    try {
      if (room_locked(tail) == 0) evict_locked(tail, evicted);
      served = tail >= producers_.overtake_limit() && serve_producer(tail);
      if (!served) {
        slots_.fill(fill_position_, std::move(item));
        publish(tail);
      }
    } catch (...) {
      tail_.unlock(tail);
      error = std::current_exception();
      // The room that was made is not used after all.
      if (producers_.someone_sleeps()) producers_.notify();
    }
    // Whatever became of the new item, the old one is out.
    if (evicted.item) {
      dropped(*evicted.item);
    } else if (evicted.is_gone) {
      drops_.note_drop();
    }
    if (error) std::rethrow_exception(error);
    if (!served) return {};
  }
}

// Takes out the oldest item, with the tail lock held; nothing if a consumer has made room meanwhile.
template <typename T>
void BlockingQueue<T>::evict_locked(std::uint64_t tail, Evicted& evicted) {
  const auto head = head_.lock();
  if (tail - head < capacity_) {
    head_.unlock(head);
    head_seen_ = head;
    return;
  }
  const auto slot = empty_position_;
  const auto finish = [&] {
    slots_.empty(slot);
    release_evicted(head);
    evicted.is_gone = true;
  };
  try {
    evicted.item.emplace(std::move(slots_[slot]));
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

template <typename T>
void BlockingQueue<T>::dropped(T& item) {
  drops_.note_drop();
  if (on_drop_) on_drop_(item);
}

template <typename T>
std::size_t BlockingQueue<T>::try_put_some(std::span<T> items) {
  const auto tail = tail_.lock();
  const auto count = closed_locked() ? 0 : std::min(items.size(), room_locked(tail));
  // A sleeper whose turn has come is served by the single put that follows.
  if (count == 0 || tail >= producers_.overtake_limit()) {
    tail_.unlock(tail);
    return 0;
  }
  std::size_t filled = 0;
  try {
    for (auto position = fill_position_; filled < count;
         ++filled, position = wrapped(position + 1)) {
      slots_.fill(position, std::move(items[filled]));
    }
  } catch (...) {
    // The single put that follows meets the exception and reports it.
  }
  publish(tail, filled);
  return filled;
}

template <typename T>
PutAll BlockingQueue<T>::put_all(std::span<T> items, const Wait& wait, std::source_location where) {
  const detail::sim::Operation here(*this, "put_all");
  PutAll result;
  while (result.accepted < items.size()) {
    if (!wait.stop.stop_requested()) {
      result.accepted += try_put_some(items.subspan(result.accepted));
    }
    if (result.accepted == items.size()) break;
    // The next one waits as a single put does; it also meets what ends the whole: a close, a stop, a throw.
    try {
      if (auto one = put(std::move(items[result.accepted]), wait, where); !one) {
        result.refusal = one.error();
        count_refused(items.size() - result.accepted - 1);  // That put has counted its own.
        return result;
      }
    } catch (...) {
      result.error = std::current_exception();
      return result;
    }
    ++result.accepted;
  }
  return result;
}

// Fills the slot at the tail with the item of the producer that has waited longest. True if there was one: the lock
// is released then, and the caller starts again.
template <typename T>
bool BlockingQueue<T>::serve_producer(std::uint64_t tail) {
  bool filled = false;
  const bool served = producers_.serve_front([&](detail::Turnstile::Turn& turn) {
    filled = static_cast<PutTurn&>(turn).fill_for_owner();
    // Before the owner can go: once its put has returned, the item must be there for all.
    publish_index(tail, filled ? 1 : 0);
  });
  if (filled) tell_consumers();  // Not above: one list's lock is never taken under another's.
  return served;
}

// -- Taking ---------------------------------------------------------------------------------------

template <typename T>
typename BlockingQueue<T>::Tried BlockingQueue<T>::lock_item(std::uint64_t& index) {
  while (true) {
    index = head_.lock();
    bool closed = false;
    if (!has_item_locked(index, closed)) [[unlikely]] {
      head_.unlock(index);
      return closed ? Tried::closed : Tried::not_yet;
    }
    if (index >= consumers_.overtake_limit() && serve_consumer(index)) [[unlikely]]
      continue;
    return Tried::done;
  }
}

template <typename T>
typename BlockingQueue<T>::Result BlockingQueue<T>::take(const Wait& wait,
                                                         std::source_location where) {
  const detail::sim::Operation here(*this, "take");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  std::uint64_t head;
  const auto tried = lock_item(head);
  if (tried == Tried::done) [[likely]] {
    TakeOut out(*this, head);
    return Result(std::in_place, out.item());
  }
  if (tried == Tried::closed) return std::unexpected(Refusal::closed);
  return take_waiting(wait, where);
}

template <typename T>
typename BlockingQueue<T>::Result BlockingQueue<T>::take_waiting(const Wait& wait,
                                                                 std::source_location where) {
  TakeTurn turn(*this);
  if (auto refusal = consumers_.wait(turn, wait, {"take", where})) return turn.refuse(*refusal);
  return turn.finish();
}

template <typename T>
typename BlockingQueue<T>::Result BlockingQueue<T>::poll() {
  const detail::sim::Operation here(*this, "poll");
  std::uint64_t head;
  const auto tried = lock_item(head);
  if (tried == Tried::done) [[likely]] {
    TakeOut out(*this, head);
    return Result(std::in_place, out.item());
  }
  return std::unexpected(tried == Tried::closed ? Refusal::closed : Refusal::empty);
}

template <typename T>
std::size_t BlockingQueue<T>::try_take_some(std::vector<T>& items, std::size_t max) {
  std::uint64_t head;
  if (max == 0 || lock_item(head) != Tried::done) return 0;
  // Another look at the tail: there may be more than when it was last seen.
  if (tail_seen_ - head < max) tail_seen_ = tail_.index();
  const auto count = std::min<std::size_t>(max, static_cast<std::size_t>(tail_seen_ - head));
  auto position = empty_position_;
  for (std::size_t i = 0; i < count; ++i, position = wrapped(position + 1)) {
    items.push_back(std::move(slots_[position]));  // Room is reserved, and the move cannot throw.
    slots_.empty(position);
  }
  release_slots(head, count);
  return count;
}

template <typename T>
std::expected<std::vector<T>, Refusal> BlockingQueue<T>::take_some(std::size_t max,
                                                                   const Wait& wait,
                                                                   std::source_location where) {
  const detail::sim::Operation here(*this, "take_some");
  std::vector<T> items;
  if (max == 0) return items;
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  if constexpr (std::is_nothrow_move_constructible_v<T>) {
    // Memory first, items then: running out of it must not lose one.
    items.reserve(std::min(max, std::max<std::size_t>(size(), 1)));
    if (try_take_some(items, std::min(max, items.capacity())) > 0) return items;
  } else {
    items.reserve(1);
  }
  auto first = take(wait, where);
  if (!first) return std::unexpected(first.error());
  items.push_back(std::move(*first));
  if constexpr (std::is_nothrow_move_constructible_v<T>) {
    try {
      items.reserve(std::min(max, size() + 1));
    } catch (const std::bad_alloc&) {
      return items;  // One will do.
    }
    try_take_some(items, std::min(max, items.capacity()) - 1);
  }
  return items;
}

template <typename T>
std::vector<T> BlockingQueue<T>::drain()
  requires std::is_nothrow_move_constructible_v<T>
{
  std::vector<T> items;
  items.reserve(size());
  while (true) {
    // Memory first, items then: running out of it must not lose one.
    if (items.size() == items.capacity())
      items.reserve(items.size() + std::max<std::size_t>(size(), 1));
    if (try_take_some(items, items.capacity() - items.size()) == 0) return items;
  }
}

template <typename T>
template <typename Sink>
std::size_t BlockingQueue<T>::drain(Sink sink) {
  for (std::size_t count = 0;; ++count) {
    auto item = poll();
    if (!item) return count;
    sink(std::move(*item));
  }
}

// Takes the oldest item for the consumer that has waited longest. True if there was one: the lock is released
// then, and the caller starts again.
template <typename T>
bool BlockingQueue<T>::serve_consumer(std::uint64_t head) {
  const bool served = consumers_.serve_front([&](detail::Turnstile::Turn& turn) {
    static_cast<TakeTurn&>(turn).give_to_owner(std::move(slots_[empty_position_]));
    slots_.empty(empty_position_);
    // Before the owner can go: once its take has returned, the room must be there for all.
    release_index(head, 1);
  });
  if (served) tell_producers();
  return served;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
