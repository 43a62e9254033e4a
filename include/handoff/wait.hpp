// What may end a wait besides success: a deadline, a stop request, or both. Both are optional.
//
//   queue.take()                                            waits for an item or for close()
//   queue.take({.stop = stop})                              ... or until a stop is requested
//   queue.take({.deadline = handoff::within(1s), .stop = stop})
//
// A stop is sticky and comes first: once it is requested, every waiting form given that token answers
// `stopped` at once, even if it could go on, so that a busy worker stops as promptly as an idle
// one. A deadline comes last: past it, what can be done without waiting is still done.
#pragma once

#include <stop_token>

#include "handoff/clock.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

struct Wait {
  Deadline deadline = {};
  std::stop_token stop = {};
};

}  // namespace handoff::inline HANDOFF_FLAVOUR
