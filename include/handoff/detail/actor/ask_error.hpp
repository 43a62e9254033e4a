// Why a question has no answer.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>

#include "handoff/refusal.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct AskError {
  enum class Code : std::uint8_t {
    full,        // The mailbox was: the question was not accepted, or made room for a newer one.
    closed,      // The actor has stopped, or stopped before it came to the question.
    timed_out,   // No answer in time. One that comes later is discarded.
    stopped,     // Who asked was asked to stop.
    failed,      // The handler threw; see `cause`.
    unanswered,  // The handler ended without an answer.
    deadlock,    // Actors would wait for each other in a ring; the ring was reported.
  };

  Code code;
  std::exception_ptr cause = nullptr;

  friend bool operator==(const AskError& error, Code which) { return error.code == which; }
};

constexpr std::string_view to_string(AskError::Code code) {
  switch (code) {
    case AskError::Code::full: return "full";
    case AskError::Code::closed: return "closed";
    case AskError::Code::timed_out: return "timed_out";
    case AskError::Code::stopped: return "stopped";
    case AskError::Code::failed: return "failed";
    case AskError::Code::unanswered: return "unanswered";
    case AskError::Code::deadlock: return "deadlock";
  }
  return "unknown";
}

// With what the handler threw, if it did: "failed: no such account".
std::string to_string(const AskError& error);

namespace detail {
AskError ask_error(Refusal refusal);
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
