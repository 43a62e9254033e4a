// What happens when an actor's handler throws. The parent's policy decides, for each of its children.
//
//   auto shop = system.spawn<Shop>({.children = handoff::supervise({.directive = handoff::Directive::restart, .most_restarts = 5,
//                                                                   .within = 1min, .backoff = 100ms})});
//
//   resume      The actor keeps its state and goes on with the next message.
//   restart     Its children are stopped, its state is destroyed and made anew from the arguments of spawn(); its mailbox stays. Past
//               `most_restarts` in the time `within` it is stopped.
//   stop        It is stopped; what is left in its mailbox becomes dead letters.
//   escalate    The parent fails in its place, and the policy of the parent's parent decides. Of an actor without a parent: stop.
//
// The message that failed is not tried again. It can be looked at: on_failure of the system is called with it, as the handler has left it,
// and who asked is told `failed` with the exception.
//
// The policy is applied by the actor that failed, at once: it does not wait for the parent's turn. `decide` may thus be called by several
// threads at once.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "handoff/clock.hpp"
#include "handoff/detail/actor/message_view.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

enum class Directive : std::uint8_t { resume, restart, stop, escalate };

constexpr std::string_view to_string(Directive directive) {
  switch (directive) {
    case Directive::resume: return "resume";
    case Directive::restart: return "restart";
    case Directive::stop: return "stop";
    case Directive::escalate: return "escalate";
  }
  return "unknown";
}

// Seen by hooks while they run.
struct Failure {
  std::string actor;         // Its path.
  MessageView message;       // What it was at; empty in on_start and in a constructor.
  std::exception_ptr error;  // What was thrown.
};

struct Supervision {
  Directive directive = Directive::restart;
  // Asked instead, if it is there. What it throws means stop.
  std::function<Directive(const Failure& failure)> decide = {};
  bool one_for_all = false;  // A restart or stop of one is one of all its siblings as well.
  std::size_t most_restarts = 10;
  Duration within = std::chrono::minutes(1);
  Duration backoff =
      {};  // Before the first restart; twice as long before each next one in `within`.
  Duration most_backoff = std::chrono::seconds(30);
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
