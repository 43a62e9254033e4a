// What can be seen of actors from outside: who lives, what they wait for, what could not be delivered.
//
//   fmt::print("{}", handoff::to_table(system.inspect()));
//
//   actor             state    mailbox     oldest  handled  failures  restarts  waits for
//   shop              running  0 of 1000           128      0         0
//     shop/carts/7    running  12 of 1000  40 ms   9041     1         1         ask shop/stock
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "handoff/clock.hpp"
#include "handoff/detail/actor/message_view.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

enum class StopReason : std::uint8_t {
  requested,  // stop(), stop_when_drained(), or the end of its parent.
  failed,     // It threw, and its parent's policy was to stop it, or it was restarted too often.
  shutdown,   // The system was shut down.
};

constexpr std::string_view to_string(StopReason reason) {
  switch (reason) {
    case StopReason::requested: return "requested";
    case StopReason::failed: return "failed";
    case StopReason::shutdown: return "shutdown";
  }
  return "unknown";
}

// The message to one that watches another: it has stopped, and handles nothing any more. It is not one of the mailbox's: it may come before
// messages that were sent earlier, and is never refused or dropped.
struct Terminated {
  std::string actor;  // Its path.
  std::uint64_t id = 0;
  StopReason reason = StopReason::requested;
  std::string error = {};  // What was thrown, if it failed.
};

// A snapshot of one actor; it may be stale by the time it is read.
struct ActorInfo {
  std::string path;  // "shop/carts/7"; without a name, its type and a number: "Cart#12".
  std::string type;
  std::string state;      // running, failed, restarting, stopping, stopped.
  std::size_t depth = 0;  // 0: without a parent.
  std::size_t mailbox = 0;
  std::size_t capacity = 0;
  Duration oldest{};          // About how long the oldest message has been there, at most.
  std::uint64_t handled = 0;  // With those of its timers.
  std::uint64_t failures = 0;
  std::uint64_t restarts = 0;
  Duration busy{};     // In handlers, and the longest of them: with SystemOptions::time_handlers.
  Duration longest{};  // The same.
  std::string last_failure = {};
  // "ask shop/stock", "room at shop/log", "2 coroutines", "3 children", "its handler", "its backoff".
  std::string waits_for = {};
};

// As a table for people, in the order of the tree.
std::string to_table(const std::vector<ActorInfo>& actors);

// A message that was accepted and not handled. Seen by the hook while it runs.
struct DeadLetter {
  std::string actor;    // To whom.
  MessageView message;  // It is destroyed afterwards.
  std::string_view reason;
};

// What is kept of a dead letter.
struct DeadLetterNote {
  std::string actor;
  std::string type;
  std::string reason;
  TimePoint at{};
};

// A message that was accepted, and that its actor did not come to before the system ended.
struct Undelivered {
  std::string actor;
  AnyMessage message;
};

// How the end of a system went.
struct ActorShutdownReport {
  std::uint64_t stopped = 0;             // Actors that have ended since it began.
  std::vector<Undelivered> handed_back;  // Accepted, not handled: yours again.
  std::vector<ActorInfo> still_alive;    // Not ended in time. The destructor waits for them.

  bool is_complete() const { return handed_back.empty() && still_alive.empty(); }
};

// "12 stopped, 3 messages handed back, 1 still alive: shop/carts/7 (running, waits for ask shop/stock)", for a log.
std::string to_string(const ActorShutdownReport& report);

}  // namespace handoff::inline HANDOFF_FLAVOUR
