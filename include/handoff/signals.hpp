// A process's graceful shutdown in one line: the first SIGTERM or Ctrl-C requests a stop, a second one ends the process.
//
//   int main() {
//     const std::stop_token stop = handoff::stop_on_signals(SIGTERM, SIGINT);
//     while (auto order = orders.take({.stop = stop})) ship(*order);
//     fmt::print("stopped by signal {}\n", handoff::last_signal());
//   }
//
// - The first signal requests the stop. It does so on a thread of its own, named "handoff signals", so stop callbacks may
//   lock, log and allocate. System calls are restarted where the system does so (SA_RESTART): not poll() and sleep().
// - A second signal of the same kind does what that signal does by default: an impatient second Ctrl-C kills. One that comes within
//   a tenth of a second counts as the first: timeout(1), for one, sends two.
// - One stop for the whole process: every call returns a token of the same source, and adds its signals to the others. A
//   signal that was added before, even if it has come already, is left as it is.
// - No signal is blocked and no file is opened, so a child process inherits neither. What exec() starts has the signals'
//   default actions; a child that goes on after fork() has them too, until it calls stop_on_signals() itself.
// - A signal that was ignored (as SIGINT is in a shell's background job) or handled otherwise is taken over.
//
// Thread safety: any function, any thread. Not for signals that report a fault of the program itself, such as SIGSEGV.
#pragma once

#include <concepts>
#include <csignal>
#include <initializer_list>
#include <stop_token>

#include "handoff/detail/core/config.hpp"

namespace handoff::inline HANDOFF_FLAVOUR {

// Throws std::invalid_argument, and changes nothing, if one of them is no signal or cannot be caught; std::system_error if
// the thread cannot be started.
std::stop_token stop_on_signals(std::initializer_list<int> signals);

template <std::same_as<int>... Signals>
std::stop_token stop_on_signals(Signals... signals) {
  return stop_on_signals({signals...});
}

// The one of these signals that came last, or 0 while none has come. Known before the stop is requested.
int last_signal();

}  // namespace handoff::inline HANDOFF_FLAVOUR
