// The expected ways in which an operation may say no. A refused item stays with its owner.
#pragma once

#include <cstdint>
#include <string_view>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

enum class Refusal : std::uint8_t {
  full,       // No room, and the caller did not want to wait.
  empty,      // Nothing there, and the caller did not want to wait.
  closed,     // Closed: no more can be added, or nothing is left to take.
  timed_out,  // The deadline passed first.
  stopped,    // The stop_token asked to stop first.
};

constexpr std::string_view to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::full: return "full";
    case Refusal::empty: return "empty";
    case Refusal::closed: return "closed";
    case Refusal::timed_out: return "timed_out";
    case Refusal::stopped: return "stopped";
  }
  return "unknown";
}

}  // namespace handoff::inline HANDOFF_FLAVOUR
