// What an add does when there is no room. See each policy for who owns the item afterwards.
#pragma once

#include <cstdint>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

enum class WhenFull : std::uint8_t {
  block,   // The producer waits; a deadline and a stop_token may end the wait.
  reject,  // Refused with `full` at once; the item stays with the caller.
  drop_newest,  // Refused with `full` as well, but counted as a drop and logged: the caller may ignore it.
  drop_oldest,  // The oldest item makes room: it goes to the on_drop hook, counted and logged.
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
