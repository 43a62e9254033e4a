// Actors: objects with a private state and a mailbox, each of which handles one message at a time.
//
//   struct Deposit { std::int64_t cents; };
//   struct Balance { using Reply = std::int64_t; };                   // a message may name its answer
//
//   class Account : public handoff::Actor<Account, Deposit, Balance> {
//    public:
//     void on(Deposit deposit) { cents_ += deposit.cents; }
//     std::int64_t on(Balance) { return cents_; }
//    private:
//     std::int64_t cents_ = 0;                                         // no lock: nobody else is here
//   };
//
//   handoff::ActorSystem system{{.workers = 8, .name = "bank"}};
//   auto account = system.spawn<Account>({.name = "accounts/42"});     // ActorRef<Account>
//   account.send(Deposit{500});
//   auto cents = account.ask(Balance{}, 1s);
//   auto report = system.shutdown(handoff::finish_within(30s));
//
// A handler is `on(M)`, which takes the message by value or by reference to const. It returns nothing, the message's Reply, or a Lazy of either: then it
// is a coroutine, and may co_await. While it is suspended the actor takes no other message, unless its class says `static constexpr bool
// reentrant = true;`. A handler for a message with a Reply that returns void answers by reply_later() or forward().
//
// What you can rely on:
// - One message at a time; never two threads inside an actor. What one handler did is seen by the next.
// - Messages from one sender to one actor are handled in the order they were sent; by priority first, if messages have `static constexpr int priority`.
// - A send that returned success is handled once, becomes a dead letter (counted, hooked, logged at a bounded rate), or is handed back by
//   shutdown(). Never two of these.
// - Mailboxes are bounded: 1000 messages unless said otherwise, that wait for their handler to begin. An empty one takes no memory.
// - Full, by options.mailbox.when_full: `block` lets threads wait, and coroutines by async_send(). A plain handler does not wait: its message goes to its actor's outbox,
//   and that actor takes no further message until it is gone. If actors would wait for room at each other in a ring, the last is refused with `full`.
// - What must arrive does not go through the mailbox: stops, ends of those that are watched, failures, timers. It may overtake messages.
// - A busy actor lets others run after 64 messages. An actor that has nothing to do costs no CPU, and about 250 bytes.
// - Actors that ask each other in a ring are told `deadlock`, and the ring is reported (see lock_order.hpp).
//
// What you cannot rely on: an order between messages of different senders; that a message was handled because send() returned.
//
// Messages are values. One that holds a pointer, a reference or a view is refused by the compiler, as far as it can see: see may_refer.
//
// Thread safety: ActorSystem, ActorRef: any member, any thread. What Actor offers is for the actor's own handlers.
// Visibility: all that was done before send() is seen by the handler.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/actor_info.hpp"
#include "handoff/actor_ref.hpp"
#include "handoff/ask.hpp"
#include "handoff/detail/actor/self_message.hpp"
#include "handoff/detail/actor/spawning.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/actor/typed_cell.hpp"
#include "handoff/detail/actor/watching.hpp"
#include "handoff/future.hpp"
#include "handoff/shutdown.hpp"
#include "handoff/supervision.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// The base of every actor's class. Messages: all it takes.
template <typename Self, typename... Messages_>
class Actor : private detail::ActorBase {
  static_assert(sizeof...(Messages_) > 0, "an actor takes at least one kind of message");
  static_assert((detail::CheckedMessage<Messages_>::ok && ...));

 public:
  using Messages = detail::MessageList<Messages_...>;

 protected:
  Actor() = default;
  ~Actor() = default;

  // -- Itself ------------------------------------------------------------------------------------

  // Also in its constructor. All of these throw std::logic_error if it was made by anything but spawn().
  ActorRef<Self> self() const {
    own_cell().add_reference();
    return ActorRef<Self>(detail::AnyRef(&own_cell()));
  }
  std::string path() const { return own_cell().path(); }
  // After this message. What is in its mailbox becomes dead letters.
  void stop() { own_cell().request_stop(detail::ActorCell::Stop::now); }
  void stop_when_drained() { own_cell().request_stop(detail::ActorCell::Stop::drained); }

  // From now on these handlers come first; for messages that the state has none for, the actor's own; if it has none, it is a dead letter. States
  // are listed by the class: using States = std::tuple<LoggingIn, Chatting>.
  template <typename State>
  void become(State state) {
    static_assert(
        detail::is_state_of<Self, State>,
        "this is no state of the actor: list it in its class, using States = std::tuple<...>;");
    using Behaviour = detail::StateBehaviour<Self, State>;
    own_cell().extras().behaviour = std::make_shared<Behaviour>(std::move(state));
  }

  // -- Others ------------------------------------------------------------------------------------

  // A child: it is stopped before this one is, and this one's policy decides when it fails.
  template <typename Child, typename... Args>
  ActorRef<Child> spawn(const ActorOptions& options = {}, Args&&... args) {
    return detail::spawn_actor<Child>(own_cell().system(), &own_cell(), options,
                                      std::forward<Args>(args)...);
  }
  template <typename Other>
  std::optional<ActorRef<Other>> find(std::string_view path) const {
    return detail::find_actor<Other>(own_cell().system(), path);
  }

  // on(Terminated) is called once that one, an ActorRef or an Address, has stopped: soon, if it has.
  template <typename Other>
  void watch(const detail::Reachable<Other>& other) {
    static_assert(detail::HandlesMoved<Self, Terminated>,
                  "to watch another, an actor needs a handler on(Terminated)");
    if constexpr (detail::HandlesMoved<Self, Terminated>) {  // Else the compiler has more to say.
      const auto tell = [](detail::ActorCell& cell, const Terminated& end) {
        detail::ReplyCore* nobody = nullptr;
        detail::call_handler<Terminated>(cell, *static_cast<Self*>(cell.object()), Terminated(end),
                                         nobody);
      };
      if (other.cell() == nullptr) return;
      detail::watch(std::make_shared<detail::Watch>(*other.cell(), &own_cell(), tell));
    }
  }
  template <typename Other>
  void unwatch(const detail::Reachable<Other>& other) {
    if (other.cell() != nullptr) detail::unwatch(own_cell(), *other.cell());
  }

  // -- Later -------------------------------------------------------------------------------------

  // A message to itself after this time, or again and again. It needs no room in the mailbox, and ends with the actor and its restart. Those of every() that were
  // missed while it was busy are skipped.
  template <typename M, typename Rep, typename Period>
  SelfTimerHandle after(std::chrono::duration<Rep, Period> delay, M message) {
    return detail::arm_self<Self>(own_cell(), std::move(message), within(delay).when(),
                                  Duration::zero());
  }
  template <typename M, typename Rep, typename Period>
  SelfTimerHandle every(std::chrono::duration<Rep, Period> period, M message) {
    const Duration time = detail::checked_period(detail::saturated(period));
    return detail::arm_self<Self>(own_cell(), std::move(message), within(time).when(), time);
  }

  // -- Answers -----------------------------------------------------------------------------------

  // The answer to the message in hand, M, to be given later. Not awaited if that was sent and not asked.
  template <typename M>
  ReplyTo<detail::ReplyOf<M>> reply_later() {
    using R = detail::ReplyOf<M>;
    detail::ReplyCore* const reply = own_cell().take_reply_of_current();
    if (reply == nullptr) return {};
    detail::check_answer_type<R>(own_cell(), reply);
    return ReplyTo<R>(static_cast<detail::ReplyState<R>*>(reply));
  }

  // Another actor answers the message in hand: `message` goes to it, with whom to answer. Refused as send() is; then the answer is still this
  // one's to give. Throws std::logic_error if the two messages have different answers.
  template <typename To, typename M>
  std::expected<void, Refusal> forward(
      const To& to, M&& message, std::source_location where = std::source_location::current()) {
    using R = detail::ReplyOf<std::remove_cvref_t<M>>;
    detail::ActorCell& cell = own_cell();
    detail::ReplyCore* const reply = cell.take_reply_of_current();
    if (reply == nullptr) return to.send(std::forward<M>(message), {}, where);
    detail::check_answer_type<R>(cell, reply);
    return detail::forward_message(cell, to, std::forward<M>(message), reply, where);
  }
};

namespace detail {
template <typename F>
class FunctionActor final : public FunctionActorBase<F> {
 public:
  explicit FunctionActor(const F& function) : function_(function) {}
  auto on(GivenTo<F> message) { return function_(std::forward<GivenTo<F>>(message)); }

 private:
  F function_;
};
}  // namespace detail

// -- The system -----------------------------------------------------------------------------------

class ActorSystem {
 public:
  // With workers of its own. Throws std::invalid_argument if an option makes no sense.
  explicit ActorSystem(const SystemOptions& options = {}, SystemHooks hooks = {})
      : core_(std::make_unique<detail::SystemCore>(options, std::move(hooks), nullptr)) {}
  // On the workers of a pool, which must outlive it.
  explicit ActorSystem(WorkerPool& pool, const SystemOptions& options = {}, SystemHooks hooks = {})
      : core_(std::make_unique<detail::SystemCore>(options, std::move(hooks), &pool)) {}
  // Interrupts, as shutdown(interrupt()) does, and waits for all actors however long that takes. What they did not come to is lost, with a line in the log.
  ~ActorSystem() = default;

  // Makes an actor of the arguments, which are kept for restarts. Throws what its constructor throws, and std::invalid_argument if there is one of that
  // name or an option makes no sense. Once the system is shut down, what is returned has stopped already.
  template <typename A, typename... Args>
    requires detail::IsActor<A>
  ActorRef<A> spawn(const ActorOptions& options = {}, Args&&... args) {
    return detail::spawn_actor<A>(*core_, nullptr, options, std::forward<Args>(args)...);
  }
  // An actor of a function, which takes one kind of message: spawn([total = 0](Add add) mutable { ... }).
  template <typename F>
    requires(!detail::IsActor<F>)
  auto spawn(F function, const ActorOptions& options = {}) {
    static_assert(detail::TakesOneMessage<F>,
                  "an actor of a function takes one kind of message, by value or by reference to "
                  "const, and names its type");
    if constexpr (detail::TakesOneMessage<F>) {
      return detail::spawn_actor<detail::FunctionActor<F>>(*core_, nullptr, options,
                                                           std::move(function));
    }
  }

  // By its path. Nothing if there is none of that name, or it is of another class.
  template <typename A>
  std::optional<ActorRef<A>> find(std::string_view path) const {
    return detail::find_actor<A>(*core_, path);
  }

  // Is ready once that one, an ActorRef or an Address, has stopped.
  template <typename Other>
  Future<Terminated> watch(const detail::Reachable<Other>& actor,
                           std::source_location where = std::source_location::current()) {
    return detail::watch_from_outside(actor.cell(), where);
  }

  // All who live now, as a tree, the oldest first. It may be stale by the time it is read.
  std::vector<ActorInfo> inspect() const { return core_->inspect(); }
  std::size_t size() const { return core_->alive(); }

  // Messages that were accepted and could not be handled: how many, and the last of them.
  std::uint64_t dead_letter_count() const { return core_->dead_letter_count(); }
  std::vector<DeadLetterNote> dead_letters() const { return core_->dead_letters(); }
  // Messages that full mailboxes have refused or evicted, by drop_newest and drop_oldest.
  std::uint64_t dropped() const { return core_->dropped(); }

  // Stops all actors, parents before their children, and reports. finish_within(30s): each handles what it has accepted; what is left then is handed back.
  // interrupt(): each stops after the message it is at, and waits in coroutines are ended. Throws std::logic_error if an actor of the system calls it.
  ActorShutdownReport shutdown(const Shutdown& how) { return core_->shutdown(how); }

 private:
  const std::unique_ptr<detail::SystemCore> core_;
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
