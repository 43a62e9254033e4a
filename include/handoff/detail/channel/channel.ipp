// The bodies of Channel<T>. See channel.hpp for what they promise, channel_core.hpp for the invariants.
#pragma once

#include <new>

namespace handoff::inline HANDOFF_FLAVOUR {

// -- Operations that may have to wait -------------------------------------------------------------

template <typename T>
class Channel<T>::SendOperation final : public detail::ChannelOperation {
 public:
  SendOperation(Channel& channel, T& item)
      : ChannelOperation(channel, detail::ChannelSide::send), channel_(channel), parcel_(item) {}

  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) {
      refusal_ = Refusal::stopped;
      return true;
    }
    // If it looks as if there was no room, begin() has the look that counts.
    if (!channel_.may_go_on(detail::ChannelSide::send)) return false;
    Wakes wakes;
    detail::SmallGuard guard(channel_.lock_);
    return finish_attempt(channel_.send_locked(parcel_.item(), wakes));
  }
  Sent result() {
    if (refusal_) return channel_.refuse_send(*refusal_);
    parcel_.finish();
    return {};
  }

 private:
  Tried attempt_locked(Wakes& wakes) override {
    return channel_.send_locked(parcel_.item(), wakes);
  }
  void* cell() override { return &parcel_; }

  Channel& channel_;
  Parcel parcel_;
};

template <typename T>
class Channel<T>::ReceiveOperation final : public detail::ChannelOperation {
 public:
  explicit ReceiveOperation(Channel& channel)
      : ChannelOperation(channel, detail::ChannelSide::receive), channel_(channel) {}

  bool ready(const std::stop_token& stop) {
    if (stop.stop_requested()) {
      refusal_ = Refusal::stopped;
      return true;
    }
    if (!channel_.may_go_on(detail::ChannelSide::receive)) return false;
    Wakes wakes;
    detail::SmallGuard guard(channel_.lock_);
    return finish_attempt(channel_.receive_locked(landing_, wakes));
  }
  Result result() {
    if (refusal_) return std::unexpected(*refusal_);
    return landing_.unload();
  }

 private:
  Tried attempt_locked(Wakes& wakes) override { return channel_.receive_locked(landing_, wakes); }
  void* cell() override { return &landing_; }

  Channel& channel_;
  Landing landing_;
};

// -- Cases of a select ----------------------------------------------------------------------------

// Item: T& for one that stays with its owner, T for a copy of the case's own.
template <typename T>
template <typename Item, typename F>
class Channel<T>::SendClause {
 public:
  using Case = SendCase<Item, F>;

  template <typename Given>
  SendClause(Channel& channel, Given& item, F&& handler, std::source_location where)
      : channel_(channel), item_(item), handler_(std::move(handler)), where_(where) {}
  const std::source_location& where() const { return where_; }

 private:
  friend Case;
  Channel& channel_;
  Item item_;
  F handler_;
  std::source_location where_;
};

template <typename T>
template <typename Item, typename F>
class Channel<T>::SendCase final : public detail::ChannelCase {
 public:
  explicit SendCase(SendClause<Item, F>&& clause)
      : ChannelCase(clause.channel_, detail::ChannelSide::send, &parcel_, clause.where_),
        channel_(clause.channel_),
        item_(std::forward<Item>(clause.item_)),
        parcel_(item_),
        handler_(std::move(clause.handler_)) {}

  bool attempt_locked(Wakes& wakes) override {
    return finish_attempt(channel_.send_locked(parcel_.item(), wakes));
  }
  std::optional<Refusal> finish() override {
    if (take_is_closed()) {
      return detail::handle(handler_, Sent(channel_.refuse_send(Refusal::closed)));
    }
    parcel_.finish();
    return detail::handle(handler_, Sent());
  }

 private:
  Channel& channel_;
  Item item_;
  Parcel parcel_;
  F handler_;
};

template <typename T>
template <typename F>
class Channel<T>::ReceiveClause {
 public:
  using Case = ReceiveCase<F>;

  ReceiveClause(Channel& channel, F&& handler, std::source_location where)
      : channel_(channel), handler_(std::move(handler)), where_(where) {}
  const std::source_location& where() const { return where_; }

 private:
  friend Case;
  Channel& channel_;
  F handler_;
  std::source_location where_;
};

template <typename T>
template <typename F>
class Channel<T>::ReceiveCase final : public detail::ChannelCase {
 public:
  explicit ReceiveCase(ReceiveClause<F>&& clause)
      : ChannelCase(clause.channel_, detail::ChannelSide::receive, &landing_, clause.where_),
        channel_(clause.channel_),
        handler_(std::move(clause.handler_)) {}

  bool attempt_locked(Wakes& wakes) override {
    return finish_attempt(channel_.receive_locked(landing_, wakes));
  }
  std::optional<Refusal> finish() override {
    return detail::handle(
        handler_, take_is_closed() ? Result(std::unexpect, Refusal::closed) : landing_.unload());
  }

 private:
  Channel& channel_;
  Landing landing_;
  F handler_;
};

// -- Construction ---------------------------------------------------------------------------------

template <typename T>
Channel<T>::Channel(ChannelOptions options) : ChannelCore(options, sizeof(T)), slots_(capacity_) {
  static_assert(std::is_move_constructible_v<T>, "items are moved in and out");
  enter_if_named();
}

template <typename T>
Channel<T>::~Channel() {
  retire();
  for (; size_locked() > 0; removed_locked()) slots_.empty(head_);
}

// -- Sending --------------------------------------------------------------------------------------

template <typename T>
inline typename Channel<T>::Tried Channel<T>::send_locked(T& item, Wakes& wakes) {
  if (closed_locked()) [[unlikely]]
    return Tried::closed;
  if (receivers_.has_waiters() && send_to_waiting_locked(item, wakes)) return Tried::done;
  if (size_locked() == capacity_) return Tried::not_yet;
  slots_.fill(tail_locked(), std::move(item));  // If it throws, nothing has happened.
  added_locked();
  return Tried::done;
}

template <typename T>
bool Channel<T>::send_to_waiting_locked(T& item, Wakes& wakes) {
  auto* const receiver = receivers_.claim_first_locked(wakes);
  if (receiver == nullptr) return false;
  static_cast<Landing*>(receiver->cell)->take(std::move(item));
  ++puts_;
  return true;
}

template <typename T>
typename Channel<T>::Sent Channel<T>::try_send(T&& item) {
  const detail::sim::Operation here(*this, "try_send");
  if (detail::sim::refuses()) return refuse_send(Refusal::full);
  const auto tried = [&] {
    Wakes wakes;
    detail::SmallGuard guard(lock_);
    return send_locked(item, wakes);
  }();
  if (tried == Tried::done) [[likely]]
    return {};
  return refuse_send(tried == Tried::closed ? Refusal::closed : Refusal::full);
}

template <typename T>
typename Channel<T>::Sent Channel<T>::send(T&& item, const Wait& wait, std::source_location where) {
  const detail::sim::Operation here(*this, "send");
  if (wait.stop.stop_requested()) return refuse_send(Refusal::stopped);
  const auto tried = [&] {
    Wakes wakes;
    detail::SmallGuard guard(lock_);
    return send_locked(item, wakes);
  }();
  if (tried == Tried::done) [[likely]]
    return {};
  if (tried == Tried::closed) return refuse_send(Refusal::closed);
  return send_waiting(item, wait, where);
}

template <typename T>
typename Channel<T>::Sent Channel<T>::send_waiting(T& item, const Wait& wait,
                                                   std::source_location where) {
  if (wait.deadline.has_passed()) return refuse_send(Refusal::timed_out);
  SendOperation operation(*this, item);
  detail::ThreadWaiter waiter(wait, {"send", where});
  take_steps(waiter, operation);
  return operation.result();
}

// -- Receiving ------------------------------------------------------------------------------------

template <typename T>
inline typename Channel<T>::Tried Channel<T>::receive_locked(Landing& landing, Wakes& wakes) {
  if (size_locked() > 0) [[likely]] {
    landing.take(std::move(slots_[head_]));
    slots_.empty(head_);
    removed_locked();
    if (senders_.has_waiters()) fill_from_waiting_locked(wakes);
    return Tried::done;
  }
  if (senders_.has_waiters() && receive_from_waiting_locked(landing, wakes)) return Tried::done;
  return closed_locked() ? Tried::closed : Tried::not_yet;
}

// The room goes to the sender that has waited longest, or if its item's move throws, to the next.
template <typename T>
void Channel<T>::fill_from_waiting_locked(Wakes& wakes) {
  while (auto* const sender = senders_.claim_first_locked(wakes)) {
    const bool filled = static_cast<Parcel*>(sender->cell)->put([&](T&& item) {
      slots_.fill(tail_locked(), std::move(item));
    });
    if (filled) return added_locked();
  }
}

template <typename T>
bool Channel<T>::receive_from_waiting_locked(Landing& landing, Wakes& wakes) {
  auto* const sender = senders_.claim_first_locked(wakes);
  if (sender == nullptr) return false;
  landing.take(std::move(static_cast<Parcel*>(sender->cell)->item()));
  ++puts_;
  return true;
}

template <typename T>
typename Channel<T>::Result Channel<T>::try_receive() {
  const detail::sim::Operation here(*this, "try_receive");
  Landing landing;
  const auto tried = [&] {
    Wakes wakes;
    detail::SmallGuard guard(lock_);
    return receive_locked(landing, wakes);
  }();
  if (tried == Tried::done) [[likely]]
    return landing.unload();
  return std::unexpected(tried == Tried::closed ? Refusal::closed : Refusal::empty);
}

template <typename T>
typename Channel<T>::Result Channel<T>::receive(const Wait& wait, std::source_location where) {
  const detail::sim::Operation here(*this, "receive");
  if (wait.stop.stop_requested()) return std::unexpected(Refusal::stopped);
  Landing landing;
  const auto tried = [&] {
    Wakes wakes;
    detail::SmallGuard guard(lock_);
    return receive_locked(landing, wakes);
  }();
  if (tried == Tried::done) [[likely]]
    return landing.unload();
  if (tried == Tried::closed) return std::unexpected(Refusal::closed);
  return receive_waiting(wait, where);
}

template <typename T>
typename Channel<T>::Result Channel<T>::receive_waiting(const Wait& wait,
                                                        std::source_location where) {
  if (wait.deadline.has_passed()) return std::unexpected(Refusal::timed_out);
  ReceiveOperation operation(*this);
  detail::ThreadWaiter waiter(wait, {"receive", where});
  take_steps(waiter, operation);
  return operation.result();
}

template <typename T>
std::vector<T> Channel<T>::drain()
  requires std::is_nothrow_move_constructible_v<T>
{
  std::vector<T> items;
  while (true) {
    // Memory first, items then: running out of it must not lose one.
    items.reserve(items.size() + size() + 1);
    while (items.size() < items.capacity()) {
      auto item = try_receive();
      if (!item) return items;
      items.push_back(std::move(*item));
    }
  }
}

template <typename T>
template <typename Sink>
std::size_t Channel<T>::drain(Sink sink) {
  for (std::size_t count = 0;; ++count) {
    auto item = try_receive();
    if (!item) return count;
    sink(std::move(*item));
  }
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
