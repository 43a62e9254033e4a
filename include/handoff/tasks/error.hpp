// What may be wrong with a call about tasks. The refusals of handoff/refusal.hpp are among the codes, under the same names.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR::tasks {

struct TaskError {
  enum class Code : std::uint8_t {
    full,         // The queue has no room, by number or by bytes.
    closed,       // The store was closed.
    timed_out,    // The deadline passed first.
    stopped,      // The stop_token asked to stop first.
    bad_request,  // Something in it is not allowed: see `field`.
    not_found,
    conflict,     // Not in this state.
    stale_lease,  // Somebody else has the task by now, or nobody.
    cancelled,    // The task was cancelled while it ran.
    too_large,
    unavailable,  // The store cannot be written or read now: the disk is full, the file is locked, ...
    forbidden,  // The server wants a token, or one that may do more.
    internal,
  };

  Code code = Code::internal;
  std::string message;
  std::string field;    // "priority", "[17].queue"; empty if it is none.
  std::string queue{};  // Of `full`: the one that has no room, unless it is a server's.
};

std::string_view to_string(TaskError::Code code);

}  // namespace handoff::inline HANDOFF_FLAVOUR::tasks
