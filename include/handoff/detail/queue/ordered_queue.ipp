// The bodies of OrderedQueue<T, Core>.
#pragma once

namespace handoff::inline HANDOFF_FLAVOUR::detail {

// -- Operations that had to wait ------------------------------------------------------------------

template <typename T, typename Core>
class OrderedQueue<T, Core>::PutTurn final : public Turnstile::Turn {
 public:
  using Stay = Turnstile::Visit;

  PutTurn(OrderedQueue& queue, T& item, std::int64_t order)
      : queue_(queue), item_(item), order_(order) {}

  bool attempt() override {
    tried_ = queue_.try_put(item_, order_);
    return tried_ != Tried::not_yet;
  }
  bool is_ready() const override { return queue_.has_room(); }
  std::uint64_t position() const override { return queue_.puts(); }
  Turnstile& place() { return queue_.producers_; }

  // Called by another thread, which holds the queue's lock. The owner meets what its item's move throws.
  void put_for_owner_locked(Section& section) noexcept {
    try {
      queue_.fill_locked(section, item_, order_);
    } catch (...) {
      error_ = std::current_exception();
    }
    tried_ = Tried::done;
  }

  Added refuse(Refusal refusal) { return queue_.refuse_add(refusal); }
  Added finish() {
    if (error_) std::rethrow_exception(error_);
    if (tried_ == Tried::closed) return refuse(Refusal::closed);
    return {};
  }

 private:
  OrderedQueue& queue_;
  T& item_;
  const std::int64_t order_;
  Tried tried_ = Tried::not_yet;
  std::exception_ptr error_;
};

template <typename T, typename Core>
class OrderedQueue<T, Core>::TakeTurn final : public Core::Taker {
 public:
  using Stay = typename Core::TakerVisit;

  explicit TakeTurn(OrderedQueue& queue) : queue_(queue) {}

  bool attempt() override {
    Section section(queue_);
    return look_locked(section) || queue_.settle_locked(*this);
  }
  bool look() override {
    Section section(queue_);
    if (look_locked(section)) return true;
    queue_.settle_locked(*this);
    return false;
  }
  bool is_finished_locked() const override { return tried_ != Tried::not_yet; }

  bool is_ready() const override {
    SmallGuard guard(queue_.lock_);
    return queue_.may_go_on_locked();
  }
  std::uint64_t position() const override { return queue_.takes(); }
  auto& place() { return queue_.place_of_takers(); }
  static bool may_finish(const OrderedQueue& queue) {
    SmallGuard guard(queue.lock_);
    return queue.is_ready_locked() || queue.is_over_locked();
  }

  // Called by another thread, which holds the queue's lock.
  void give_to_owner_locked(T&& item) noexcept {
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
  // Once it stands nowhere.
  bool is_finished() const { return is_finished_locked(); }

 private:
  bool look_locked(Section& section) {
    if (is_finished_locked()) return true;  // It was given an item.
    tried_ = queue_.look_locked(section, this);
    if (tried_ == Tried::done) {
      TakeOut out(queue_, section);
      item_.emplace(out.item());
    }
    return is_finished_locked();
  }

  OrderedQueue& queue_;
  std::optional<T> item_;
  Tried tried_ = Tried::not_yet;
  std::exception_ptr error_;
};

// Takes the first item out under the lock: whether or not its move throws, it is gone afterwards.
template <typename T, typename Core>
class OrderedQueue<T, Core>::TakeOut {
 public:
  TakeOut(OrderedQueue& queue, Section& section) : queue_(queue), section_(section) {}
  ~TakeOut() { queue_.release_locked(section_); }
  TakeOut(const TakeOut&) = delete;
  TakeOut& operator=(const TakeOut&) = delete;

  T&& item() { return std::move(queue_.slots_[queue_.order_.front().slot]); }

 private:
  OrderedQueue& queue_;
  Section& section_;
};

template <typename T, typename Core>
OrderedQueue<T, Core>::~OrderedQueue() {
  for (; !this->order_.is_empty(); this->order_.erase(this->order_.front().slot)) {
    slots_.empty(this->order_.front().slot);
  }
}

// -- Adding ---------------------------------------------------------------------------------------

template <typename T, typename Core>
void OrderedQueue<T, Core>::fill_locked(Section& section, T& item, std::int64_t order) {
  const auto slot = this->order_.free_slot();
  slots_.fill(slot, std::move(item));  // If this throws, nothing has happened.
  this->accept_locked(section, slot, order);
}

template <typename T, typename Core>
void OrderedQueue<T, Core>::admit_locked(Section& section, T& item, std::int64_t order) {
  fill_locked(section, item, order);
  this->serve_takers_locked(section);
}

// Adds the item of the producer that has waited longest, if it has waited beyond the limits.
template <typename T, typename Core>
bool OrderedQueue<T, Core>::serve_producer_locked(Section& section) {
  if (this->puts_ < this->producers_.overtake_limit()) [[likely]]
    return false;
  const bool served = this->producers_.serve_front(
      [&](Turnstile::Turn& turn) { static_cast<PutTurn&>(turn).put_for_owner_locked(section); });
  // Not above: one list's lock is never taken under another's.
  if (served) this->serve_takers_locked(section);
  return served;
}

template <typename T, typename Core>
Tried OrderedQueue<T, Core>::try_put(T& item, std::int64_t order) {
  Section section(*this);
  if (this->closed_locked()) return Tried::closed;
  while (this->has_room_locked()) {
    if (serve_producer_locked(section)) continue;
    admit_locked(section, item, order);
    return Tried::done;
  }
  return Tried::not_yet;
}

template <typename T, typename Core>
typename OrderedQueue<T, Core>::Added OrderedQueue<T, Core>::put_one(T& item, std::int64_t order,
                                                                     const Wait& wait,
                                                                     std::source_location where) {
  const sim::Operation here(*this, "put");
  if (wait.stop.stop_requested()) return this->refuse_add(Refusal::stopped);
  const auto tried = try_put(item, order);
  if (tried == Tried::done) [[likely]]
    return {};
  if (tried == Tried::closed) return this->refuse_add(Refusal::closed);
  PutTurn turn(*this, item, order);
  if (auto refusal = this->producers_.wait(turn, wait, {"put", where})) {
    return turn.refuse(*refusal);
  }
  return turn.finish();
}

template <typename T, typename Core>
typename OrderedQueue<T, Core>::Added OrderedQueue<T, Core>::offer_one(T& item,
                                                                       std::int64_t order) {
  const sim::Operation here(*this, "offer");
  if (sim::refuses()) return this->refuse_add(Refusal::full);
  const auto tried = try_put(item, order);
  if (tried == Tried::done) [[likely]]
    return {};
  return this->refuse_add(tried == Tried::closed ? Refusal::closed : Refusal::full);
}

template <typename T, typename Core>
typename OrderedQueue<T, Core>::Added OrderedQueue<T, Core>::push_one(T& item, std::int64_t order,
                                                                      const Wait& wait,
                                                                      std::source_location where) {
  switch (this->when_full_) {
    case WhenFull::block: return put_one(item, order, wait, where);
    case WhenFull::reject: return offer_one(item, order);
    case WhenFull::drop_oldest: return push_evicting(item, order);
    case WhenFull::drop_newest: break;
  }
  const auto tried = try_put(item, order);
  if (tried == Tried::done) return {};
  if (tried == Tried::closed) return this->refuse_add(Refusal::closed);
  dropped(item);
  return std::unexpected(Refusal::full);
}

template <typename T, typename Core>
typename OrderedQueue<T, Core>::Added OrderedQueue<T, Core>::push_evicting(T& item,
                                                                           std::int64_t order) {
  const sim::Operation here(*this, "push");
  while (true) {
    std::optional<std::size_t> victim;
    std::optional<T> evicted;
    bool added = false;
    std::exception_ptr error;
    {
      Section section(*this);
      if (this->closed_locked()) return this->refuse_add(Refusal::closed);
      const bool full = !this->has_room_locked();
      if (full) victim = this->victim_locked(order);
      try {
        if (victim) evict_locked(section, *victim, evicted);
        // One that has waited beyond the limits goes first; then there may be somebody to evict again.
        if (this->has_room_locked() && !serve_producer_locked(section)) {
          admit_locked(section, item, order);
          added = true;
        }
      } catch (...) {
        error = std::current_exception();
      }
      if (full && !victim) break;
    }
    // Whatever became of the new item, the victim is out.
    if (evicted) {
      dropped(*evicted);
    } else if (victim) {
      this->drops_.note_drop();
    }
    if (error) std::rethrow_exception(error);
    if (added) return {};
  }
  dropped(item);
  return std::unexpected(Refusal::full);
}

template <typename T, typename Core>
void OrderedQueue<T, Core>::evict_locked(Section& section, std::size_t victim,
                                         std::optional<T>& evicted) {
  struct Removal {
    ~Removal() {
      queue.slots_.empty(victim);
      queue.remove_evicted_locked(section, victim);
      queue.forget_locked(section, victim);
    }
    OrderedQueue& queue;
    Section& section;
    std::size_t victim;
  } removal{*this, section, victim};
  evicted.emplace(std::move(slots_[victim]));  // If this throws, the victim is gone all the same.
}

template <typename T, typename Core>
void OrderedQueue<T, Core>::dropped(T& item) {
  this->drops_.note_drop();
  if (on_drop_) on_drop_(item);
}

template <typename T, typename Core>
template <typename OrderOf>
PutAll OrderedQueue<T, Core>::put_each(std::span<T> items, OrderOf order_of, const Wait& wait,
                                       std::source_location where) {
  const sim::Operation here(*this, "put_all");
  PutAll result;
  for (T& item : items) {
    try {
      if (auto put = put_one(item, order_of(item), wait, where); !put) {
        result.refusal = put.error();
        this->count_refused(items.size() - result.accepted - 1);  // That put has counted its own.
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

// -- Taking ---------------------------------------------------------------------------------------

template <typename T, typename Core>
void OrderedQueue<T, Core>::release_locked(Section& section) {
  const auto slot = this->order_.front().slot;
  slots_.empty(slot);
  this->remove_taken_locked(section, slot);
  this->forget_locked(section, slot);
}

template <typename T, typename Core>
void OrderedQueue<T, Core>::give_first_locked(Section& section, TakeTurn& turn) {
  turn.give_to_owner_locked(std::move(slots_[this->order_.front().slot]));
  release_locked(section);
}

template <typename T, typename Core>
bool OrderedQueue<T, Core>::serve_front_locked(Section& section) {
  return this->consumers_.serve_front(
      [&](Turnstile::Turn& turn) { give_first_locked(section, static_cast<TakeTurn&>(turn)); });
}

template <typename T, typename Core>
bool OrderedQueue<T, Core>::serve_line_locked(Section& section) {
  constexpr int most_at_once = 32;  // The lock is held meanwhile.
  for (int served = 0; served < most_at_once; ++served) {
    if (!this->is_ready_locked() || !serve_front_locked(section)) return false;
  }
  return this->is_ready_locked();
}

// Gives the first item to a taker that goes before the caller, if there is one.
template <typename T, typename Core>
bool OrderedQueue<T, Core>::serve_consumer_locked(Section& section, const TakeTurn* self) {
  const bool front_is_first =
      this->alarm_watches_locked() || this->takes_ >= this->consumers_.overtake_limit();
  if (front_is_first && serve_front_locked(section)) return true;
  auto* const first = this->call_first_taker_locked(section, self);
  if (first == nullptr) return false;
  give_first_locked(section, static_cast<TakeTurn&>(*first));
  return true;
}

template <typename T, typename Core>
Tried OrderedQueue<T, Core>::look_locked(Section& section, const TakeTurn* self) {
  while (this->is_ready_locked()) {
    if (!serve_consumer_locked(section, self)) return Tried::done;
  }
  return this->is_over_locked() ? Tried::closed : Tried::not_yet;
}

template <typename T, typename Core>
typename OrderedQueue<T, Core>::Result OrderedQueue<T, Core>::take(const Wait& wait,
                                                                   std::source_location where) {
  const sim::Operation here(*this, "take");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  {
    Section section(*this);
    const auto tried = look_locked(section, nullptr);
    if (tried == Tried::done) [[likely]] {
      TakeOut out(*this, section);
      return Result(std::in_place, out.item());
    }
    if (tried == Tried::closed) return std::unexpected(Refusal::closed);
  }
  TakeTurn turn(*this);
  if (auto refusal = this->wait_for_item(turn, wait, {"take", where})) {
    return turn.refuse(*refusal);
  }
  return turn.finish();
}

template <typename T, typename Core>
typename OrderedQueue<T, Core>::Result OrderedQueue<T, Core>::poll() {
  const sim::Operation here(*this, "poll");
  Section section(*this);
  const auto tried = look_locked(section, nullptr);
  if (tried == Tried::done) [[likely]] {
    TakeOut out(*this, section);
    return Result(std::in_place, out.item());
  }
  return std::unexpected(tried == Tried::closed ? Refusal::closed : Refusal::empty);
}

// Takes out the first item, ready or not, into a vector that has room for it.
template <typename T, typename Core>
void OrderedQueue<T, Core>::take_locked(Section& section, std::vector<T>& items) {
  TakeOut out(*this, section);
  items.push_back(out.item());
}

// Takes what is ready, up to `max` items in all. Memory first, items then: running out of it must not lose one.
template <typename T, typename Core>
void OrderedQueue<T, Core>::fill_up(std::vector<T>& items, std::size_t max) {
  items.reserve(std::min(max, items.size() + this->size()));
  Section section(*this);
  while (items.size() < std::min(max, items.capacity()) &&
         look_locked(section, nullptr) == Tried::done) {
    take_locked(section, items);
  }
}

template <typename T, typename Core>
std::expected<std::vector<T>, Refusal> OrderedQueue<T, Core>::take_some(
    std::size_t max, const Wait& wait, std::source_location where) {
  const sim::Operation here(*this, "take_some");
  std::vector<T> items;
  if (max == 0) return items;
  items.reserve(1);
  auto first = take(wait, where);
  if (!first) return std::unexpected(first.error());
  items.push_back(std::move(*first));
  if constexpr (std::is_nothrow_move_constructible_v<T>) {
    try {
      fill_up(items, max);
    } catch (const std::bad_alloc&) {  // One will do.
    }
  }
  return items;
}

template <typename T, typename Core>
std::vector<T> OrderedQueue<T, Core>::drain()
  requires std::is_nothrow_move_constructible_v<T>
{
  std::vector<T> items;
  while (true) {
    items.reserve(items.size() + this->size());  // Before an item is touched, and without the lock.
    Section section(*this);
    look_locked(section, nullptr);  // Who goes first still goes first.
    while (!this->order_.is_empty() && items.size() < items.capacity()) {
      take_locked(section, items);
    }
    if (this->order_.is_empty()) return items;
  }
}

template <typename T, typename Core>
template <typename Sink>
std::size_t OrderedQueue<T, Core>::drain(Sink sink) {
  const auto take_first = [&]() -> std::optional<T> {
    Section section(*this);
    look_locked(section, nullptr);
    if (this->order_.is_empty()) return std::nullopt;
    TakeOut out(*this, section);
    return std::optional<T>(out.item());
  };
  std::size_t count = 0;
  while (auto item = take_first()) {
    ++count;
    sink(std::move(*item));
  }
  return count;
}

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
