// An actor with its type: what it does with each message, and how it is made.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "handoff/detail/actor/cell.hpp"
#include "handoff/detail/actor/extras.hpp"
#include "handoff/detail/actor/handler_task.hpp"
#include "handoff/detail/actor/message_check.hpp"
#include "handoff/detail/actor/reply_state.hpp"
#include "handoff/detail/coro/is_lazy.hpp"
#include "handoff/lazy.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::detail {

template <typename... Ms>
struct MessageList {
  template <typename M>
  static constexpr bool has = (std::same_as<Ms, M> || ...);
  static constexpr std::size_t largest =
      std::max({std::size_t{8}, sizeof(typename Stored<Ms>::Type)...});
};

// -- Replies --------------------------------------------------------------------------------------

template <typename M>
concept HasReply = requires { typename M::Reply; };

template <typename M>
struct ReplyType {
  using Type = void;
};
template <HasReply M>
struct ReplyType<M> {
  using Type = typename M::Reply;
};
template <typename M>
using ReplyOf = typename ReplyType<M>::Type;

// -- Priorities -----------------------------------------------------------------------------------

template <typename M>
constexpr int priority_of() {
  if constexpr (requires { M::priority; }) {
    return M::priority;
  } else {
    return 0;
  }
}

// How many of the messages are more urgent, each priority counted once: the lane of this one.
template <typename M, typename... Ms>
constexpr std::uint8_t lane_of(MessageList<Ms...>) {
  std::array<int, sizeof...(Ms)> all{priority_of<Ms>()...};
  std::ranges::sort(all, std::ranges::greater());
  std::uint8_t lane = 0;
  for (std::size_t i = 0; i < all.size() && all[i] > priority_of<M>(); ++i) {
    if (i == 0 || all[i] != all[i - 1]) ++lane;
  }
  return lane;
}

template <typename... Ms>
constexpr std::uint8_t lanes_of(MessageList<Ms...> list) {
  return static_cast<std::uint8_t>(std::max({lane_of<Ms>(list)...}) + 1);
}

// -- Handlers -------------------------------------------------------------------------------------

// How `on` of a class can be called with a message: by value or by reference to const.
template <typename Handles, typename M>
concept HandlesMoved = requires(Handles& handles, M&& message) { handles.on(std::move(message)); };
template <typename Handles, typename M>
concept HandlesConst = requires(Handles& handles, const M& message) { handles.on(message); };

// Says what is wrong with what a handler returns. What follows is left out then: one error is enough.
template <typename M, typename Returned>
constexpr bool check_returned() {
  constexpr bool is_nothing = std::is_void_v<Returned>;
  static_assert(is_nothing || HasReply<M>,
                "a handler returns something, but its message does not say what it is: add "
                "`using Reply = ...;`");
  constexpr bool is_reply = is_nothing || std::is_constructible_v<ReplyOf<M>, Returned>;
  static_assert(is_reply || !HasReply<M>,
                "a handler returns something else than its message's Reply");
  return is_reply;
}

// Calls it with the message, and answers with what it returns. `keeps` is what `handles` is part of, if it is not the actor.
template <typename M, typename Handles, typename Given>
void call_handler(ActorCell& cell, Handles& handles, Given&& message, ReplyCore*& reply,
                  const std::shared_ptr<Behaviour>& keeps = nullptr) {
  using Result = decltype(handles.on(std::forward<Given>(message)));
  if constexpr (is_lazy<Result>) {
    using Value = typename Result::Value;
    if constexpr (check_returned<M, Value>()) {
      using Coroutine = TypedHandlerTask<Handles, M, Value>;
      auto handler = [&handles](M&& kept) { return handles.on(std::move(kept)); };
      auto* const task = new Coroutine(cell, M(std::forward<Given>(message)), reply, keeps);
      reply = nullptr;  // It is the coroutine's, now that no move of the message can throw.
      task->begin(handler);
    }
  } else if constexpr (std::is_void_v<Result>) {
    handles.on(std::forward<Given>(message));
    if constexpr (HasReply<M> && std::is_void_v<ReplyOf<M>>) {
      if (auto* const state = std::exchange(reply, nullptr)) {
        static_cast<ReplyState<void>*>(state)->answer();
      }
    }
  } else if constexpr (check_returned<M, Result>()) {
    auto result = handles.on(std::forward<Given>(message));
    if (reply != nullptr) {
      auto& state = *static_cast<ReplyState<ReplyOf<M>>*>(reply);
      state.answer(std::move(result));
      reply = nullptr;
    }
  }
}

template <typename M, typename... States>
constexpr bool some_state_handles(std::tuple<States...>*) {
  return (HandlesMoved<States, M> || ...);
}

// States an actor may become, if it says so: using States = std::tuple<LoggingIn, Chatting>.
template <typename A>
concept HasStates = requires { typename A::States; };

template <typename State, typename... States>
constexpr bool is_one_of(std::tuple<States...>*) {
  return (std::same_as<State, States> || ...);
}
template <typename A, typename State>
inline constexpr bool is_state_of = false;
template <HasStates A, typename State>
inline constexpr bool is_state_of<A, State> =
    is_one_of<State>(static_cast<typename A::States*>(nullptr));

// A state as a set of handlers, found by the type of the message.
template <typename A, typename State>
class StateBehaviour final : public Behaviour {
 public:
  explicit StateBehaviour(State&& state) : state_(std::move(state)) {}
  void* handler_of(const void* type) override {
    return handles(type, typename A::Messages()) ? &state_ : nullptr;
  }
  static constexpr char kind = 0;
  const void* state_kind() const override { return &kind; }

 private:
  template <typename... Ms>
  static bool handles(const void* type, MessageList<Ms...>) {
    return ((HandlesMoved<State, Ms> && type == &type_tag<Ms>) || ...);
  }
  State state_;
};

template <typename A, typename M, typename Given>
bool call_state(ActorCell& cell, Given&& message, ReplyCore*& reply) {
  bool is_handled = false;
  if constexpr (HasStates<A>) {
    const ActorExtras* const extras = cell.extras_if_any();
    if (extras == nullptr || !extras->behaviour) return false;
    // Its handler may call become().
    const std::shared_ptr<Behaviour> behaviour = extras->behaviour;
    void* const state = behaviour->handler_of(&type_tag<M>);
    if (state == nullptr) return false;
    const auto try_one = [&]<typename State>(State* typed) {
      if constexpr (HandlesMoved<State, M>) {
        if (is_handled || behaviour->state_kind() != &StateBehaviour<A, State>::kind) return;
        is_handled = true;
        typed = static_cast<State*>(state);
        call_handler<M>(cell, *typed, std::forward<Given>(message), reply, behaviour);
      }
    };
    [&]<typename... States>(std::tuple<States...>*) {
      (try_one(static_cast<States*>(nullptr)), ...);
    }(static_cast<typename A::States*>(nullptr));
  }
  return is_handled;
}

template <typename A, typename M, typename Given>
void handle_message(ActorCell& cell, Given&& message, ReplyCore*& reply) {
  if (call_state<A, M>(cell, std::forward<Given>(message), reply)) return;
  if constexpr (HandlesMoved<A, M>) {
    call_handler<M>(cell, *static_cast<A*>(cell.object()), std::forward<Given>(message), reply);
  } else {
    cell.dead_letter(MessageView(message_ops<M>, &message), "not handled in this state");
  }
}

template <typename A, typename M>
void handle_own(ActorCell& cell, void* place, ReplyCore*& reply) {
  handle_message<A, M>(cell, std::move(Stored<M>::get(place)), reply);
}
template <typename A, typename M>
void handle_shared(ActorCell& cell, void* place, ReplyCore*& reply) {
  handle_message<A, M>(cell, (*static_cast<SharedMessage<M>**>(place))->message, reply);
}

template <typename A, typename M>
inline constexpr MessageHandler message_handler{
    .ops = message_ops<M>, .handle = &handle_own<A, M>, .lane = lane_of<M>(typename A::Messages())};
template <typename A, typename M>
inline constexpr MessageHandler shared_message_handler{.ops = shared_message_ops<M>,
                                                       .handle = &handle_shared<A, M>,
                                                       .lane = lane_of<M>(typename A::Messages())};

// -- The actor ------------------------------------------------------------------------------------

template <typename A>
constexpr bool is_reentrant_actor() {
  if constexpr (requires { A::reentrant; }) {
    return A::reentrant;
  } else {
    return false;
  }
}

// "Account"; of a template, its name only.
template <typename A>
constexpr std::string_view actor_name() {
  constexpr auto name = without_namespaces(name_from_compiler<A>());
  return name.substr(0, name.find('<'));
}

template <typename A>
inline constexpr ActorType actor_type{
    .name = actor_name<A>(),
    .stride = static_cast<std::uint32_t>(sizeof(Envelope) + (A::Messages::largest + 7) / 8 * 8),
    .lanes = lanes_of(typename A::Messages()),
    .is_reentrant = is_reentrant_actor<A>(),
    .has_start = requires(A & actor){actor.on_start();
}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
}
;

template <typename A, typename... Args>
class TypedCell final : public ActorCell {
 public:
  template <typename... Given>
  TypedCell(SystemCore& system, ActorCell* parent, const SpawnSettings& settings, Given&&... given)
      : ActorCell(system, actor_type<A>, parent, settings), args_(std::forward<Given>(given)...) {}
  ~TypedCell() override {}

 private:
  void* construct() override {
    std::apply([this](const Args&... args) { std::construct_at(&actor_, args...); }, args_);
    return &actor_;
  }
  void destroy_object() noexcept override { std::destroy_at(&actor_); }
  void call_on_start() override {
    if constexpr (actor_type<A>.has_start) {
      static_assert(
          std::is_void_v<decltype(actor_.on_start())>,
          "on_start() returns nothing and is no coroutine: send yourself a message instead");
      actor_.on_start();
    }
  }
  void call_on_stop() override {
    if constexpr (requires { actor_.on_stop(); }) actor_.on_stop();
  }

  [[no_unique_address]] std::tuple<Args...> args_;  // For the next one, if it is restarted.
  union {
    A actor_;
  };
};

}  // namespace handoff::inline HANDOFF_FLAVOUR::detail
