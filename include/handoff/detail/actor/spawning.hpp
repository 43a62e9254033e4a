// Making actors, finding them, and what a base class of theirs knows.
#pragma once

#include <expected>
#include <memory>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include "handoff/actor_info.hpp"
#include "handoff/actor_ref.hpp"
#include "handoff/detail/actor/sending.hpp"
#include "handoff/detail/actor/system_core.hpp"
#include "handoff/detail/actor/typed_cell.hpp"
#include "handoff/future.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

template <typename Self, typename... Messages>
class Actor;

namespace detail {

template <typename A>
concept IsActor = requires { typename A::Messages; };

// Says what is wrong with a message, by name.
template <typename M>
struct CheckedMessage {
  static_assert(std::same_as<M, std::remove_cvref_t<M>> && std::is_object_v<M>,
                "a message is a value: not a reference, not const");
  static_assert(std::is_move_constructible_v<M>, "a message must be movable");
  static_assert(!refers_to_others<M>(),
                "a message holds a pointer, a reference, a view or a const member: it may outlive "
                "what that refers to. Hold a "
                "value or a shared_ptr, or say that it is well: template <> inline constexpr bool "
                "handoff::may_refer<M> = true;");
  static constexpr bool ok = true;
};

class ActorBase {
 protected:
  ActorBase() : cell_(cell_of_new_actor()) {}
  ~ActorBase() = default;
  // Another object is another actor, or none.
  ActorBase(const ActorBase&) : ActorBase() {}
  ActorBase& operator=(const ActorBase&) { return *this; }

  ActorCell& own_cell() const {
    if (cell_ == nullptr) {
      throw std::logic_error("this actor was not made by spawn(), and has no system");
    }
    return *cell_;
  }

 private:
  static ActorCell* cell_of_new_actor();

  ActorCell* const cell_;
};

template <typename A, typename... Ms>
constexpr void check_handlers(MessageList<Ms...>) {
  if constexpr (HasStates<A>) {
    static_assert(((HandlesMoved<A, Ms> ||
                    some_state_handles<Ms>(static_cast<typename A::States*>(nullptr))) &&
                   ...),
                  "an actor needs a handler on(M), or a state with one, for each message M in its "
                  "list; is it public?");
  } else {
    static_assert((HandlesMoved<A, Ms> && ...),
                  "an actor needs a handler on(M) for each message M in its list; is it public?");
  }
}

template <typename A, typename... Args>
ActorRef<A> spawn_actor(SystemCore& system, ActorCell* parent, const ActorOptions& options,
                        Args&&... args) {
  check_handlers<A>(typename A::Messages());
  constexpr bool can_be_made = std::is_constructible_v<A, const std::decay_t<Args>&...>;
  static_assert(can_be_made,
                "the arguments of an actor are kept, and copied into its constructor, so that it "
                "can be restarted: pass values "
                "that can be copied, or a shared_ptr");
  AnyRef ref;
  if constexpr (can_be_made) {
    using Cell = TypedCell<A, std::decay_t<Args>...>;
    const SpawnSettings settings = system.settings_of(options, actor_type<A>);
    ref = AnyRef(new Cell(system, parent, settings, std::forward<Args>(args)...));
    system.take_in(*ref.get(), options);
  }
  return ActorRef<A>(std::move(ref));
}

template <typename A>
std::optional<ActorRef<A>> find_actor(SystemCore& system, std::string_view path) {
  AnyRef ref(system.find(path));
  if (ref.get() == nullptr || &ref.get()->type() != &actor_type<A>) return std::nullopt;
  return ActorRef<A>(std::move(ref));
}

// Is completed when the actor has stopped.
Future<Terminated> watch_from_outside(ActorCell* cell, std::source_location where);

// Throws, and gives the reply back, if the answer would be of another type.
void check_answer_type(ActorCell& cell, ReplyCore* reply, const void* type);
template <typename R>
void check_answer_type(ActorCell& cell, ReplyCore* reply) {
  check_answer_type(cell, reply, &type_tag<R>);
}

template <typename To, typename M>
std::expected<void, Refusal> forward_message(ActorCell& from, const To& to, M&& message,
                                             ReplyCore* reply, std::source_location where) {
  using Type = std::remove_cvref_t<M>;
  const auto construct = [&message](void* place) {
    Stored<Type>::construct(place, std::forward<M>(message));
  };
  std::optional<Refusal> refusal = Refusal::closed;
  try {
    if (ActorCell* const cell = to.cell()) {
      refusal = cell->push(to.template handler_for<Type>(), reply, Waits::by_outbox, {}, where,
                           construct);
    }
  } catch (...) {
    from.give_back_reply(reply);
    throw;
  }
  if (!refusal) return {};
  from.give_back_reply(reply);
  return std::unexpected(*refusal);
}

// An actor that is a function of one kind of message: how it takes it.
template <typename F>
struct TakenBy;
template <typename F, typename R, typename Given>
struct TakenBy<R (F::*)(Given)> {
  using Type = Given;
};
template <typename F, typename R, typename Given>
struct TakenBy<R (F::*)(Given) const> : TakenBy<R (F::*)(Given)> {};
template <typename F, typename R, typename Given>
struct TakenBy<R (F::*)(Given) noexcept> : TakenBy<R (F::*)(Given)> {};
template <typename F, typename R, typename Given>
struct TakenBy<R (F::*)(Given) const noexcept> : TakenBy<R (F::*)(Given)> {};

template <typename F>
concept TakesOneMessage = requires { typename TakenBy<decltype(&F::operator())>::Type; };

template <typename F>
using GivenTo = typename TakenBy<decltype(&F::operator())>::Type;

template <typename F>
class FunctionActor;
template <typename F>
using FunctionActorBase = Actor<FunctionActor<F>, std::remove_cvref_t<GivenTo<F>>>;

}  // namespace detail
}  // namespace handoff::inline HANDOFF_FLAVOUR
