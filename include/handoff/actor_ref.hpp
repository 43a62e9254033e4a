// The address of an actor: how others reach it.
//
//   account.send(Deposit{500});                                // std::expected<void, Refusal>
//   auto cents = account.ask(Balance{}, 1s);                   // std::expected<std::int64_t, AskError>: from a thread or a handler
//   auto cents = co_await account.async_ask(Balance{}, 1s);    // from a coroutine, without a thread
//   account.stop();
//
//   handoff::Address<Deposit, Balance> bank = account;         // any actor that takes these messages
//
//            by the mailbox's policy   waits for the answer   awaits
//   send     send(message)                                    async_send(message)
//   ask                                ask(message, 1s)       async_ask(message, 1s)
//
// Sending what the actor does not take does not compile. A refused message is untouched, still the caller's. A message to one that has stopped is
// refused with `closed`, and so is a question, at once.
//
// Thread safety: as a value; what it refers to, from any thread. It may outlive the actor and the system.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "handoff/ask.hpp"
#include "handoff/detail/actor/sending.hpp"
#include "handoff/detail/actor/typed_cell.hpp"
#include "handoff/lazy.hpp"
#include "handoff/refusal.hpp"
#include "handoff/wait.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename A>
class ActorRef;

namespace detail {

template <typename A, typename M>
inline constexpr bool accepts = A::Messages::template has<M>;

template <typename M>
constexpr void check_reply() {
  static_assert(HasReply<M>,
                "this message has no answer: give it one with `using Reply = ...;`, or send() it");
}

// What an ActorRef and an Address have in common. Derived has handler<M>(), which is what the actor does with that message.
template <typename Derived>
class Reachable {
  using Where = std::source_location;

 public:
  // Waits, if it does, by `wait`. In a handler it does not wait: its message does, see actor.hpp.
  template <typename M>
  std::expected<void, Refusal> send(M&& message, const Wait& wait = {},
                                    Where where = Where::current()) const {
    using Type = std::remove_cvref_t<M>;
    if constexpr (Derived::template takes<Type>()) {
      return send_message(ref_.get(), handler<Type>(), std::forward<M>(message), wait, where);
    } else {
      return std::unexpected(Refusal::closed);
    }
  }

  // Waits for the answer, for so long at most.
  template <typename M, typename Rep, typename Period>
  [[nodiscard]] auto ask(M&& message, std::chrono::duration<Rep, Period> timeout,
                         Where where = Where::current()) const {
    return ask(std::forward<M>(message), {.deadline = within(timeout)}, where);
  }
  template <typename M>
  [[nodiscard]] auto ask(M&& message, const Wait& wait, Where where = Where::current()) const {
    using Type = std::remove_cvref_t<M>;
    if constexpr (Derived::template takes<Type>()) {
      check_reply<Type>();
      return ask_message(ref_.get(), handler<Type>(), std::forward<M>(message), wait, where);
    }
  }

  // co_await gives what send() returns. The message is moved or copied now, and sent when it is awaited.
  template <typename M>
  [[nodiscard]] auto async_send(M&& message, Deadline deadline = {},
                                Where where = Where::current()) const {
    using Type = std::remove_cvref_t<M>;
    if constexpr (Derived::template takes<Type>()) {
      return send_later<Type>(ref_, handler<Type>(), Type(std::forward<M>(message)), nullptr,
                              deadline, where);
    }
  }
  // co_await gives what ask() returns.
  template <typename M, typename Rep, typename Period>
  [[nodiscard]] auto async_ask(M&& message, std::chrono::duration<Rep, Period> timeout,
                               Where where = Where::current()) const {
    using Type = std::remove_cvref_t<M>;
    if constexpr (Derived::template takes<Type>()) {
      check_reply<Type>();
      return ask_later<Type>(ref_, handler<Type>(), Type(std::forward<M>(message)),
                             coarse_deadline(saturated(timeout)), where);
    }
  }

  // After the message it is at. What is in its mailbox becomes dead letters.
  void stop() const {
    if (ref_.get() != nullptr) ref_.get()->request_stop(ActorCell::Stop::now);
  }
  // After the messages it has accepted. From now on it refuses others.
  void stop_when_drained() const {
    if (ref_.get() != nullptr) ref_.get()->request_stop(ActorCell::Stop::drained);
  }
  // It has handled its last message, and is gone. Who sees that sees what it did.
  bool is_stopped() const { return ref_.get() == nullptr || ref_.get()->is_stopped(); }

  // Refers to an actor, which may have stopped.
  explicit operator bool() const { return ref_.get() != nullptr; }
  std::uint64_t id() const { return ref_.get() == nullptr ? 0 : ref_.get()->id(); }
  // Its name after its parents': "shop/carts/7".
  std::string path() const { return ref_.get() == nullptr ? std::string() : ref_.get()->path(); }

  // Not for users.
  ActorCell* cell() const { return ref_.get(); }
  template <typename M>
  const MessageHandler& handler_for() const {
    static_assert(Derived::template takes<M>());
    return handler<M>();
  }

 protected:
  Reachable() = default;
  explicit Reachable(AnyRef ref) : ref_(std::move(ref)) {}
  ~Reachable() = default;
  Reachable(const Reachable&) = default;
  Reachable(Reachable&&) = default;
  Reachable& operator=(const Reachable&) = default;
  Reachable& operator=(Reachable&&) = default;

  AnyRef ref_;

 private:
  template <typename M>
  const MessageHandler& handler() const {
    return static_cast<const Derived&>(*this).template handler_of<M>();
  }
};

}  // namespace detail

template <typename A>
class ActorRef : public detail::Reachable<ActorRef<A>> {
  using Base = detail::Reachable<ActorRef<A>>;

 public:
  ActorRef() = default;  // Of nobody: refuses with `closed`.
  explicit ActorRef(detail::AnyRef ref) : Base(std::move(ref)) {}  // Not for users.

  friend bool operator==(const ActorRef& one, const ActorRef& other) {
    return one.cell() == other.cell();
  }

 private:
  friend Base;
  template <typename M>
  static constexpr bool takes() {
    static_assert(detail::accepts<A, M>,
                  "this actor does not take this message: it is not in the list of its Actor<...>");
    return detail::accepts<A, M>;
  }
  template <typename M>
  const detail::MessageHandler& handler_of() const {
    return detail::message_handler<A, M>;
  }
};

// Any actor that takes these messages, whatever its class.
template <typename... Ms>
class Address : public detail::Reachable<Address<Ms...>> {
  using Base = detail::Reachable<Address<Ms...>>;

 public:
  Address() = default;
  template <typename A>
    requires(detail::accepts<A, Ms> && ...)
  Address(const ActorRef<A>& actor)  // NOLINT: implicit
      : Base(detail::AnyRef(actor.cell())), handlers_{&detail::message_handler<A, Ms>...} {
    if (actor.cell() != nullptr) actor.cell()->add_reference();
  }

  friend bool operator==(const Address& one, const Address& other) {
    return one.cell() == other.cell();
  }

 private:
  friend Base;
  template <typename M>
  static constexpr bool takes() {
    static_assert((std::same_as<M, Ms> || ...), "this Address does not take this message");
    return (std::same_as<M, Ms> || ...);
  }
  template <typename M>
  const detail::MessageHandler& handler_of() const {
    constexpr std::array is_this{std::same_as<M, Ms>...};
    std::size_t position = 0;
    while (!is_this[position]) ++position;
    return *handlers_[position];
  }

  std::array<const detail::MessageHandler*, sizeof...(Ms)> handlers_{};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
