// A thread of your own: std::jthread, by the name under which it can be simulated.
//
//   handoff::Thread worker([&](std::stop_token stop) {
//     while (auto job = jobs.take({.stop = stop})) run(*job);
//   });                                                        // asked to stop and joined at the end of the scope
//
// In production it is std::jthread and nothing else. In the simulated flavour (testing/simulate.hpp) it is one of the simulated threads.
#pragma once

#include "handoff/detail/core/atomic.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

using Thread = detail::Thread;

}  // namespace handoff::inline HANDOFF_FLAVOUR
