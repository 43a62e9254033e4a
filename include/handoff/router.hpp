// Several actors of one class behind one address.
//
//   auto resizers = handoff::spawn_router<Resizer>(system, {.size = 8, .route = Route::least_loaded}, {.name = "resizers"});
//   resizers.send(Photo{...});                                 // to one of them
//   auto small = resizers.ask(Thumbnail{...}, 1s);
//   resizers.broadcast(Reload{});                              // to all of them; there is one copy of the message
//
//   round_robin     one after the other
//   least_loaded    the one with the fewest messages that wait
//   by_key          messages of one key to the same one: `route_key()` of the message says which key it has
//   broadcast       all of them
//
// A router is a value, no actor: who sends chooses, on its own thread. One that has stopped is passed over, except with by_key: another would not have
// that key's state. Order is kept per sender and actor, so with by_key per sender and key.
//
// Thread safety: any member, any thread. Copies share the turn of round_robin.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "handoff/actor.hpp"
#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

enum class Route : std::uint8_t { round_robin, least_loaded, by_key, broadcast };

struct RouterOptions {
  std::size_t size;  // Actors behind it. From 1 to 4096.
  Route route = Route::round_robin;
};

// Sends one message to all of them, of which there is one copy. Returns how many have accepted it: the others have refused it, each by its policy.
// A handler takes it by reference to const, or gets a copy.
template <typename A, typename M>
std::size_t broadcast(const std::vector<ActorRef<A>>& actors, M message,
                      std::source_location where = std::source_location::current()) {
  static_assert(detail::accepts<A, M>, "this actor does not take this message");
  static_assert(!detail::HasReply<M>, "an answer has one to answer: ask() one of them");
  auto* const shared = new detail::SharedMessage<M>(std::move(message));
  const auto construct = [shared](void* place) {
    shared->references.fetch_add(1, detail::relaxed);  // By one who has a reference.
    *static_cast<detail::SharedMessage<M>**>(place) = shared;
  };
  std::size_t accepted = 0;
  for (const ActorRef<A>& each : actors) {
    if (each.cell() == nullptr) continue;
    const auto refusal = each.cell()->push(detail::shared_message_handler<A, M>, nullptr,
                                           detail::Waits::by_outbox, {}, where, construct);
    if (!refusal) ++accepted;
  }
  shared->drop_reference();
  return accepted;
}

template <typename A>
class Router {
  using Where = std::source_location;

 public:
  // Throws std::invalid_argument if there are none.
  Router(std::vector<ActorRef<A>> actors, Route route)
      : actors_(std::make_shared<const Actors>(std::move(actors))), route_(route) {
    if (actors_->all.empty()) throw std::invalid_argument("a Router needs at least one actor");
  }

  // Refused as send() to the chosen one is. As a broadcast: if all of them have refused. Throws std::logic_error with by_key, if the message has no route_key().
  template <typename M>
  std::expected<void, Refusal> send(M&& message, const Wait& wait = {},
                                    Where where = Where::current()) const {
    if (route_ == Route::broadcast) {
      if constexpr (!detail::HasReply<std::remove_cvref_t<M>>) {
        // A copy: refused by all, the message is the caller's still.
        if (broadcast(std::remove_cvref_t<M>(message), where) > 0) return {};
        return std::unexpected(Refusal::full);
      } else {
        throw std::logic_error("a message with an answer cannot be broadcast: ask() one of them");
      }
    }
    std::expected<void, Refusal> sent;
    for (std::size_t tries = 0; tries < size(); ++tries) {
      sent =
          choose(message).send(std::forward<M>(message), wait, where);  // Refused, it is untouched.
      if (sent || sent.error() != Refusal::closed || route_ == Route::by_key) break;
    }
    return sent;
  }

  template <typename M, typename Rep, typename Period>
  [[nodiscard]] auto ask(M&& message, std::chrono::duration<Rep, Period> timeout,
                         Where where = Where::current()) const {
    return choose(message).ask(std::forward<M>(message), timeout, where);
  }
  template <typename M, typename Rep, typename Period>
  [[nodiscard]] auto async_ask(M&& message, std::chrono::duration<Rep, Period> timeout,
                               Where where = Where::current()) const {
    const ActorRef<A>& chosen = choose(message);
    return chosen.async_ask(std::forward<M>(message), timeout, where);
  }

  // To all of them, whatever the route. Returns how many have accepted it.
  template <typename M>
  std::size_t broadcast(M message, Where where = Where::current()) const {
    return handoff::broadcast(actors_->all, std::move(message), where);
  }

  void stop() const {
    for (const auto& each : actors_->all) each.stop();
  }
  void stop_when_drained() const {
    for (const auto& each : actors_->all) each.stop_when_drained();
  }

  std::size_t size() const { return actors_->all.size(); }
  const std::vector<ActorRef<A>>& actors() const { return actors_->all; }

 private:
  struct Actors {
    explicit Actors(std::vector<ActorRef<A>>&& given) : all(std::move(given)) {}
    const std::vector<ActorRef<A>> all;
    mutable detail::atomic<std::size_t> turn{0};
  };

  template <typename M>
  const ActorRef<A>& choose(const M& message) const {
    const auto& all = actors_->all;
    switch (route_) {
      case Route::by_key:
        if constexpr (requires { message.route_key(); }) {
          using Key = std::remove_cvref_t<decltype(message.route_key())>;
          return all[std::hash<Key>()(message.route_key()) % all.size()];
        } else {
          throw std::logic_error("Route::by_key needs a message with route_key()");
        }
      case Route::least_loaded: return least_loaded();
      case Route::broadcast:
      case Route::round_robin: break;
    }
    return all[actors_->turn.fetch_add(1, detail::relaxed) %
               all.size()];  // A number; nothing else.
  }

  // Begins with another each time, so that not all go to the first while none has anything to do.
  const ActorRef<A>& least_loaded() const {
    const auto& all = actors_->all;
    const std::size_t first = actors_->turn.fetch_add(1, detail::relaxed);  // As above.
    const ActorRef<A>* least = nullptr;
    std::size_t fewest = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const ActorRef<A>& each = all[(first + i) % all.size()];
      const std::size_t load = each.cell()->load();
      if (least != nullptr && load >= fewest) continue;
      least = &each;
      fewest = load;
      if (load == 0) break;
    }
    return *least;
  }

  std::shared_ptr<const Actors> actors_;
  Route route_;
};

// Spawns them: "resizers/1", "resizers/2", ... if they have a name.
template <typename A, typename... Args>
Router<A> spawn_router(ActorSystem& system, const RouterOptions& router,
                       const ActorOptions& options, const Args&... args) {
  if (router.size < 1 || router.size > 4096) {
    throw std::invalid_argument("the size of a Router must be from 1 to 4096");
  }
  std::vector<ActorRef<A>> actors;
  for (std::size_t i = 1; i <= router.size; ++i) {
    ActorOptions each = options;
    const std::string name = std::string(options.name) + "/" + std::to_string(i);
    if (!options.name.empty()) each.name = name;
    actors.push_back(system.template spawn<A>(each, args...));
  }
  return Router<A>(std::move(actors), router.route);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
